"""What one slice of a trip collects in L2BM: which L1Bs and MABs give it, and through which image of L1BM it passes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.movement.compose import ANY, PES, NoWay, fill, slack
from mnc.mncore_backend.movement.estimate import counted
from mnc.mncore_backend.movement.paths import Path
from mnc.mncore_backend.movement.room import half_of_l1bm, half_of_l2bm
from mnc.mncore_backend.movement.staging import staging
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, SHARE_UNIT, PeStep, distinct_unit
from mnc.mncore_backend.program import Buffer, Builder, upper
from mnc.mncore_backend.target import chip

BLOCK = MV_UNIT // PES  # granules of one l2bm@k and of one MV unit
CHUNK = BLOCK // CYCLES  # granules of one cycle of l2bm@k

Granules = NDArray[np.int64]


class NoRoom(NoWay):
    """The image could be composed if it were smaller."""


@dataclass(frozen=True, slots=True)
class Hop:
    """The pieces of one slice: long words per PE of the source and the way down."""

    source: Layout
    path: Path
    part: list[PeStep]

    @property
    def longs(self) -> int:
        """Granule numbers of one MAB: its long words per PE, rounded up to a power of two as in `Origin.granule`."""
        return 1 << (self.source.local_size - 1).bit_length()

    @property
    def span(self) -> int:
        """Granule numbers of one L1B."""
        return chip().axis_size[Axis.MAB] * self.longs


def collect_l2bm(own: Hop, wanted: Granules, *, by_rows: bool = False) -> Callable[[Builder, Buffer], Buffer]:
    """PE -> L1BM -> L2BM for an L2BM image in granules (codes with the L1B on top). `by_rows`: L1BM takes an address of
    all MABs at a time, and what a cycle of an L2BM transfer brings is picked from that. Raises NoWay."""
    l1bs, share = chip().l1bs_per_l2b, SHARE_UNIT // PES  # granules of each L1B in a block of l2bmd
    whole = len(wanted) % (share * l1bs) == 0
    spread = wanted.reshape(-1, CYCLES, l1bs, share // CYCLES) if whole else None
    if by_rows:
        inner, moves = _slots_of_rows(wanted, own)
    elif spread is not None and _is_distributed(spread, own.span):
        inner = np.where(spread == ANY, ANY, spread % own.span).max(axis=2).reshape(-1)
        moves = None
    else:
        unit = _unit(wanted, own.span)
        inner, moves = _slots(wanted, own.span, unit)

    if slack(len(inner)) > half_of_l1bm() or len(wanted) * PES > half_of_l2bm():
        raise NoRoom("more data than the staging memories hold")

    def emit(builder: Builder, source: Buffer) -> Buffer:
        l1bm = staging(builder, Memory.L1BM, slack(len(inner)) + MV_UNIT, "hop")
        fill(builder, source, l1bm, inner, own.longs, own.source.replicated_bits(Axis.MAB))
        l2bm = staging(builder, Memory.L2BM, len(wanted) * PES + MV_UNIT, "hop")
        if counted(builder, len(inner) // share if moves is None else len(moves)):
            return l2bm
        if moves is None:
            for block in range(len(inner) // share):
                builder.emit("l2bmd", [upper(l1bm, SHARE_UNIT * block)], [upper(l2bm, distinct_unit() * block)])
            return l2bm
        for target, (k, slot) in moves:
            builder.emit("l2bm", [upper(l1bm, slot)], [upper(l2bm, target)], modifier=f"@{k}")
        return l2bm

    return emit


def _is_distributed(spread: Granules, span: int) -> bool:
    """Whether every L1B fills its own place of l2bmd blocks [block, cycle, L1B, granule] in the same way."""
    fits = (spread == ANY) | (spread // span == np.arange(spread.shape[2]).reshape(1, 1, -1, 1))
    inner = np.where(spread == ANY, ANY, spread % span)
    return bool(fits.all() and ((inner == inner.max(axis=2, keepdims=True)) | (inner == ANY)).all())


def _unit(wanted: Granules, span: int) -> int:
    """Granules that one l2bm@k may bring: a whole step, or one cycle when L1Bs alternate faster. Raises NoWay."""
    for unit in (BLOCK, CHUNK):
        blocks = np.where(wanted == ANY, ANY, wanted // span).reshape(-1, unit)
        top = blocks.max(axis=1, keepdims=True)
        if ((blocks == top) | (blocks == ANY)).all():
            return unit
    raise NoWay("L1Bs alternate faster than an L2BM transfer can follow")


def _slots(wanted: Granules, span: int, unit: int) -> tuple[Granules, list[tuple[int, tuple[int, int]]]]:
    """L1BM image of the distinct recipes, and for every run of `unit` granules of the L2BM image its offset there, the
    L1B and the long-word offset in L1BM. Runs are in ascending order: shorter ones rely on being overwritten."""
    slots: dict[tuple[int, ...], int] = {}
    moves = []
    blocks = wanted.reshape(-1, unit)
    places = np.maximum(0, blocks.max(axis=1)) // span
    recipes = np.where(blocks == ANY, ANY, blocks % span)
    for number, (k, recipe) in enumerate(zip(places.tolist(), map(tuple, recipes.tolist()), strict=True)):
        slot = slots.setdefault(recipe, len(slots))
        moves.append((number * unit * PES, (k, slot * unit * PES)))
    image = np.array([c for recipe in slots for c in recipe], np.int64)
    tail = np.full(BLOCK - unit, ANY, np.int64)  # the last short run reads a whole step
    return np.concatenate([image, tail]), moves


def _slots_of_rows(wanted: Granules, own: Hop) -> tuple[Granules, list[tuple[int, tuple[int, int]]]]:
    """As `_slots`, with an L1BM image of whole rows of l1bmd. Raises NoWay unless every chunk is of neighbouring MABs
    of one address."""
    chunks = wanted.reshape(-1, CHUNK)
    top = chunks.max(axis=1, keepdims=True)
    l1b, mab, address = top // own.span, top % own.span // own.longs // CHUNK * CHUNK, top % own.longs
    expected = l1b * own.span + (mab + np.arange(CHUNK)) * own.longs + address
    if own.source.replicated_bits(Axis.MAB) or ((chunks != ANY) & (chunks != expected)).any():
        raise NoWay("what is collected at a time is not of neighbouring MABs")
    used = chunks.max(axis=1) != ANY
    addresses = np.unique(address[used])
    mabs = chip().axis_size[Axis.MAB]
    slots = (np.searchsorted(addresses, address) * mabs + mab) * PES
    columns = (column.reshape(-1)[used].tolist() for column in (l1b, slots))
    places = (np.flatnonzero(used) * CHUNK * PES).tolist()
    moves = [(place, (k, slot)) for place, k, slot in zip(places, *columns, strict=True)]
    return np.add.outer(addresses, np.arange(mabs) * own.longs).reshape(-1), moves
