"""Programs for transfers: L1BM, L2BM and MV."""

from mnc.mncore_backend.assembly.isa import OpcodeInfo, Unit
from mnc.mncore_backend.target import chip

_ONE = {"d": "3ff0000000000000", "f": "3f8000003f800000", "h": "3e003e003e003e00"}
_THREE = {"d": "4008000000000000", "f": "4040000040400000", "h": "4100410041004100"}


def transfer_example(info: OpcodeInfo) -> list[str]:
    """A program that fills the source, runs the transfer and prints a part of the destination."""
    if info.reduction:
        return _reduction(info)
    if info.unit is Unit.L1BM:
        return _L1BM[info.mnemonic]
    return _L2BM[info.mnemonic] if info.unit in (Unit.L2BM, Unit.L2BMDARW) else _MV[info.mnemonic]


_FILL_L1BM = ["# every L1BM: long word 4 m + p is the number of PE p in MAB m, cycle after cycle",
              "lpassa $peid $lr0", "nop/2", "l1bmd $lr0 $lb0"]  # fmt: skip
_FOUR = "d set $lb0 4 0000000000000000 0000000000000001 0000000000000002 0000000000000003"
_L1BM = {
    "l1bmp": [_FOUR, "l1bmp $lb0 $lr0v", "d get $lr0n0c0b0m0p0 4"],
    "l1bmm": [
        *_FILL_L1BM,
        "nop/2",
        "l1bmm $lb0 $ls0v  # down: PE p of every MAB receives long words p, 4 + p, 8 + p, 12 + p",
        "nop/2",
        "l1bmm@2 $lr0 $lb256  # up: from MAB 2",
        "d get $ls0n0c0b0m0p1 4",
        "d get $lb256n0c0b0 4",
    ],
    "l1bmm4": [
        *_FILL_L1BM,
        "nop/2",
        "l1bmm4 $lb0 $ls0v  # down: MAB m takes the part of quad m / 4",
        "nop/2",
        "l1bmm4@1 $lr0 $lb256  # up: from MABs 1, 5, 9 and 13",
        "d get $ls0n0c0b0m4p1 4",
        "d get $lb256n0c0b0 8",
    ],
    "l1bmd": [
        *_FILL_L1BM,
        "nop/2",
        "l1bmd $lb0 $ls0v  # down: every PE gets its own number back",
        "d get $ls0n0c0b0m3p2 4",
        "d get $lb0n0c0b0 6",
    ],
}
_FILL_L2BM = ["# L2BM: 64 long words of each L1B, all equal to its number",
              "lpassa $l1bid $lr0", "nop/2", "l1bmd $lr0 $lb0", "nop/3", "l2bmd $lb0 $lc0"]  # fmt: skip
_L2BM = {
    "l2bmb": [*_FILL_L2BM, "nop/3", "l2bmb $lc0 $lb256", "d get $lb263n0c0b5 2"],
    "l2bmb2": [*_FILL_L2BM, "nop/3", "l2bmb2 $lc0 $lb256", "d get $lb263n0c0b5 2"],
    "l2bmd": [*_FILL_L2BM, "nop/3", "l2bmd $lc0 $lb256", "d get $lc7n0c0 2", "d get $lb256n0c0b5 1"],
    "l2bm": [*_FILL_L2BM[:-1], "l2bm@3 $lb0 $lc0  # from L1B 3", "d get $lc0n0c0 2"],
    "l2bmi": [
        *_FILL_L2BM[:-1],
        "l2bmi@0/4 $lb0 $lb256  # L1B 0 to 0, 1, 2, 3; L1B 4 to 4, 5, 6, 7",
        "d get $lb256n0c0b3 1",
        "d get $lb256n0c0b6 1",
    ],
}
_L2BM["l2bmdars"] = _L2BM["l2bmdarw"] = [
    "# L2BM: words of 1; then DRAM of group 0 from long word 16 on, too",
    'imm i"1" $ls0',
    "nop/2",
    "l1bmd $ls0 $lb0",
    "nop/3",
    "l2bmd $lb0 $lc0",
    "nop",
    "mvp/n64i01 $lc0@0.0 $d16@0",
    "l2bmdars $lc0@.0 $dar0; wait i01  # stage",
    "l2bmdarw  # entries 0 to 3 become 1: they name the block of 16 long words from long word 16 on",
    "mvp/n64i02 $di0@0 $p0@0",
    "nop; wait i02",
    "d get $p0n0 1",
]
_TO_L2BM = ["# every L2BM holds its number", "lpassa $l2bid $lr0", "nop/2", "l1bmd $lr0 $lb0", "nop/3",
            "l2bm@0 $lb0 $lc0", "nop"]  # fmt: skip
