"""How an opcode is written, and what its operands, flags and distances are: sentences made from the tables."""

from mnc.mncore_backend.assembly.isa import TWO_LONG_ALU, OpcodeInfo, Port, Unit
from mnc.mncore_backend.target import INDIRECT_MVS, REPEATING_MVS, chip

_NAMES = {Port.ALU_X: "x", Port.ALU_Y: "y", Port.LITERAL: "<literal>", Port.MATRIX: "$lx|$ly", Port.VECTOR: "x",
          Port.ADDEND: "z", Port.WRITE: "x", Port.ROW: "$lx<a>|$ly<a>"}  # fmt: skip
_PLACES = "PE memory, `$mauf` `$aluf` `$lbf`"
_MEANING = {
    Port.ALU_X: f"{_PLACES} `$mreadf`, or a fixed value such as `$peid`",
    Port.ALU_Y: _PLACES,
    Port.LITERAL: '`f"1.5"`, `h"1.5"` (float), `i"-3"`, `s"-3"` (signed), `ui"3"`, `us"3"` (unsigned, `0x`, `0b`)',
    Port.MATRIX: "the matrix bank",
    Port.VECTOR: f"{_PLACES}; `-` before it flips the sign",
    Port.PRODUCT: f"{_PLACES}; `-` before it flips the sign",
    Port.ADDEND: f"{_PLACES}; `-` flips the sign, `e` behind it widens the next lower precision",
    Port.WRITE: _PLACES,
    Port.ROW: "the matrix bank, with the first row or column",
}
_SET = "`@<set>`: `@b` is L1B b, `@b/i` all that differ from b only in bits of i: `@0/3` is L1B 0 to 3"
_WIDTHS = {1: "word", 2: "long word", 4: "2-long (128 bits)"}


def _source_names(info: OpcodeInfo) -> list[str]:
    products = iter("xy")
    return [next(products) if port is Port.PRODUCT else _NAMES[port] for port in info.ports]


def syntax(info: OpcodeInfo) -> list[str]:
    """The forms of an opcode, one a line."""
    if info.unit in (Unit.L1BM, Unit.L2BM, Unit.MV, Unit.L2BMDARW):
        return _transfer_syntax(info)
    if info.unit in (Unit.NOP, Unit.NOFORWARD):
        return ["nop", "nop/<n>", "nop; wait i<tag>"] if info.unit is Unit.NOP else ["noforward; <expression>"]
    if info.unit is Unit.WAIT:
        return ["<expression>; wait i<tag>"]
    name = info.mnemonic + ("[r]" if info.narrows else "")
    if info.mnemonic in ("hbfn", "hbfe"):
        name += "/<6..9>"
    if info.unit is Unit.MWRITE:
        banks = "$lx<a>|$ly<a>|$llx<a>|$lly<a>" if info.precision == "h" else "$lx<a>|$ly<a>"
        return [f"{name} x {banks}"]
    names = _source_names(info)
    if info.unit is Unit.MREAD and info.precision == "h":
        names = ["$llx<a>|$lly<a>"]
    flush = "" if info.mnemonic.startswith("hbf") else "[/<mask>]"
    return [" ".join([f"{name}{flush}", *names, "<destination>..."])]


def _transfer_syntax(info: OpcodeInfo) -> list[str]:
    name = info.mnemonic
    if info.unit is Unit.MV:
        return _mv_syntax(info)
    if info.unit is Unit.L1BM:
        wide = chip().l1bm_families[info.family].rate_two_long and (
            not info.reduction or info.precision == "f" or info.reduction == "bor"
        )
        memory = "$lb<a>|$llb<a>" if wide else "$lb<a>"
        if info.reduction:
            return [f"{name}[r] x[e] {memory}" if info.narrows else f"{name} x {memory}"]
        shift = "[+<n>|-<n>]" if info.family == "d" else ""
        down = [f"{name}{shift}[/<mask>] {memory} <destination>..."]
        up = f"{name}{shift} x {memory}" if shift else f"{name}@<k> x {memory}"
        return [*down, up] if "u" in info.directions else down
    forms = {
        "l2bmb": ["l2bmb[@<set>] $lc<a> $lb<a>"],
        "l2bmb2": ["l2bmb2[@<set>] $lc<a> $lb<a>"],
        "l2bmd": ["l2bmd[@<set>] $lc<a> $lb<a>", "l2bmd $lb<a> $lc<a>"],
        "l2bm": ["l2bm@<k> $lb<a> $lc<a>"],
        "l2bmi": ["l2bmi@<set> $lb<a> $lb<a>"],
        "l2bmr": [f"{name}[@<set>] $lb<a> $lc<a>"],
        "l2bmr2": [f"{name} $lb<a> $lc<a>"],
        "l2bmdars": ["l2bmdars $lc<a>@.<l> $dar<e>"],
        "l2bmdarw": ["l2bmdarw"],
    }
    return forms[info.operation]


def _mv_syntax(info: OpcodeInfo) -> list[str]:
    forms = [form for form in chip().mv_forms if form.opcode == info.operation]
    repeat = "[nd<k>]" if info.operation in REPEATING_MVS else ""
    return [
        f"{info.mnemonic}/n<size>[i<tag>]{repeat}[p<priority>] {form.source} {form.destination}" for form in forms
    ] or ["mvnop"]


