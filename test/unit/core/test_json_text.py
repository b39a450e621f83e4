"""JSON that anybody may have written: what is none is a ValueError, whatever Python calls it."""

import pytest

from mnc.core.json_text import parsed_json


@pytest.mark.parametrize("text", ["", "{", "[" * 99_999, '{"a":' * 99_999, "1" * 9_999, b"\xff", b"\x00"])
def test_what_is_no_json(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parsed_json(text)


def test_what_is() -> None:
    assert parsed_json('{"a": [1, null]}') == {"a": [1, None]} == parsed_json(b'{"a": [1, null]}')
