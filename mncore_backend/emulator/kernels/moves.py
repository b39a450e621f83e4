"""Kernels that move or re-encode operands: copies, widenings, masked stores (SDM 3.6.1, 3.6.2)."""


from mnc.mncore_backend.target import cached_per_machine

from .emitter import Value
from .jit import CYCLES, Inputs, Kernel, Outputs, Step, chunked, kernel, pes
from .lanes import LONGS, PRECISIONS, double_to_half, half_to_single, single_to_double


@cached_per_machine()
def copy() -> Kernel:
    """Rows of 64 longs: operands out, x."""
    return kernel("copy", ("out", "x"), chunked(LONGS, lambda inputs: {"out": inputs["x"]}))


@cached_per_machine()
def negate(precision: str) -> Kernel:
    """Operand prefix ``-``: flips the sign of every element of `precision`; operands out, x."""
    lane = PRECISIONS[precision]

    def work(inputs: Inputs) -> Outputs:
        x = inputs["x"].bitcast(lane.element)
        return {"out": (x ^ lane.sign).bitcast("i64")}

    return kernel(f"negate_{precision}", ("out", "x"), chunked(LONGS, work))


def join_singles(msb: Value, lsb: Value) -> Value:
    """The 4 singles of every 2-long as one i32 vector, last element of a PE first."""
    lanes = msb.lanes
    order = [index for lane in range(lanes) for index in (lanes + lane, lane)]
    return msb.shuffle(order, lsb).bitcast("i32")


def split_singles(singles: Value) -> tuple[Value, Value]:
    """Inverse of `join_singles`: the MSB and the LSB longs."""
    longs = singles.bitcast("i64")
    return longs.shuffle(range(1, longs.lanes, 2)), longs.shuffle(range(0, longs.lanes, 2))


def word_halves(halves: Value) -> Value:
    """Longs whose D0 packs the two halves of each long (i32 lanes holding one half each), D1 zero."""
    longs = halves.bitcast("i64")
    return ((longs >> 32) << 48) | ((longs & 0xFFFF) << 32)


@cached_per_machine()
def extend(precision: str) -> Kernel:
    """Operand suffix ``e`` of an operation whose normal operand is wider; `precision` is the accumulator's.

    "h": out, out_lsb, x (4 halves of a long -> 4 singles). "f": out, x (2 halves in D0 -> 2
    singles). "d": out, x (the single in D0 -> a double). Exact; zeros keep their sign (OPEN-31).
    """

    def from_halves(inputs: Inputs) -> Outputs:
        singles = half_to_single(inputs["x"].bitcast("i16").zext("i32"))
        msb, lsb = split_singles(singles)
        return {"out": msb, "out_lsb": lsb}

    def from_half_word(inputs: Inputs) -> Outputs:
        x = inputs["x"]
        halves = ((x >> 48) << 32) | ((x >> 32) & 0xFFFF)
        return {"out": half_to_single(halves.bitcast("i32")).bitcast("i64")}

    def from_single(inputs: Inputs) -> Outputs:
        return {"out": single_to_double((inputs["x"] >> 32).trunc("i32"))}

    work = {"h": from_halves, "f": from_half_word, "d": from_single}[precision]
    operands = ("out", "out_lsb", "x") if precision == "h" else ("out", "x")
    return kernel(f"extend_{precision}", operands, chunked(LONGS, work))


@cached_per_machine()
def narrow() -> Kernel:
    """Operand suffix ``r``: 4 singles of a 2-long -> 4 halves in the MSB long; out, x, x_lsb."""

    def work(inputs: Inputs) -> Outputs:
        singles = join_singles(inputs["x"], inputs["x_lsb"])
        halves = double_to_half(single_to_double(singles))
        return {"out": halves.trunc("i16").bitcast("i64")}

    return kernel("narrow", ("out", "x", "x_lsb"), chunked(LONGS, work))


@cached_per_machine()
def fetch_word() -> Kernel:
    """Read word 0 (MSB side) or 1 of longs into D0, D1 zero (OPEN-09); operands out, x, word."""

    def work(inputs: Inputs) -> Outputs:
        shift = (inputs.scalar("word") << 5).splat(LONGS)
        return {"out": (inputs["x"] << shift) & (0xFFFFFFFF << 32)}

    return kernel("fetch_word", ("out", "x", "word"), chunked(LONGS, work))


