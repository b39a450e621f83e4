"""The TextMate grammar colours every token of real programs, with the scope that the instruction table says.

Tokens are found here as editors do: of the patterns that match in the rest of a line, the one that begins first wins,
and of those the first in the list.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from project.tree import script

from mnc.mncore_backend.assembly.isa import OPCODES
from mnc.mncore_backend.assembly.opcode_reference.examples import example

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "editors" / "vscode"
GRAMMAR: dict[str, Any] = json.loads((FOLDER / "syntaxes" / "vsm.tmLanguage.json").read_text(encoding="utf-8"))
OPTION = "storage.modifier.option"
COMMENT = "comment.line.number-sign"
PROGRAMS = sorted([*(ROOT / "examples" / "assembly").glob("*.vsm"), *(ROOT / "test" / "golden").glob("*.vsm")])
UNITS = {"alu": "alu", "mv": "mv", "mau-calc": "mau", "mau-mwrite": "mau", "mau-mread": "mau"}
PATTERNS = [(re.compile(row.get("match") or f"{row['begin']}.*"), row) for row in GRAMMAR["patterns"]]


def tokens(line: str) -> list[tuple[str, str]]:
    """(text, scope) of a line; what no pattern matches has the scope ""."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(line):
        matches = [(match, row) for pattern, row in PATTERNS if (match := pattern.search(line, at)) and match[0]]
        if not matches:
            break
        match, row = min(matches, key=lambda pair: pair[0].start())
        _plain(found, line[at : match.start()])
        if "captures" in row:
            found += [(match[int(group)], scope["name"]) for group, scope in row["captures"].items()]
        else:
            found.append((match[0], row["name"]))
        at = match.end()
    _plain(found, line[at:])
    return found


def _plain(found: list[tuple[str, str]], text: str) -> None:
    if text.strip():
        found.append((text.strip(), ""))


def uncoloured(text: str) -> list[str]:
    return [f"{line}: {word}" for line in text.splitlines() for word, scope in tokens(line) if not scope]


def test_grammar_is_up_to_date() -> None:
    assert script("gen_grammar").grammar() == GRAMMAR, "run make docs"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_programs_are_coloured_completely(path: Path) -> None:
    assert not uncoloured(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("opcode", sorted(OPCODES))
def test_every_opcode_has_the_scope_of_its_unit(opcode: str) -> None:
    info = OPCODES[opcode]
    control = opcode in ("nop", "noforward", "wait")
    scope = "keyword.control.vsm" if control else f"support.function.{UNITS.get(info.unit, 'transfer')}.vsm"
    text = example(info)
    assert (opcode, scope) in tokens(opcode)
    assert not uncoloured(text)
    if info.narrows:
        assert tokens(f"{opcode}r $lm0v") == [(f"{opcode}r", scope), ("$lm0v", "variable.parameter.vsm")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fvadd $lm0v -$lr8v4e $llt/ll0111  # sum", ["support.function.mau", "variable.parameter", "variable.parameter",
                                                    "variable.parameter", "storage.modifier.mask", COMMENT]),
        ("nop; wait i3f", ["keyword.control", "punctuation.separator", "keyword.control", "constant.other.tag"]),
        ("nop/12", ["keyword.control", "storage.modifier.option"]),
        ("mvp/n64i02p1 $d0@1 $lc64@2.0", ["support.function.mv", OPTION, *["variable.parameter"] * 2]),
        ("l1bmd+3 $lb0 $lr0", ["support.function.transfer", OPTION, *["variable.parameter"] * 2]),
        ("l2bmb@0/4 $lc0 $lb0", ["support.function.transfer", OPTION, *["variable.parameter"] * 2]),
        ("lpassa/$imr1 $aluf $omr3", ["support.function.alu", "storage.modifier.mask", "variable.parameter",
                                      "variable.language", "variable.parameter"]),
        ('imm us"0x8000" $lmt16v8', ["support.function.alu", "string.quoted.double.literal", "variable.parameter"]),
        ("maskrn 3", ["keyword.control.mask", "constant.numeric"]),
        ("d getbf $lx0n0c0b0m0 1", [*["keyword.other.debug"] * 2, "variable.parameter", "constant.numeric"]),
        ("hvfma $llm[0,4,8,12]r $lln0v4j2r $mreadf $nowrite", ["support.function.mau", *["variable.parameter"] * 2,
                                                              *["variable.language"] * 2]),
        ("fvmaddy $lm0v", ["", "variable.parameter"]),
    ],
)  # fmt: skip
def test_scopes(line: str, expected: list[str]) -> None:
    assert [scope.removesuffix(".vsm") for _, scope in tokens(line)] == expected


def test_the_extension_names_files_that_exist() -> None:
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["contributes"]
    named = [package["languages"][0]["configuration"], package["grammars"][0]["path"]]
    assert all((FOLDER / name).is_file() for name in named)
    assert package["languages"][0]["extensions"] == [".vsm"]
    assert package["grammars"][0]["scopeName"] == GRAMMAR["scopeName"]
    configuration = json.loads((FOLDER / "language-configuration.json").read_text(encoding="utf-8"))
    assert configuration["comments"]["lineComment"] == "#"
