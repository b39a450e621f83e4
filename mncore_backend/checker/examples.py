"""For every rule of the checker programs that break it, each with a neighbour that keeps it."""

from mnc.mncore_backend.checker.check import check_text
from mnc.mncore_backend.checker.findings import CheckOptions, Finding
from mnc.mncore_backend.checker.rules import RULES
from mnc.mncore_backend.checker.sequence_examples import SEQUENCE_EXAMPLES
from mnc.mncore_backend.checker.step_examples import STEP_EXAMPLES

EXAMPLES: dict[str, list[tuple[str, str]]] = {**STEP_EXAMPLES, **SEQUENCE_EXAMPLES}
"""Rule -> pairs of programs: the first breaks it, the second does not; ``|`` separates lines."""
STRICT = CheckOptions(strict=frozenset({"all"}))


def broken_by(rule: str, program: str) -> list[Finding]:
    """What the checker says of a program of `EXAMPLES` about one rule, with all open points strict."""
    return [found for found in check_text(program.replace("|", "\n"), options=STRICT) if found.rule == rule]


def explanation(rule: str) -> str:
    """What a rule says, where it is written, a program that breaks it with what is said about that, and one that keeps
    it. Raises KeyError for a rule that there is not."""
    row = RULES[rule]
    bad, good = EXAMPLES[rule][0]
    point = f"\nopen point: {row.open_point} (docs/open-points.md)" if row.open_point else ""
    said = broken_by(rule, bad)[0].render("broken.vsm")
    parts = [
        f"{rule} ({row.severity}): {row.summary}\nsource: {row.source}{point}",
        f"breaks it:\n{_indented(bad.replace('|', chr(10)))}",
        _indented(said),
        f"keeps it:\n{_indented(good.replace('|', chr(10)))}",
    ]
    return "\n\n".join(parts) + "\n"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
