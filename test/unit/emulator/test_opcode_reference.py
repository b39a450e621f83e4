"""The reference of opcodes: complete, up to date, and its example of every opcode runs by the strict rules."""

import re
from types import ModuleType

import pytest
from click.testing import CliRunner
from project.tree import script

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.opcode_reference.entry import markdown
from mnc.mncore_backend.assembly.opcode_reference.examples import element, example
from mnc.mncore_backend.assembly.opcode_reference.meanings import MEANINGS, REDUCTION_MEANINGS
from mnc.mncore_backend.checker import CheckOptions, check_text
from mnc.mncore_backend.emulator import Machine
from mnc.tools.commands.asm import command


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return script("gen_opcodes")


def test_page_is_up_to_date(generator: ModuleType) -> None:
    assert generator.PAGE.read_text(encoding="utf-8") == generator.page(), "run make docs"


def test_page_names_every_opcode(generator: ModuleType) -> None:
    text = generator.PAGE.read_text(encoding="utf-8")
    assert not [name for name in OPCODES if f"`{name}`" not in text]


@pytest.mark.parametrize("operation", sorted({info.operation for info in OPCODES.values()} - OPCODES.keys()))
def test_headings_of_the_page_are_explained(operation: str) -> None:
    shown = CliRunner().invoke(command, ["opcode", operation])
    assert shown.exit_code == 0, shown.output
    named = shown.output.splitlines()[0].removeprefix(f"opcodes of {operation}: ").split()
    assert named == [info.mnemonic for info in OPCODES.values() if info.operation == operation]
    assert shown.output.splitlines()[2] in named
    only_example = CliRunner().invoke(command, ["opcode", operation, "--example"]).output
    assert only_example and shown.output.endswith(only_example) and "opcodes of" not in only_example


def test_every_operation_has_a_meaning() -> None:
    assert set(MEANINGS) == {info.operation for info in OPCODES.values()}
    assert set(REDUCTION_MEANINGS) == {info.reduction for info in OPCODES.values()} - {""}


@pytest.mark.parametrize("opcode", sorted(OPCODES))
def test_example_runs_by_the_strict_rules(opcode: str) -> None:
    info = OPCODES[opcode]
    text = example(info)
    assert re.search(rf"^(?:.*; )?{opcode}\b", text, re.MULTILINE) or info.unit in (Unit.NOP, Unit.WAIT)
    assert not check_text(text, opcode, CheckOptions()), "findings of the checker"
    machine = Machine("strict")
    machine.run(text)
    assert machine.dump or opcode == "mvnop"


@pytest.mark.parametrize(
    ("opcode", "printed"),
    [
        ("fvfma", ["(13.375, 13.375)", "(6, 6)", "(29, 29)", "(34, 34)"]),
        ("gmmul", ["(1, 2)", "(3, 4)", "(5, 6)", "(7, 8)"]),
        ("fmmul", ["(1, 0)", "(3, 0)", "(5, 0)", "(7, 0)"]),
        ("dmmulu", ["(1)", "(2)", "(0)", "(0)"]),
        ("dmread", ["(0)", "(10)", "(20)", "(30)"]),
        ("l1bmrffadd", ["(18, 18)"]),
        ("l2bmrfmax", ["(3, 3)"]),
        ("mvrffadd", ["(10, 10)"]),
    ],
)
def test_examples_print_what_the_arithmetic_says(opcode: str, printed: list[str]) -> None:
    """2.25 * 1.5 + 10 and so on; diag(1..n) times ones; 15 ones and a three."""
    machine = Machine("strict")
    machine.run(example(OPCODES[opcode]))
    values = [line.split("):", 1)[1].split(") (")[0] + ")" for line in machine.dump]
    assert values[: len(printed)] == printed


def test_elements() -> None:
    assert element(1.0, "h") == 0x3E00 and element(-2.0, "f") == 0xC0000000 and element(-1, "s") == 0xFFFF


def test_entry_of_a_product_says_what_the_table_says() -> None:
    text = markdown(OPCODES["hmfma"])
    for part in ("hmfma[r]", "$lx|$ly", "mau-calc", "4 flags of 1 bit", "7 cycles later"):
        assert part in text


@pytest.mark.parametrize(
    ("opcode", "said"),
    [
        ("iadd", "behind it, for a 2-long, the second long word of x"),
        ("ilsl", "modulo twice the width of an element"),
        ("dvfmau", "`u` multiplies in PE 0 and 1"),
        ("fmfma", "the columns 0, 2, 4 and 6 of the bank"),
        ("gbfn", "`g` all 8 words"),
        ("l1bmd", "with `+1` MAB m receives what lies at the place of MAB m - 1"),
        ("l1bmrffadd", "l1bmrffadd[r] x[e] $lb<a>|$llb<a>"),
        ("l2bmb", "`@0/3` is L1B 0 to 3"),
        ("mvb", "`$dA $lcA`: n64 reads 16 of every source and writes 64 of every destination"),
        ("mvp", "mvp/n<size>[i<tag>][nd<k>][p<priority>]"),
        ("mvr4dfadd", "`$di<e>` for `$dA`"),
    ],
)
def test_what_a_program_needs_to_know_is_said(opcode: str, said: str) -> None:
    """Where data lies, and what a suffix or a letter of the opcode changes."""
    assert said in markdown(OPCODES[opcode])


@pytest.mark.parametrize(("name", "page"), [("maskr", "machine-reference.md"), ("d get", "emulator.md")])
def test_statements_are_no_opcodes_but_are_explained_somewhere(name: str, page: str) -> None:
    shown = CliRunner().invoke(command, ["opcode", name])
    assert isinstance(shown.exception, CompileError) and shown.exception.hint == f"docs/{page} explains it"
