"""Words that PEs take from another MAB of their L1B: all MABs give at once, and each receives what another one gave,
a fixed number of MABs before it (l1bmd+n by way of the turnaround register, SDM 3.6.8).

Windows over an image have halos that neighbours hold. What comes from other L1Bs or L2Bs besides is brought to one of
the MABs that want it, and the others take it from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Mask, Memory, Operand
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.movement.local import LONG, access, constant
from mnc.mncore_backend.movement.patterns import batched
from mnc.mncore_backend.movement.scope import Index, Need
from mnc.mncore_backend.movement.tables import Constants, Kept, load_words
from mnc.mncore_backend.program import Buffer, BufferOperand, Builder, local, with_mask
from mnc.mncore_backend.target import chip

BITS = 32
"""Masks of one long word of the table: those of its MSB word."""
MOST_WAYS = 4
"""Ways in which PEs may get one long word; more of them are left to tables of addresses."""
NONE = -1


@dataclass(frozen=True, slots=True)
class Shift:
    """Long words that some PEs take from the MAB `turn` places before theirs (0: from themselves).

    Attributes:
        behind: whether they are read from the target, where they have been brought to, and not from the source.
        chosen: the PEs, [L2B, L1B, MAB, PE].
        pairs: addresses of long words, where from and where to.
    """

    turn: int
    behind: bool
    chosen: NDArray[np.bool_]
    pairs: list[tuple[int, int]]


class Neighbours:
    """What MABs have that others of their L1B want. `_near`: for every long word [L2B, L1B, MAB, PE, longs] of the
    target the address that it comes from, and above these bits the number of MABs that it passes; NONE if no shift of
    the source brings it."""

    def __init__(self, need: Need) -> None:
        self.need = need
        code, first, second = need.code, need.place[..., ::2], need.place[..., 1::2]
        word = code.field(Axis.W)
        whole = need.wanted[..., ::2] & need.wanted[..., 1::2] & (first & word == 0) & (first ^ second == word)
        way = need.way[..., ::2]
        far = way & (code.field(Axis.L2B) | code.field(Axis.L1B)) != 0
        whole &= way & code.field(Axis.PE) == 0
        self._bits = max(code.address_bits, first.shape[-1].bit_length())
        self._turn = (need.own(Axis.MAB) - code.get(first, Axis.MAB)) % chip().mabs_per_l1b
        near = self._turn.astype(np.int64) << self._bits | code.get(first, Axis.ADDRESS)
        self._near = np.where(whole & ~far, near, NONE)
        self._far = whole & far
        self._known: list[dict[int, bytes]] = []  # what `_chosen` finds in `_near`

    def shifts(self, *, behind: bool) -> tuple[list[Shift], Need]:
        """Shifts that bring whole long words from MABs of the same L1B, and what is left. With `behind` also what
        another MAB gets from another L1B or L2B: all that is left must be brought first."""
        need, bits = self.need, self._bits
        *shape, longs = self._near.shape
        by_target = np.ascontiguousarray(self._near.reshape(-1, longs).T)
        self._known = self._known or [_chosen(own) for own in by_target]
        chosen = self._known
        if behind and self._far.any():
            others = self._far.reshape(-1, longs).any(axis=0).tolist()
            by_target = np.ascontiguousarray(self._with_holders().reshape(-1, longs).T)
            chosen = [_chosen(by_target[i]) if other else chosen[i] for i, other in enumerate(others)]
        found: dict[tuple[int, bytes], list[tuple[int, int]]] = {}
        taken = np.zeros(need.wanted.shape, np.bool_)
        for target, masks in enumerate(chosen):
            for value, mask in masks.items():
                found.setdefault((value >> bits, mask), []).append((value & (1 << bits) - 1, target))
            if masks:
                taken[..., 2 * target : 2 * target + 2] = (by_target[target] != NONE).reshape(*shape, 1)
        shifts = [
            Shift(way % chip().mabs_per_l1b, way >= chip().mabs_per_l1b, _unpacked(mask, shape), pairs)
            for (way, mask), pairs in sorted(found.items())
        ]
        return shifts, replace(need, wanted=need.wanted & ~taken)

    def _with_holders(self) -> Index:
        """The same, and for what comes from farther the address in the target of another MAB, with the number of all
        MABs added to that of those that it passes."""
        longs = self._near.shape[-1]
        holder = _holders(self.need, self._far, self._turn)
        turn = (self.need.own(Axis.MAB) - holder // longs) % chip().mabs_per_l1b
        return np.where(holder != NONE, (turn + chip().mabs_per_l1b) << self._bits | holder % longs, self._near)


def _chosen(ways: Index) -> dict[int, bytes]:
    """For every way by which PEs get a long word, in ascending order, a mask of those PEs; none if there are too many
    ways."""
    values = [value for value in np.unique(ways).tolist() if value != NONE]
    return {value: np.packbits(ways == value).tobytes() for value in values} if len(values) <= MOST_WAYS else {}


def _unpacked(mask: bytes, shape: Sequence[int]) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(mask, np.uint8), count=prod(shape)).astype(bool).reshape(shape)


def _holders(need: Need, wanted: NDArray[np.bool_], turn: Index) -> Index:
    """For the `wanted` long words which other one of the same PE of some MAB of the L1B holds the same: MAB * long
    words + address; NONE where there is none, or where this is the one that the others take it from. That is one that
    passes as many MABs (`turn`) as most do. Replicas are kept apart: they can be brought to several MABs at once."""
    code = need.code
    size = 1 << code.shift(Axis.L2B) + code.field(Axis.L2B).bit_count()
    l2b, l1b, mab, pe, longs = np.ogrid[tuple(slice(n) for n in wanted.shape)]
    key = need.place[..., ::2] + size * ((l2b * chip().axis_size[Axis.L1B] + l1b) * chip().axis_size[Axis.PE] + pe)
    places = np.broadcast_to(mab * wanted.shape[-1] + longs, wanted.shape)[wanted]
    keys, turns = key[wanted], turn[wanted]
    order = np.lexsort([-np.bincount(turns, minlength=chip().mabs_per_l1b)[turns], keys])
    first = np.concatenate([[True], np.diff(keys[order]) != 0])
    found = np.full(len(keys), NONE, np.int64)
    found[order] = np.where(first, NONE, places[order][np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))])
    result = np.full(wanted.shape, NONE, np.int64)
    result[wanted] = found
    return result


def emit_shifts(
    builder: Builder,
    shifts: Sequence[Shift],
    source: Buffer,
    target: Buffer,
    fresh: set[int],
    constants: Constants,
    kept: Kept,
) -> None:
    """Make the shifts. Of `fresh` long words of the target nothing is written yet, and PEs that take nothing get zeros;
    in others they keep what is there."""
    masks = list(dict.fromkeys(shift.chosen.tobytes() for shift in shifts if not shift.chosen.all()))
    table = _table(builder, shifts, masks, constants, kept) if masks else None
    last, mask = b"", None
    for shift in sorted(shifts, key=lambda shift: (shift.behind, shift.chosen.tobytes())):
        if shift.chosen.all():
            own = None
        else:
            assert table is not None
            if shift.chosen.tobytes() != last:
                last = shift.chosen.tobytes()
                mask = _load_mask(builder, table, masks.index(last))
            own = mask
        for new in (True, False):
            for part in batched([pair for pair in shift.pairs if (pair[1] in fresh) is new]):
                read = access(target if shift.behind else source, [LONG * a for a, _ in part], LONG)
                write = access(target, [LONG * b for _, b in part], LONG)
                if not new and own is not None:
                    write = with_mask(write, own)
                _move(builder, shift.turn, read, write, own if new else None)
        fresh = fresh - {target for _, target in shift.pairs}


def _move(builder: Builder, turn: int, read: BufferOperand, write: BufferOperand, flush: Mask | None) -> None:
    if turn:
        register = Operand(Memory.TURNAROUND, LONG)
        builder.emit("l1bmd", [read], [register], modifier=f"+{turn}")
        builder.emit("l1bmd", [register], [write], modifier=f"+{turn}", zero_flush=flush)
        return
    held = local(builder.temporary(len(read.offsets)), range(len(read.offsets)))
    builder.emit("lpassa", [read], [held])
    builder.emit("lpassa", [held], [write], zero_flush=flush)


def _table(builder: Builder, shifts: Sequence[Shift], masks: list[bytes], constants: Constants, kept: Kept) -> Buffer:
    """Bits that are set where a mask does not choose a PE, in the MSB words of as many long words as it takes."""
    chosen = {shift.chosen.tobytes(): shift.chosen for shift in shifts}
    shape = shifts[0].chosen.shape
    words = np.zeros((*shape, 2 * -(-len(masks) // BITS)), np.uint32)
    for number, mask in enumerate(masks):
        words[..., number // BITS * 2] |= (~chosen[mask]).astype(np.uint32) << np.uint32(number % BITS)
    return load_words(builder, words, constants, kept)


def _load_mask(builder: Builder, table: Buffer, number: int) -> Mask:
    """Let a mask register pass the PEs whose bit is clear (SDM 3.6.2: the flag of zero)."""
    entry = builder.masks[0]
    builder.masks.rotate(-1)
    bit = constant(builder, 1 << number % BITS, "chosen")
    builder.emit("land", [local(table, [number // BITS]), local(bit, [0])], [Operand(Memory.MASK, address=entry)])
    return Mask(entry=entry)