_WAIT = "nop; wait i01"
_AGAIN = "nop; wait i02"
WAIT_EXAMPLE = [*_TO_L2BM, "mvp/n64i01 $lc0@2.1 $p0@0", "linc $lr0 $ls0; wait i01", "d get $p0n0 1"]
_MV = {
    "mvp": [*_TO_L2BM, "mvp/n64i01 $lc0@2.1 $p0@0  # L2B 1 of group 2 to the PDM of group 0", _WAIT, "d get $p0n0 1"],
    "mvb": [
        *_TO_L2BM,
        "mvp/n64i01 $lc0@2.1 $p0@0",
        _WAIT,
        "mvb/n64i02 $p0@0 $lc64  # to all L2BMs",
        _AGAIN,
        "d get $lc64 1",
    ],
    "mvb2": [
        *_TO_L2BM,
        "mvp/n64i01 $lc0@.1 $d0  # L2B 1 of every group to the DRAM of its group",
        _WAIT,
        "mvb2/n64i02 $d0 $lc64",
        _AGAIN,
        "d get $lc64n3 1",
    ],
    "mvb4": [
        *_TO_L2BM,
        "mvp/n64i01 $lc0@.1 $d0  # L2B 1 of every group to the DRAM of its group",
        _WAIT,
        "mvb4/n64i02 $d0 $lc64  # 16 long words of every group in turn",
        _AGAIN,
        "d get $lc79n0c0 2",
    ],
    "mvd": [
        *_TO_L2BM,
        "mvd/n64i01 $lc0 $p0@0  # 16 long words of each L2BM in turn",
        _WAIT,
        "d get $p15n0 2",
    ],
    "mvnop": ["mvnop", "nop"],
}


def _reduction(info: OpcodeInfo) -> list[str]:
    """All parts hold ones, one part holds threes; floats as numbers, integers as bit patterns."""
    precision = info.precision
    floats = precision in _ONE
    integers = {"l": "0000000000000001", "i": "0000000100000001", "s": "0001000100010001"}
    one = _ONE[precision] if floats else integers[precision]
    three = _THREE[precision] if floats else one.replace("1", "3")
    dtype = precision if floats else ""
    part, text = {"l1bm": ("m5", "MAB 5"), "l2bm": ("b5", "L1B 5")}.get(
        info.operation[:4], ("n0c1", "L2B 1 of group 0")
    )
    head = [f"# ones everywhere, threes in {text}", f"d set $lr0 1 {one}", f"d set $lr0{part} 1 {three}"]
    if info.unit is Unit.L1BM:
        shown = "$lb4n0c0b0" if info.operation == "l1bmr4" else "$lb0n0c0b0"
        return [*head, f"{info.mnemonic} $lr0 $lb0", f"d get{dtype} {shown} 1"]
    head += ["l1bmd $lr0 $lb0", "nop/3"]
    if info.unit is Unit.L2BM:
        shown = "$lc32n0c0" if info.operation == "l2bmr2" else "$lc0n0c0"
        return [*head, f"{info.mnemonic} $lb0 $lc0", f"d get{dtype} {shown} 1"]
    form = next(form for form in chip().mv_forms if form.opcode == info.operation)
    target, shown = ("$p0@0", "$p0n0") if form.identifier == "R1" else ("$d0", "$d0n0")
    shown = "$d16n0" if info.operation == "mvr4" else shown
    transfer = f"{info.mnemonic}/n64i01 $lc0 {target}"
    return [*head, "l2bm@0 $lb0 $lc0", "nop", transfer, _WAIT, f"d get{dtype} {shown} 1"]
