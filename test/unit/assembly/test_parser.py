"""What the parser reads, where it points when it refuses, and how fast it is."""

import random

import pytest
from project.work import work

from mnc.mncore_backend.assembly import AsmSyntaxError, parse_line, parse_program
from mnc.mncore_backend.assembly.records import (
    DebugGet,
    DebugOperand,
    DebugSet,
    DramPreset,
    Expression,
    Literal,
    Mask,
    MaskSetting,
    Memory,
    Operand,
    Step,
    Transfer,
)


def one(text: str) -> Expression:
    step = parse_line(text)
    assert isinstance(step, Step)
    (expression,) = step.expressions
    return expression


@pytest.mark.parametrize(
    ("text", "opcode", "modifier"),
    [
        ("lnot $lr0 $ls0", "lnot", ""),
        ("llnot $lr0 $ls0", "llnot", ""),
        ("llsl $lr0 $ls0 $lm0", "llsl", ""),
        ("ilsl $lr0 $ls0 $lm0", "ilsl", ""),
        ("hilrelud $lr0 $ls0 $lm0", "hilrelud", ""),
        ("uilsr $lr0 $ls0 $lm0", "uilsr", ""),
        ("ufftoi $lr0 $ls0", "ufftoi", ""),
        ("hvmulr $lr0 $ls0 $lm0", "hvmul", "r"),
        ("dvmulur $lr0 $ls0 $lm0", "dvmulu", "r"),
        ("l1bmrlor $lr0 $lb0", "l1bmrlor", ""),
        ("l1bmrffaddr $llr0 $lb0", "l1bmrffadd", "r"),
        ("hbfe/6 $llr0 $lls0", "hbfe", "/6"),
        ("l1bmd-3 $lr0v $lb0", "l1bmd", "-3"),
        ("l1bmm@15 $lr0v $lb0", "l1bmm", "@15"),
        ("l2bmrffadd@1/6 $lb0 $lc0", "l2bmrffadd", "@1/6"),
        ("l2bmb@[0,1] $lc0 $lb0", "l2bmb", "@[0,1]"),
    ],
)
def test_mnemonics_split_into_opcode_and_modifier(text: str, opcode: str, modifier: str) -> None:
    assert (one(text).opcode, one(text).modifier) == (opcode, modifier)


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("$lm8v4j0", Operand(Memory.LM0, 2, 8, 4, pe_offset=0)),
        ("$lmt", Operand(Memory.LM0, 2, t_indirect=True)),
        ("$lmt16v8", Operand(Memory.LM0, 2, 16, 8, t_indirect=True)),
        ("$lmt[0,2,4,6]", Operand(Memory.LM0, 2, flat=(0, 2, 4, 6), t_indirect=True)),
        ("$lr[8,0,2,4]", Operand(Memory.GRF0, 2, flat=(8, 0, 2, 4))),
        ("$lls4v", Operand(Memory.GRF1, 4, 4, 4)),
        ("$r1v2", Operand(Memory.GRF0, 1, 1, 2)),
        ("-$lr0ve", Operand(Memory.GRF0, 2, 0, 2, negate=True, suffix="e")),
        ("$te", Operand(Memory.T, 1, suffix="e")),
        ("$alufe", Operand(Memory.ALUF, suffix="e")),
        ("$lbf", Operand(Memory.LBF)),
        ("$msb1", Operand(Memory.MSB1)),
    ],
)
def test_source_operands(text: str, operand: Operand) -> None:
    assert one(f"fvpassa {text} $ln0").sources == (operand,)


def test_destinations_with_masks() -> None:
    found = one("lpassa $lr0 $lnb $omr3/ll1000t $t /$llimr3 $nb").destinations
    assert found == (
        Operand(Memory.BAR1, 2),
        Operand(Memory.MASK, 1, 3, mask=Mask("1000", None, True, "t")),
        Operand(Memory.T, 1, mask=Mask(None, 3, True)),
        Operand(Memory.BAR1, 1),
    )


def test_the_largest_legal_mix() -> None:
    text = (
        "l2bmd $lc0 $lb0; l2bmdarw; l1bmm $lbi $lr0v; gmmul $lx $ls0v $nowrite; gmwrite $ls0v $ly0; "
        "lpassa $aluf $ln0v; wait i0a; noforward"
    )
    step = parse_line(text)
    assert isinstance(step, Step)
    assert [e.opcode for e in step.expressions] == [
        "l2bmd", "l2bmdarw", "l1bmm", "gmmul", "gmwrite", "lpassa", "wait", "noforward",
    ]  # fmt: skip
    assert step.expressions[6].tag == 10


def test_immediates_mv_masks_and_debug_lines() -> None:
    assert one('immu i"-0x10" $t').literal == Literal("i", "-0x10")
    assert parse_line("mvp/i02n64p3 $p0@0 $lc8@2.1") == Transfer(
        "mvp", 64, Operand(Memory.PDM, 1, 0, group=0), Operand(Memory.L2BM, 1, 8, group=2, l2b=1), 2, None, 3, 1
    )
    assert parse_line("mvp/n512i1end2 $di0 $lc0@.1") == Transfer(
        "mvp", 512, Operand(Memory.DRAM_INDIRECT, 1, 0), Operand(Memory.L2BM, 1, 0, l2b=1), 0x1E, 2, None, 1
    )
    assert parse_line("maskllrs 3") == MaskSetting("rs", 3, True, "ll", 1)
    assert parse_line("mask 0") == MaskSetting("", 0, False, "", 1)
    scope = (0, None, 1, None, 3)
    assert parse_line("d getbh $lln4n0b1p3 2 # x") == DebugGet("bh", DebugOperand(Memory.LM1, 4, 4, scope), 2, 1)
    longs = (0x3FF0000000000000, 0xABCDEF)
    for payload in ("3ff00000000000000000000000ABCDEF", "l3ff0000000000000l0000000000abcdef"):
        assert parse_line(f"d set $t 2 {payload}") == DebugSet(
            DebugOperand(Memory.T, 1, 0, (None, None, None, None, None)), 2, longs, 1
        )
    assert parse_line("r 3 00000001f 001 0000000000abcdef") == DramPreset(3, 31, (0xABCDEF,), 1)