@cached_per_machine()
def fetch_indirect() -> Kernel:
    """out[pe] = base[index[pe]][pe]: long addresses of every PE in the int64 rows `index`.

    Addresses are not checked here.
    """

    def body(step: Step) -> None:
        builder = step.builder
        chunks = pes() // LONGS
        with builder.loop(0, CYCLES * chunks) as index:
            cycle, column = index >> (chunks.bit_length() - 1), (index & (chunks - 1)) << 6
            rows = step.row("index", cycle).at(column).load("i64", LONGS) * (pes() * 8)
            offsets = rows + builder.vector("i64", [8 * lane for lane in range(LONGS)])
            value = step.row("base", cycle).at(column).gather(offsets, "i64")
            step.row("out", cycle).at(column).store(value)

    return kernel("fetch_indirect", ("out", "base", "index"), body)


def _mask_bits(nibbles: Value, width: str, mask: str) -> Value:
    """All-ones in the bits of a long that a mask nibble lets through (SDM 3.6.2).

    A "long" mask governs the half words of the MSB long, an "ll" mask the words of the 2-long.
    """
    position = {"long": (8, 4, 2, 1), "ll": (8, 4)}[mask] if width != "lsb" else (2, 1)
    field = 64 // len(position)
    result = nibbles.like(0)
    for index, weight in enumerate(position):
        governed = ((1 << field) - 1) << (64 - field * (index + 1))
        result = result | (nibbles & weight).compare("ne", 0).select(nibbles.like(governed), 0)
    return result


def _load_mask(step: Step, cycle: Value, position: Value) -> Value:
    return step.row("mask", cycle).at(position).load("i8", LONGS).zext("i64")


def _masked(name: str, operands: list[str], width: str, mask: str | None, flush: bool) -> Kernel:
    """Store under a mask: bits it stops keep the destination's content, or become zero with `flush`."""

    def body(step: Step) -> None:
        builder = step.builder
        chunks = pes() // LONGS
        with builder.loop(0, CYCLES * chunks) as index:
            cycle, position = index >> (chunks.bit_length() - 1), (index & (chunks - 1)) << 3
            offset = position << 3
            value = step.row("x", cycle).at(offset).load("i64", LONGS)
            target = step.row("out", cycle).at(offset)
            written = value.like(-1)
            if mask is not None:
                written = _mask_bits(_load_mask(step, cycle, position), width, mask)
            if width == "word":
                shift = (step.scalar("word", cycle) << 5).splat(LONGS)
                written = (written & (0xFFFFFFFF << 32)) >> shift
                value = value >> shift
            if flush:
                target.store(value & written)
            else:
                kept = target.load("i64", LONGS) & ~written
                target.store((value & written) | kept)

    return kernel(name, operands, body)


@cached_per_machine()
def store(width: str, mask: str | None = None) -> Kernel:
    """Write a result: `width` "word" (out, x, word: D0 into word 0 or 1), "long" (out, x) or "lsb"
    (out, x: the second long of a 2-long).

    `mask` None, "long" or "ll" adds the operand ``mask`` (nibbles). Under a "long" mask the LSB
    long is always written: use an unmasked store. Raises ValueError for that combination.
    """
    if width == "lsb" and mask == "long":
        raise ValueError('a "long" mask does not govern the LSB long')
    operands = ["out", "x"] + (["word"] if width == "word" else []) + (["mask"] if mask else [])
    if width != "word" and mask is None:
        return copy()
    return _masked(f"store_{width}_{mask or 'plain'}", operands, width, mask, flush=False)


@cached_per_machine()
def zero_flush(width: str, mask: str) -> Kernel:
    """Zero the bits of a result that a mask stops (SDM 3.6.2.2): out, x, mask; `width` "long" or "lsb"."""
    if width not in ("long", "lsb") or (width == "lsb" and mask == "long"):
        raise ValueError(f"no zero flush of {width} under a {mask} mask")
    return _masked(f"flush_{width}_{mask}", ["out", "x", "mask"], width, mask, flush=True)
