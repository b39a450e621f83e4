"""Reads of local memory at addresses that every PE computes: through T, one address per cycle (SDM 3.6.1.6)."""

from collections.abc import Sequence

import numpy as np

from mnc.mncore_backend.movement.local import LONG, WORD, T, access, constant
from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.program import Buffer, Builder

_READ = {WORD: "ipassa", LONG: "lpassa"}

Point = tuple[int, int, int]
"""Long-word offsets of one read: in the table, in the addresses, in the target."""


def emit_lookup(
    builder: Builder,
    table: Buffer,
    address: Buffer,
    target: Buffer,
    sizes: Sequence[int],
    steps: Sequence[Sequence[int]],
    *,
    by_words: bool,
) -> None:
    """target[i] = table[i + address[i]] over loops of `sizes`; `steps` are the long words between iterations in the
    table, the addresses and the target. Addresses count words; `by_words`: the two words of a long word have their
    own."""
    grid = np.indices(sizes).reshape(len(sizes), int(np.prod(sizes)))
    offsets = np.array(steps, np.int64).reshape(3, len(sizes)) @ grid
    shift = constant(builder, 32, "shift") if by_words else None
    for word in range(2 if by_words else 1):
        width = WORD if by_words else LONG
        known: tuple[int, ...] | None = None
        for group in _groups([(int(a), int(b), int(c)) for a, b, c in offsets.T]):
            wanted = tuple(LONG * point[1] for point in group)
            if wanted != known:
                known = wanted
                index = access(address, wanted, LONG)
                if shift is not None and word == 0:  # T takes the low word
                    builder.emit("ullsr", [index, access(shift, [0], LONG)], [T])
                else:
                    builder.emit("lpassa", [index], [T])
            read = access(table, [LONG * point[0] + word for point in group], width, t_indirect=True)
            write = access(target, [LONG * point[2] + word for point in group], width)
            builder.emit(_READ[width], [read], [write])


def _groups(points: Sequence[Point]) -> list[list[Point]]:
    """Reads in fours such that T changes rarely: the same four addresses for many reads, or one address in all four
    cycles where that takes fewer steps. The last group of a run repeats its last read."""
    by_address: dict[int, list[Point]] = {}
    for point in points:
        by_address.setdefault(point[1], []).append(point)
    lines = list(by_address.values())
    alike = len({len(line) for line in lines}) == 1
    side_by_side = sum(1 + len(lines[i]) for i in range(0, len(lines), CYCLES))
    one_by_one = sum(1 + -(-len(line) // CYCLES) for line in lines)
    groups: list[list[Point]] = []
    if alike and side_by_side <= one_by_one:
        for start in range(0, len(lines), CYCLES):
            groups += [list(column) for column in zip(*lines[start : start + CYCLES], strict=True)]
    else:
        for line in lines:
            groups += [line[i : i + CYCLES] for i in range(0, len(line), CYCLES)]
    return [[*group, *[group[-1]] * (CYCLES - len(group))] for group in groups]