def operands(info: OpcodeInfo) -> list[str]:
    """What may stand at each position, with the width that is read per cycle."""
    out = []
    for name, port, width in zip(_source_names(info) if _is_pe(info) else [], info.ports, info.widths, strict=False):
        text = f"`{name}`: {_MEANING[port]}"
        if width:
            text += f"; reads a {_WIDTHS[width]} per cycle"
        if info.half_inputs and port in (Port.ALU_X, Port.ALU_Y, Port.PRODUCT, Port.WRITE):
            text += "; `r` behind it reads singles and rounds them to halves"
        out.append(text)
    if info.unit is Unit.ALU and info.mnemonic not in TWO_LONG_ALU:
        out.append("result: a long word per cycle; behind it, for a 2-long, the second long word of x")
    elif info.result_words:
        narrower = f", with `r` a {_WIDTHS[info.result_words // 2]}" if info.narrows else ""
        out.append(f"result: a {_WIDTHS[info.result_words]} per cycle{narrower}")
    return out + _transfer_operands(info)


def _is_pe(info: OpcodeInfo) -> bool:
    return info.unit in (Unit.ALU, Unit.MAU, Unit.MWRITE, Unit.MREAD)


def _transfer_operands(info: OpcodeInfo) -> list[str]:
    if info.unit is Unit.L1BM:
        family = chip().l1bm_families[info.family]
        text = f"L1BM side: {_rate(family.rate)}, {_places(family.alignment)}"
        if family.rate_two_long and "$llb" in " ".join(syntax(info)):
            text += f"; with `$llb` {_rate(family.rate_two_long)}, {_places(family.alignment_two_long or 1)}"
        latches = ", or `$mauf` `$aluf` `$lbf` as a source" if "u" in info.directions else ""
        narrowing = ["`e` widens halves of x to singles, `r` rounds the results to halves"] if info.narrows else []
        return [text, f"PE side: PE memory{latches}", *narrowing]
    if info.family:
        family = chip().l2bm_families[info.family]
        return [
            f"L2BM side: {_rate(family.l2bm_rate)}, {_places(family.l2bm_alignment)}",
            f"L1BM side: {_rate(family.l1bm_rate)}, {_places(family.l1bm_alignment)}",
            *([_SET] if "@<set>" in " ".join(syntax(info)) else []),
        ]
    return _mv_operands(info) if info.unit is Unit.MV and info.ports else []


def _rate(longs: int) -> str:
    return f"{longs} long word{'s' * (longs > 1)} per cycle"


def _places(alignment: int) -> str:
    return "at any address" if alignment == 1 else f"addresses in multiples of {alignment}"


def _mv_operands(info: OpcodeInfo) -> list[str]:
    """Options and operands of an MV, and what n counts where the two sides differ."""
    forms = [form for form in chip().mv_forms if form.opcode == info.operation]
    out = [
        "`A`: address in long words, `g`: group, `l`: L2B of the group",
        f"`n`: long words, a multiple of {max(form.unit for form in forms)}; `i`: tag, two hexadecimal digits from 01 "
        "to 3f; `p`: 0 to 3, the larger goes first",
    ]
    for form in forms:
        read, written = form.source_longs(form.unit), form.destination_longs(form.unit)
        if read != written:
            out.append(
                f"`{form.source} {form.destination}`: n{form.unit} reads {read} of every source and writes {written} "
                "of every destination"
            )
    if info.operation in INDIRECT_MVS:
        text = "`$di<e>` for `$dA`: every 16 long words take their DRAM address, divided by 16, from the next DAR entry"
        repeated = "; with `nd<k>` k blocks follow each other from one entry (OPEN-40)"
        out.append(text + repeated * (info.operation in REPEATING_MVS))
    return out


def flags(info: OpcodeInfo) -> str:
    """What an ``$omr`` destination receives, in a sentence."""
    if not info.flags:
        return "none"
    bit = {0: "top bit", 1: "second bit", 2: "third bit", 3: "fourth bit"}[info.flag_bit]
    meaning = str(info.flag).replace("bit `flag_bit` (0 = MSB) of x is 0", f"the {bit} of x is 0")
    bits = 4 // min(info.flags, 4)
    many = "one flag of four bits" if info.flags == 1 else f"{info.flags} flags of {bits} bit{'s' * (bits > 1)}"
    return f"1 where {meaning}; {many} per cycle"


_ROWS = {
    Unit.ALU: ("11", "9a", "9b", "9c", "9d"),
    Unit.MAU: ("11", "9a", "9b", "9c", "9d"),
    Unit.MREAD: ("11", "9a", "9b", "9c"),
    Unit.MWRITE: ("10",),
}


def hazard_rows(info: OpcodeInfo) -> tuple[str, ...]:
    """Rows of the hazard table in which a result of the opcode is what others have to wait for."""
    if info.unit is Unit.L1BM:
        down = ("11", "9a", "9b", "9c") if "d" in info.directions else ()
        return (*down, *(("7", "8", "8t") if "u" in info.directions else ()))
    if info.unit is Unit.L2BM:
        down = ("3", "6") if "d" in info.directions else ()
        up = ("1", "2") if "u" in info.directions else ()
        return (*down, *up, *(("4", "5") if info.directions == "i" else ()))
    return _ROWS.get(info.unit, ())


def latency(info: OpcodeInfo) -> str:
    """How long the opcode lasts, in a sentence."""
    if info.unit is Unit.MV:
        fixed = chip().mv_latency_steps
        if not info.ports:
            return f"issues at most once in {chip().mv_issue_interval_steps} steps"
        rates = sorted({form.data_cycles(64) for form in chip().mv_forms if form.opcode == info.operation})
        cycles = " or ".join(str(rate) for rate in rates)
        return f"{fixed} steps, and {cycles} cycles for every 64 of `n` (OPEN-48); use the result after `wait`"
    return "one step of four cycles, once per cycle"
