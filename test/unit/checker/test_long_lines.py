"""A line of thousands of expressions, each with a finding, is taken apart once."""

from mnc.mncore_backend.checker import check_text
from mnc.mncore_backend.checker.spelling import columns


def test_a_line_is_taken_apart_once_for_all_its_findings() -> None:
    count = 500
    columns.cache_clear()
    found = check_text("; ".join(["nop"] * count) + "\n")
    assert len(found) >= count - 1
    assert max(finding.column for finding in found) == 5 * (count - 1) + 1
    assert columns.cache_info().misses == 1
