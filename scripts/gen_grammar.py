"""Write editors/vscode/syntaxes/vsm.tmLanguage.json, the TextMate grammar of assembly. With --check, only compare."""

import json
import sys
from pathlib import Path
from typing import Any

from generated import main

from mnc.mncore_backend.assembly.isa import OPCODES, Unit

PATH = Path(__file__).resolve().parent.parent / "editors" / "vscode" / "syntaxes" / "vsm.tmLanguage.json"
_SCOPES = {
    "keyword.control": (Unit.NOP, Unit.NOFORWARD, Unit.WAIT),
    "support.function.alu": (Unit.ALU,),
    "support.function.mau": (Unit.MAU, Unit.MWRITE, Unit.MREAD),
    "support.function.transfer": (Unit.L1BM, Unit.L2BM, Unit.L2BMDARW),
    "support.function.mv": (Unit.MV,),
}
_ADDRESS = r"(?:\[\d+(?:,\d+){3}\]|\d+)(?:v\d*)?(?:j\d+)?"
_SCOPE = r"(?:n\d+)?(?:c\d+)?(?:b\d+)?(?:m\d+)?(?:p\d+)?"
_OPERANDS = (
    rf"(?:ll|l)?[mnrs]{_ADDRESS}", r"(?:ll|l)?mt(?:\d+(?:v\d*)?|\[\d+(?:,\d+){3}\])?", r"(?:ll|l)?[mn]b(?![0-9])",
    r"(?:ll|l)?t", r"(?:ll|l)[xy]\d*", r"(?:ll|l)b(?:\d+|i)", r"lc\d+(?:@\d*\.\d+)?", r"(?:p|di|d)\d+(?:@\d+)?",
    r"dar\d+", r"(?:ll)?[io]mr\d+",
)  # fmt: skip
_EXPECTATION = r"\b(?:expect(?:ed)?|atol|rtol|dtype)(?=\s*=)"
_NAMES = "mauf|aluf|lbf|mreadf|nowrite|l2bid|l1bid|mabid|peid|subpeid|msb1"


def _opcodes(units: tuple[Unit, ...]) -> str:
    """The opcodes of some units with what may stand behind them, longest first."""
    names = sorted((name for name, info in OPCODES.items() if info.unit in units), key=lambda name: (-len(name), name))
    narrowing = any(OPCODES[name].narrows for name in names)
    return rf"(?<![\w$])(?:{'|'.join(names)}){'r?' if narrowing else ''}(?![\w$])"


def grammar() -> dict[str, Any]:
    """The grammar; the first pattern that matches earliest in a line wins."""
    patterns: list[dict[str, Any]] = [
        {
            "name": "comment.line.number-sign.vsm",
            "begin": "[#!]",
            "end": "$",
            "patterns": [{"name": "keyword.other.expectation.vsm", "match": _EXPECTATION}],
        },
        {
            "match": r"^\s*(d)\s+(get(?:bd|bf|bg|bh|d|f|h)?|set)(?![\w])",
            "captures": {"1": {"name": "keyword.other.debug.vsm"}, "2": {"name": "keyword.other.debug.vsm"}},
        },
        {"match": r"^\s*(r)(?=\s+[0-3]\s)", "captures": {"1": {"name": "keyword.other.debug.vsm"}}},
        {"name": "keyword.control.mask.vsm", "match": r"(?<![\w$])mask(?:ll|l)?[rstmnk]*(?=\s+\d)"},
        {"name": "keyword.control.quit.vsm", "match": r"(?<![\w$])quit(?![\w$])"},
    ]
    patterns += [{"name": f"{scope}.vsm", "match": _opcodes(units)} for scope, units in _SCOPES.items()]
    patterns += [
        {"name": "string.quoted.double.literal.vsm", "match": r'(?:ui|us|[fhis])"[^"]*"'},
        {"name": "variable.language.vsm", "match": rf"-?\$(?:{_NAMES})(?:e|r)?(?![\w])"},
        {"name": "variable.parameter.vsm", "match": rf"-?\$(?:{'|'.join(_OPERANDS)}){_SCOPE}(?:e|r)?(?![\w])"},
        {"name": "storage.modifier.mask.vsm", "match": r"/(?:ll)?[01]{4}[tp]?(?![\w])"},
        {"name": "storage.modifier.mask.vsm", "match": r"/(?=\$)"},
        {"name": "storage.modifier.option.vsm", "match": r"/(?:n\d+|i[0-9a-f]{2}|nd\d+|p\d)+(?![\w])"},
        {"name": "storage.modifier.option.vsm", "match": r"/\d+(?![\w])"},
        {"name": "storage.modifier.option.vsm", "match": r"@(?:\[[0-7](?:,[0-7])*\]|\d+(?:/[0-7]|(?:,[0-7])+)?)"},
        {"name": "storage.modifier.option.vsm", "match": r"(?<=l1bmd)[+-]\d+"},
        {"name": "constant.other.tag.vsm", "match": r"(?<=\s)i[0-9a-f]{2}(?![\w])"},
        {"name": "constant.numeric.vsm", "match": r"(?<![\w$])l?[0-9A-Fa-f]{16}(?:l?[0-9A-Fa-f]{16})*(?![\w])"},
        {"name": "constant.numeric.vsm", "match": r"(?<![\w$])[0-9A-Fa-f]+(?![\w])"},
        {"name": "punctuation.separator.vsm", "match": ";"},
    ]
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "MN-Core 2 assembly",
        "scopeName": "source.vsm",
        "fileTypes": ["vsm"],
        "patterns": patterns,
    }


if __name__ == "__main__":
    sys.exit(main({PATH: json.dumps(grammar(), indent=2) + "\n"}))
