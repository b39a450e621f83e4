"""The manual's lists of what an assembler refuses (SDM 3.6.4 and 3.6.3, summary 7.1.1 and 8.4, transfers of 3.5.7 to
3.6.8) against the rules of the checker: every entry has its rules, every rule its entry, every rule both tests."""

import pytest

from mnc.mncore_backend.checker import RULES, CheckOptions, check_text
from mnc.mncore_backend.checker.examples import EXAMPLES
from mnc.mncore_backend.target import chip

STATEMENTS = {
    "unknown mnemonic, wrong operand count, malformed literal, tag or payload": ("syntax",),
    "operand kind that a position does not take": ("operand-kind", "operand-sign", "mask-entry", "fixed-value-float"),
    "$nowrite beside another destination": ("nowrite-alone",),
    "immediate out of range": ("immediate-range",),
    "width and address of a matrix bank": ("matrix-width", "matrix-address"),
    "r on an input that is no normal half": ("suffix-narrow",),
    "e where nothing is widened": ("suffix-widen", "widen-unattested"),
    "static address out of range or misaligned": ("address-range", "address-alignment"),
    "T-indirect with j or on LM1, j beyond 3": ("t-indirect", "pe-offset"),
    "debug statements": ("debug-payload", "debug-memory", "debug-dtype", "debug-count"),
    "width of a mask with its check suffix": ("mask-width", "mask-check-suffix"),
    "mask registers written without flags or under another entry": ("flagless-mask-write", "masked-mask-write"),
    "base registers written from a long": ("base-register-words",),
    "spelling that the assembler may refuse": ("spelling",),
}
STEPS = {
    "one expression per group": ("issue-group",),
    "nop takes only wait, wait needs company": ("nop-company", "wait-company"),
    "wait tags": ("wait-tag", "wait-unknown", "tag-large"),
    "two of the three MAU groups, of one precision": ("mau-units", "mau-precision"),
    "product and matrix write share the second input": ("shared-second-input",),
    "a matrix bank once per step": ("matrix-bank-use",),
    "one write per memory": ("port-write",),
    "one region read per memory": ("port-read",),
    "local memory read and written at the same addresses": ("local-memory-region",),
    "imm without LM0": ("immediate-local-memory",),
    "one zero-flush mask, one entry and word length": ("zero-flush-twice", "mask-conflict"),
}
TRANSFERS = {
    "MV form, size, instances": ("mv-form", "mv-size", "mv-size-large", "mv-instance"),
    "MV options": ("mv-tag", "mv-repeat", "mv-repeat-many"),
    "MVs whose counts no source settles": ("mv-mvd-count", "mv-mvd-dram"),
    "MVs whose meaning no source settles": ("mv-pdm-reduction", "mv-unnamed-l2b", "dar-model"),
    "a tag asserted twice, memory used before a wait": ("mv-tag-reuse", "mv-unwaited", "mv-untagged", "mv-conflict"),
    "L1BM and L2BM alignment": ("transfer-alignment",),
    "forms, widths and selectors of L1BM transfers": ("l1bm-form", "l1bm-width", "selector-range", "selector-quad"),
    "2-long reductions, e and r of reductions": ("reduction-width", "reduction-suffix"),
    "sets of L1Bs": ("l1b-set", "l1b-list", "pairing-unattested"),
}
HISTORY = {
    "latch of a unit that produced nothing": ("latch-idle",),
    "bank used with another word length than written": ("matrix-precision",),
    "turnaround: empty, another kind, another shift": ("turnaround-empty", "turnaround-kind", "turnaround-shift"),
    "what a program leaves behind": ("tag-balance", "masks-left"),
    "cycles of one step": ("same-step-read",),
    "distances": tuple(f"hazard-{row}" for row in chip().hazards if row not in ("8t", "9d", "10", "11")),
}
LISTS = {**STATEMENTS, **STEPS, **TRANSFERS, **HISTORY}
CASES = EXAMPLES


def test_every_rule_stands_in_one_list() -> None:
    listed = [rule for rules in LISTS.values() for rule in rules]
    assert sorted(listed) == sorted(RULES)


@pytest.mark.parametrize("topic", LISTS)
def test_every_entry_has_programs_that_break_and_keep_it(topic: str) -> None:
    strict = CheckOptions(strict=frozenset({"all"}))
    for rule in LISTS[topic]:
        assert CASES[rule], rule
        for bad, good in CASES[rule]:
            broken = {f.rule for f in check_text(bad.replace("|", "\n"), options=strict)}
            kept = {f.rule for f in check_text(good.replace("|", "\n"), options=strict)}
            assert rule in broken and rule not in kept, (rule, bad, good)


# Malformed statements that the lists name, one by one: each is refused where it stands.
MALFORMED = (
    *("lpassa", "lpassa $lr0", "ladd $lr0 $ls0", "zero", "gmmul $lx $lr0", "dmwrite $lr0", "l1bmm $lb0", "l2bmb $lc0"),
    *("wait", "wait i2", "wait ig0", "wait 02", "nop/0", "nop/3; nop", "mask", "maskr", "maskrr 1", "maskq 1"),
    *("imm 1 $t", 'imm d"1" $t', 'imm l"1" $t', 'imm ul"1" $t', "imm i'1' $t", 'imm f"nan" $t', 'imm f"0x1p3" $t'),
    *("mvp $p0@0 $lc0@0.0", "mvp/i02 $p0@0 $lc0@0.0", "mvp/n64p4 $p0@0 $lc0@0.0", "mvp/n64i2 $p0@0 $lc0@0.0"),
    *("mvnop $p0 $d0", "mvp/n64 $p0@0", "mvp/n64 $p0@0 $lb0", "mvp/n64 $p0@0 $lc0@0.0; nop", "l2bmr2ffadd@0 $lb0 $lc0"),
    *("l2bmd@0 $lb0 $lc0", "l2bmb@8 $lc0 $lb0", "l1bmd3 $lb0 $lr0", "l1bmp $lr0 $lb0", "l1bmm $lr0 $lb0"),
    *("l2bm $lb0 $lc0", "l2bmi $lb0 $lb64"),
    *("hbfn $llr0 $lls0", "hbfn/5 $llr0 $lls0", "hbfn/10 $llr0 $lls0", "fbfe/9 $lr0 $ls0", "lpassa $aluf $mauf"),
    *("d get", "d get $lr0n0", "d set $lr0 1", "d set $lr0 1 zz", "d getq $lr0 1", "d get $lr0n4 1", "d get $d0n0c0 1"),
    *("lpassa $lr0 $ls0/100", "lpassa $lr0 $ls0/$imr", "lpassa $lr0 $omr", "lpassa $lr[0,1,2] $ls0"),
)


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_statements_are_refused(text: str) -> None:
    (finding,) = [f for f in check_text("nop\n" + text) if f.rule == "syntax"]
    assert finding.line == 2
