"""The opcode table against the tables of the manual (SDM 3.6.8 to 3.6.12)."""

import pytest

from mnc.mncore_backend.assembly.isa import OPCODES, Flag, Port, Unit, UnknownOpcode, lookup, split_mnemonic


def test_counts_of_composed_mnemonics() -> None:
    assert sum(m.startswith("l1bmr4") for m in OPCODES) == 24
    assert sum(i.operation == "mvr" for i in OPCODES.values()) == 24
    assert {m for m in OPCODES if m.endswith("vadd")} == {"dvadd", "fvadd", "hvadd"}
    assert {m for m in OPCODES if "mfma" in m} == {"dmfmau", "dmfmad", "fmfma", "gmfma", "hmfma"}
    assert {m for m in OPCODES if m.endswith(("bfn", "bfe"))} == {"dbfn", "fbfn", "gbfn", "hbfn", "hbfe"}


@pytest.mark.parametrize(
    ("mnemonic", "unit", "precision", "sources", "flags", "flag"),
    [
        ("ladd", Unit.ALU, "l", 2, 1, Flag.NON_NEGATIVE),
        ("uiadd", Unit.ALU, "i", 2, 2, Flag.NO_CARRY),
        ("slsr", Unit.ALU, "s", 2, 4, Flag.ZERO),
        ("hrelu3", Unit.ALU, "h", 2, 4, Flag.X_BIT),
        ("fmax", Unit.ALU, "f", 2, 2, Flag.X_SELECTED),
        ("dpackbit", Unit.ALU, "d", 2, 1, Flag.Y_SIGN),
        ("fftoi", Unit.ALU, "f", 1, 0, Flag.NONE),
        ("zero", Unit.ALU, "", 0, 0, Flag.NONE),
        ("msl", Unit.ALU, "", 1, 0, Flag.NONE),
        ("hvfma", Unit.MAU, "h", 3, 4, Flag.SIGN_CLEAR),
        ("dvpassa", Unit.MAU, "d", 1, 1, Flag.SIGN_CLEAR),
        ("gmmul", Unit.MAU, "g", 2, 2, Flag.SIGN_CLEAR),
        ("hmread", Unit.MREAD, "h", 1, 0, Flag.NONE),
        ("fmwrite", Unit.MWRITE, "f", 1, 0, Flag.NONE),
    ],
)
def test_rows(mnemonic: str, unit: Unit, precision: str, sources: int, flags: int, flag: Flag) -> None:
    info = lookup(mnemonic)
    assert (info.unit, info.precision, info.sources, info.flags, info.flag) == (unit, precision, sources, flags, flag)


def test_widths_of_mau_inputs() -> None:
    assert lookup("hvfma").widths == (2, 2, 4)
    assert lookup("hvadd").ports == (Port.PRODUCT, Port.ADDEND)
    assert lookup("hvadd").widths == (2, 4)
    assert lookup("fmfma").widths == (0, 1, 2)
    assert lookup("gmfma").widths == (0, 2, 2)
    assert [lookup(m).result_words for m in ("dvmulu", "fvmul", "hvmul", "hmmul", "gmread", "hmread")] == [
        2,
        2,
        4,
        4,
        2,
        4,
    ]


@pytest.mark.parametrize(
    "mnemonic", ["gvfma", "dvfma", "dmmul", "fadd", "uland", "gpassa", "l1bmr", "mvr2", "lfloor", "hbfx"]
)
def test_unknown_mnemonics(mnemonic: str) -> None:
    with pytest.raises(UnknownOpcode):
        lookup(mnemonic)


def test_only_mau_results_and_single_precision_reductions_narrow() -> None:
    assert split_mnemonic("l1bmrlor") == (lookup("l1bmrlor"), "")
    assert split_mnemonic("l1bmr4fmaxr") == (lookup("l1bmr4fmax"), "r")
    for text in ("l1bmrdfaddr", "l1bmrhfaddr", "laddr", "l2bmrffaddr", "mvrffaddr", "gmreadr"):
        with pytest.raises(UnknownOpcode):
            split_mnemonic(text)
