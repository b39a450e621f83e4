"""Findings as text, JSON and SARIF 2.1.0."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from mnc.mncore_backend.checker.findings import Finding, Severity
from mnc.mncore_backend.checker.rules import RULES

Results = Mapping[str, Sequence[Finding]]  # file name -> findings
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def count_errors(results: Results) -> int:
    """Findings of severity error in all files."""
    return sum(f.severity is Severity.ERROR for findings in results.values() for f in findings)


def to_text(results: Results) -> str:
    """As a compiler prints them, with a closing line of counts if there is anything to say."""
    lines = [finding.render(name) for name, findings in results.items() for finding in findings]
    total = sum(len(findings) for findings in results.values())
    if total:
        counts = Counter(finding.severity for findings in results.values() for finding in findings)
        text = f"{_plural(counts[Severity.ERROR], 'error')}, {_plural(counts[Severity.WARNING], 'warning')}"
        remarks = counts[Severity.REMARK]
        lines.append(f"{text}, {_plural(remarks, 'remark')}" if remarks else text)
    return "".join(f"{line}\n" for line in lines)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def to_json(results: Results) -> str:
    """A list of objects: file, line, column, severity, rule, message, hint, related_line, open_point."""
    found = [
        {
            "file": name,
            "line": f.line,
            "column": f.column,
            "severity": str(f.severity),
            "rule": f.rule,
            "message": f.message,
            "hint": f.hint,
            "related_line": f.related_line or None,
            "open_point": f.open_point or None,
        }
        for name, findings in results.items()
        for f in findings
    ]
    return json.dumps(found, indent=2) + "\n"


def to_sarif(results: Results) -> str:
    """A SARIF 2.1.0 log with one run; the rules that were broken are described in it."""
    used = sorted({f.rule for findings in results.values() for f in findings})
    index = {rule: i for i, rule in enumerate(used)}
    driver = {
        "name": "mnc asm check",
        "rules": [{"id": r, "shortDescription": {"text": RULES[r].summary}} for r in used],
    }
    found = [_sarif_result(name, f, index) for name, findings in results.items() for f in findings]
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": found}]}
    return json.dumps(log, indent=2) + "\n"


def _sarif_result(name: str, finding: Finding, index: Mapping[str, int]) -> dict[str, object]:
    text = f"{finding.message}. Hint: {finding.hint}" if finding.hint else finding.message
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": "note" if finding.severity is Severity.REMARK else str(finding.severity),
        "message": {"text": text},
        "locations": [_sarif_location(name, finding.line, finding.column)],
    }
    if finding.related_line:
        result["relatedLocations"] = [_sarif_location(name, finding.related_line, 1)]
    return result


def _sarif_location(name: str, line: int, column: int) -> dict[str, object]:
    region = {"startLine": max(line, 1), "startColumn": max(column, 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": name}, "region": region}}


FORMATS = {"text": to_text, "json": to_json, "sarif": to_sarif}
