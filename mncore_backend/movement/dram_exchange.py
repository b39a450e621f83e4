"""An exchange between L2Bs by way of the DRAMs, where all L2Bs want the same.

`mvb` from the DRAMs fills all L2BMs four times as fast as from a PDM, since each DRAM gives a quarter. But it takes a
few long words from each in turn: long words 16 s .. 16 s + 15 of a block of 64 lie in the DRAM of group s. So every
L2B spreads what it brings over the DRAMs, in as many transfers as there are, and it must bring whole runs of blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.movement.compose import ANY
from mnc.mncore_backend.movement.exchange_orders import in_runs, merged
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import Buffer, Builder, upper
from mnc.mncore_backend.target import CYCLES_PER_STEP, MvForm, chip

Granules = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Move:
    """Blocks that an L2B brings to the DRAM of a group: first block among the recipes, first block of 64 long words in
    the DRAM, and how many."""

    l2b: int
    group: int
    recipe: int
    place: int
    count: int


@dataclass(frozen=True, slots=True)
class DramExchange:
    """An exchange by way of the DRAMs.

    Attributes:
        recipes: blocks of granules that every L2B collects [block, granule].
        moves: what of that goes to which DRAM.
        share: long words in the DRAM of each group.
        places: numbers of the blocks as they are wanted, among those that come back.
    """

    recipes: Granules
    moves: tuple[Move, ...]
    share: int
    places: list[int]

    @property
    def size(self) -> int:
        """Long words that come back into every L2BM."""
        return self.share * chip().groups

    def emit(self, builder: Builder, l2bm: Buffer, back: Buffer) -> None:
        """Bring what the L2Bs collected in `l2bm` to all of them, into `back`."""
        dram = builder.program.buffer("exchanged", self.share, (Memory.DRAM,), alignment=MV_UNIT, pinned=True)
        each = chip().l2bs_per_group
        for move in self.moves:
            origin = upper(l2bm, move.recipe * MV_UNIT, group=move.l2b // each, l2b=move.l2b % each)
            target = upper(dram, move.place * MV_UNIT, group=move.group)
            builder.emit("mvp", [origin], [target], size=move.count * MV_UNIT)
        builder.emit("mvb", [upper(dram)], [upper(back)], size=self.size)


def dram_exchange(blocks: Granules, span: int, replicas: int, together: int) -> DramExchange | None:
    """How L2Bs get `blocks` [L2B, block, granule], whose numbers are those of an L2B times `span` and what it brings;
    None where they do not all want the same, a block comes from several, or that takes longer than by way of a PDM.
    `replicas`: bits of the L2B that hold the same; `together`: blocks that stay together on the way down."""
    owners = np.where(blocks == ANY, ANY, blocks // span & ~replicas)
    common = np.where(blocks == ANY, ANY, owners * span + blocks % span).max(axis=0)
    wanted = common != ANY
    if ((blocks != ANY) & ((owners != common // span) | (blocks % span != common % span))).any():
        return None
    owner = np.where(wanted, common // span, ANY).max(axis=1)
    if (wanted & (common // span != owner[:, np.newaxis])).any():
        return None
    distinct, slot = merged(np.where(wanted, common % span, ANY))
    units = np.maximum(0, owner) * len(distinct) + slot
    brought, places = in_runs(units[np.newaxis], wanted.any(axis=1), together)
    assert places is not None
    return _spread(distinct[brought[0] % len(distinct)], brought[0] // len(distinct), places)


def _spread(blocks: Granules, owner: NDArray[np.int64], places: list[int]) -> DramExchange | None:
    """The exchange that brings `blocks` [block, granule], in this order, from their owners; None as above."""
    groups, width = chip().groups, blocks.shape[1]
    missing = -len(blocks) % groups
    blocks = np.concatenate([blocks, np.full((missing, width), ANY, blocks.dtype)])
    owner = np.concatenate([owner, np.repeat(owner[-1:], missing)]).reshape(-1, groups)
    if width % groups or (owner != owner[:, :1]).any():
        return None
    parts = blocks.reshape(-1, groups, groups, width // groups).transpose(2, 0, 1, 3).reshape(-1, width)
    recipes, slot = merged(parts)
    first = np.full(len(recipes), len(parts))
    np.minimum.at(first, slot, np.arange(len(parts)))
    order = np.argsort(first)
    moves = _moves(np.argsort(order)[slot].reshape(groups, -1), owner[:, 0])
    share = len(owner) * MV_UNIT
    if _steps(moves, share) >= _steps_by_pdm(share * groups):
        return None
    return DramExchange(recipes[order], moves, share, places)


def _moves(slot: NDArray[np.int64], owner: NDArray[np.int64]) -> tuple[Move, ...]:
    """Runs of blocks that lie together where they come from and in the DRAM [group, block]. Those of all L2Bs to
    different DRAMs follow each other, so that all DRAMs are busy."""
    found = []
    for group, row in enumerate(slot.tolist()):
        blocks = zip(range(len(row)), row, owner.tolist(), strict=True)
        for (l2b, _), run in groupby(blocks, key=lambda block: (block[2], block[1] - block[0])):
            places = list(run)
            found.append(Move(l2b, group, places[0][1], places[0][0], len(places)))
    each, groups = chip().l2bs_per_group, chip().groups
    return tuple(sorted(found, key=lambda m: ((m.group - m.l2b // each) % groups, m.l2b % each, m.l2b)))


def _steps(moves: Sequence[Move], share: int) -> float:
    """Steps of the transfers to the DRAMs and back, roughly: their issue, or what the busiest DRAM takes."""
    rate = _form("P6").between_groups_rate
    back = _form("B2").data_cycles(share * chip().groups)
    return max(len(moves) * chip().mv_issue_interval_steps, share / rate / CYCLES_PER_STEP) + back / CYCLES_PER_STEP


def _steps_by_pdm(size: int) -> float:
    """Steps in which a PDM gives so many long words to all L2BMs, roughly."""
    return _form("B1").data_cycles(size) / CYCLES_PER_STEP


def _form(identifier: str) -> MvForm:
    """A form of an MV by its name in the machine's table."""
    return next(form for form in chip().mv_forms if form.identifier == identifier)