def test_quit_ends_the_file_and_foreign_lines_behind_it_are_ignored() -> None:
    assert len(parse_program("nop\nquit\n%%%\n")) == 2


@pytest.mark.parametrize(
    ("text", "column", "token"),
    [
        ("foo $lr0", 1, "foo"),
        ("  ladd $lr0 $ls0 $lq0", 18, "$lq0"),
        ("nop; ladd $lr0", 15, ""),
        ("lpassa $lr0 $ls0 ;lpassa $lr0 $aluf", 31, "$aluf"),
        ("wait i100", 6, "i100"),
        ("wait i2", 6, "i2"),
        ("nop;;nop", 5, ""),
        ("nop/3; nop", 1, "nop/3; nop"),
        ("mvp/n $p0 $lc0", 1, "mvp/n"),
        ("mvp/n64n64 $p0 $lc0", 1, "mvp/n64n64"),
        ("mvp/n64 $p0@0 $lb0", 15, "$lb0"),
        ("mvp/n64 $p0@0 $lc0; nop", 19, ";"),
        ('imm d"1.0" $t', 5, 'd"1.0"'),
        ('imm f"nan" $t', 5, 'f"nan"'),
        ('imm i"010" $t', 5, 'i"010"'),
        ('imm ui"-1" $t', 5, 'ui"-1"'),
        ("imm i0 $t", 5, "i0"),
        ("hbfn $llr0 $lls0", 1, "hbfn"),
        ("hbfn/9/1000 $llr0 $lls0", 5, "/9/1000"),
        ("lpassa $lr0t $ls0", 8, "$lr0t"),
        ("lpassa $lr0j1 $ls0", 8, "$lr0j1"),
        ("lpassa $lr $ls0", 8, "$lr"),
        ("ladd $lr0 $ls0 $lr", 16, "$lr"),
        ("lpassa $lr0 $ls0e", 13, "$ls0e"),
        ("lpassa $lr0 $ls0/10", 18, "10"),
        ("l1bmm $lr0 $lb0", 1, "l1bmm"),
        ("l1bmm@0 $lb0 $lr0", 6, "@0"),
        ("l2bmr2ffadd@0 $lb0 $lc0", 12, "@0"),
        ("l2bm $lb0 $lc0", 1, "l2bm"),
        ("l1bmp $lr0 $lb0", 7, "$lr0"),
        ("maskq 1", 1, "maskq 1"),
        ("maskrr 1", 1, "maskrr 1"),
        ("d get $lr0n9 1", 1, None),
        ("d peek $lr0 1", 1, None),
        ("d set $lr0 1 12", 14, "12"),
        ("d set $lr0 1 h0000000000000000", 14, None),
        ("lpassa\u00a0$lr0 $ls0", 7, "\u00a0"),
        ("lpassa $lr99999999999 $ls0", 8, None),
    ],
)
def test_errors_point_at_the_token(text: str, column: int, token: str | None) -> None:
    with pytest.raises(AsmSyntaxError) as caught:
        parse_program("nop\n" + text, "x.vsm")
    error = caught.value
    assert (error.line, error.file_name, error.exit_code) == (2, "x.vsm", 2)
    if token is not None:
        assert (error.column, error.token) == (column, token)
    assert error.render().startswith(f"x.vsm:2:{error.column}: error: expected ")
    assert error.expected


def test_an_unknown_mnemonic_names_its_neighbours() -> None:
    with pytest.raises(AsmSyntaxError, match="did you mean ladd"):
        parse_line("laddd $lr0 $ls0 $ln0")


def test_a_character_that_shows_nothing_is_named() -> None:
    with pytest.raises(AsmSyntaxError, match=r"expected ASCII text, got '\\u3000'"):
        parse_line("lpassa $lr0\u3000$ls0")


def test_a_transfer_to_pes_that_names_a_mab_is_told_which_way_that_goes() -> None:
    for name in ("l1bmm@0", "l1bmm4@3"):
        with pytest.raises(AsmSyntaxError, match=r"no MAB, since every MAB receives: .* reads a PE operand"):
            parse_line(f"{name} $lb0 $lr0")


def test_lines_seen_before_take_few_calls() -> None:
    source = random.Random(7)
    pool = []
    for _ in range(20_000):
        a, b = 2 * source.randrange(120), 2 * source.randrange(1000)
        pool.append(f"gmfma $lx $lr{a}v $lm{b}v $ln{b}v; ladd $aluf $ls{a}v $lr{a}v; l1bmm $lb{4 * b} $ls{a}v")
    text = "\n".join(source.choice(pool) for _ in range(200_000))
    statements, calls = work(lambda: parse_program(text))
    assert len(statements) == 200_000
    assert calls < 2_000_000
