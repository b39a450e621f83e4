"""Changes inside the MABs: copies within each PE, and 8x8 transposes through a matrix bank, which exchange the lanes
(PE, word) of eight long words with their addresses (SDM 3.6.10)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

from mnc.mncore_backend.assembly.records import Mask, Memory, Operand
from mnc.mncore_backend.layout import Axis, Digit, Layout, LayoutError, canonical
from mnc.mncore_backend.movement.agreement import agreed
from mnc.mncore_backend.movement.feasible import Bit, atoms, places
from mnc.mncore_backend.movement.local import LONG, WORD, access, copy
from mnc.mncore_backend.movement.room import scratch
from mnc.mncore_backend.movement.scope import LEVELS, Index, analyse, filled_addresses
from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.program import Buffer, Builder
from mnc.mncore_backend.target import chip

LANES = ((Axis.PE, 2), (Axis.PE, 1), (Axis.W, 1))  # coordinate bits, most significant lane bit first
BANKS = (Memory.MATRIX_X, Memory.MATRIX_Y)
Emit = Callable[[Builder, Buffer, Buffer], None]


def local_copy(source: Layout, target: Layout, index_map: Index | None = None) -> list[Emit]:
    """Copies inside every PE, if they are the same everywhere; by words where long words are not kept together.

    The map gives the source element of every target element (None: the same), -1 where anything will do.
    """
    need = analyse(source, target, index_map)
    if not all(need.keeps(axis) for axis in LEVELS):
        return []
    taken = agreed(need.source_words, need.wanted, (0, 1, 2, 3))
    if taken is None:
        return []
    longs = filled_addresses(target, index_map, need.wanted)
    pairs = {a: (int(taken[2 * a]), int(taken[2 * a + 1])) for a in longs}
    whole, words = [], []
    for a, (first, second) in pairs.items():
        base = max(first if first >= 0 else second - 1, 0)
        if base % 2 == 0 and second in (-1, base + 1):
            whole.append((base, 2 * a))
        else:
            words += [(s if s >= 0 else max(first, second), 2 * a + j) for j, s in enumerate((first, second))]

    def emit(builder: Builder, a: Buffer, b: Buffer) -> None:
        copy(builder, a, b, whole, LONG)
        copy(builder, a, b, words[::2] + words[1::2], WORD)

    return [emit]


def transpose(source: Layout, target: Layout, index_map: Index | None = None) -> list[Emit]:
    """One 8x8 transpose per long word of the target, if every lane of it comes from the same lane of the source."""
    need = analyse(source, target, index_map)
    if not all(need.keeps(axis) for axis in LEVELS[:3]):
        return []
    shape = (*chip().shape, -1, 2)
    lane = (2 * need.at(Axis.PE) + need.at(Axis.W)).reshape(shape)
    wanted = need.wanted.reshape(shape)
    if source.replicated_bits(Axis.PE) or source.replicated_bits(Axis.W):  # any replica will do: take the first
        free = 2 * source.replicated_bits(Axis.PE) + source.replicated_bits(Axis.W)
        lane = lane & ~free
    column = agreed(lane, wanted, (0, 1, 2, 3, 5))
    rows = agreed(need.at(Axis.ADDRESS).reshape(shape), wanted, (0, 1, 2))  # [PE, long word, word]
    if column is None or rows is None:
        return []
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for a in filled_addresses(target, index_map, need.wanted):
        found = [int(r) for r in rows[:, a].reshape(-1)]
        filler = max(*found, 0)
        key = tuple(r if r >= 0 else filler for r in found)
        groups.setdefault(key, []).append((max(int(column[a]), 0), a))

    def emit(builder: Builder, x: Buffer, y: Buffer) -> None:
        for number, (key, columns) in enumerate(groups.items()):
            _emit_block(builder, BANKS[number % 2], key, columns, x, y)

    return [emit]


def _emit_block(
    builder: Builder, bank: Memory, rows: tuple[int, ...], columns: list[tuple[int, int]], x: Buffer, y: Buffer
) -> None:
    for half in (0, CYCLES):
        words = [LONG * r for r in rows[half : half + CYCLES]]
        builder.emit("gmwrite", [access(x, words, LONG)], [Operand(bank, LONG, half)])
    pending = sorted(columns)
    while pending:
        start = pending[0][0] // CYCLES * CYCLES
        chosen: dict[int, int] = {}
        for item in list(pending):
            c = item[0] - start
            if 0 <= c < CYCLES and c not in chosen:
                chosen[c] = item[1]
                pending.remove(item)
        some = next(iter(chosen.values()))
        words = [LONG * chosen.get(c, some) for c in range(CYCLES)]
        pattern = "".join("1" if c in chosen else "0" for c in range(CYCLES))
        target = access(y, words, LONG, mask=None if pattern == "1111" else Mask(pattern))
        builder.emit("gmread", [Operand(bank, LONG, start)], [target])


# Intermediate layouts ------------------------------------------------------------------------------------------------


def lane_bits(layout: Layout) -> tuple[Bit | None, ...]:
    """Which index bit each lane bit holds; None: replicas."""
    found = places(layout)
    return tuple(found.get(lane) for lane in LANES)


def with_lanes(layout: Layout, bits: tuple[Bit | None, ...]) -> Layout | None:
    """The layout with the given index bits in the lanes; what was there goes to addresses, which are numbered anew.
    None if a bit is neither in a lane nor in an address."""
    dims = atoms(layout)
    goals = {bit: lane for bit, lane in zip(bits, LANES, strict=True) if bit is not None}
    pending = set(goals)
    placed: list[tuple[tuple[int, int], int, int]] = []  # order of addresses, dimension, position
    for dim, digits in enumerate(dims):
        for i, digit in enumerate(digits):
            bit = (dim, prod(d.size for d in digits[i + 1 :]))
            movable = digit.axis in (Axis.ADDRESS, Axis.PE, Axis.W)
            if bit in pending and digit.size == 2 and movable:
                axis, stride = goals[bit]
                pending.discard(bit)
                digits[i] = Digit(2, axis, stride)
            elif movable:
                order = (1, digit.stride) if digit.axis is Axis.ADDRESS else (0, 2 if digit.axis is Axis.PE else 1)
                placed.append(((order[0], order[1] * digit.stride), dim, i))
    if pending:
        return None
    stride = 1
    for _, dim, i in sorted(placed):
        dims[dim][i] = Digit(dims[dim][i].size, Axis.ADDRESS, stride)
        stride *= dims[dim][i].size
    try:
        return replace(layout, dims=tuple(tuple(d) for d in dims))
    except LayoutError:
        return None


def address_bits(layout: Layout) -> Iterator[Bit]:
    """Index bits that addresses hold."""
    for dim, digits in enumerate(atoms(layout)):
        for i, digit in enumerate(digits):
            if digit.axis is Axis.ADDRESS and digit.size == 2:
                yield dim, prod(d.size for d in digits[i + 1 :])


def variants(layout: Layout, other: Layout) -> list[Layout]:
    """The layout with other lanes: those of `other` as far as they are at hand, with either as the rest, and none of
    the own or the other's (a stop on the way to any arrangement; where both have enough of them in addresses, it is the
    same ones for both, and one trip leads from one such stop to the other)."""
    mine, theirs = lane_bits(layout), lane_bits(other)
    within = {*address_bits(layout), *(b for b in mine if b)}
    kept = tuple(t if t is None or t in within else m for m, t in zip(mine, theirs, strict=True))
    outside = [b for b in address_bits(layout) if b not in theirs and b not in mine]
    common = [b for b in outside if b in {*address_bits(other)}]
    away = tuple([*(common if len(common) >= len(LANES) else outside), None, None, None][: len(LANES)])
    fit = tuple(t if t in within else None for t in theirs)
    found = []
    for bits in (kept, fit, away):
        made = with_lanes(layout, bits) if len({b for b in bits if b}) == sum(b is not None for b in bits) else None
        if made is not None and made.local_size <= scratch():  # a quarter of an LM
            found.append(canonical(made))
    return found


def collected(layout: Layout) -> list[Layout]:
    """The layout with everything of one hardware axis in every place of that axis: its digits become addresses."""
    found = []
    for axis in LEVELS[:3]:
        if not layout.selected_bits(axis):
            continue
        stride = max((d.size * d.stride for d in layout.digits() if d.axis is Axis.ADDRESS), default=1)
        dims = []
        for digits in layout.dims:
            made = []
            for digit in digits:
                made.append(Digit(digit.size, Axis.ADDRESS, stride) if digit.axis is axis else digit)
                stride *= digit.size if digit.axis is axis else 1
            dims.append(tuple(made))
        if stride <= scratch() // 2:  # large ones take long to work out and to carry out
            found.append(canonical(replace(layout, dims=tuple(dims))))
    return found
