"""The three hops between DRAM and the PEs: which instructions a layout admits, what they move, and where each long word
comes to lie. Shared by loads and stores."""

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.movement.room import mv_slice, slice_of_l1bm
from mnc.mncore_backend.movement.transfers import (
    CYCLES,
    L2BM_UNIT,
    SHARE_UNIT,
    Family,
    Form,
    PeStep,
    pe_families,
    pe_steps,
    placed,
)
from mnc.mncore_backend.target import MABS_PER_QUAD, PES_PER_MAB, chip

Index = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Path:
    """A choice for the two inner hops. `sets` are the representatives of the L1B sets that get distinct data when the
    broadcast instruction is used ((0,) = one broadcast to all); None = every L1B distinct through l2bmd."""

    family: Family
    sets: tuple[int, ...] | None
    free_bits: int = 0  # don't-care bits of the L1B number within a set

    @property
    def unit(self) -> int:
        """Long words of L1BM that one L2BM instruction moves."""
        return SHARE_UNIT if self.sets is None else L2BM_UNIT

    @property
    def widening(self) -> int:
        """Long words of L2BM per long word of L1BM."""
        return chip().l1bs_per_l2b if self.sets is None else len(self.sets)

    def set_modifier(self, representative: int) -> str:
        """The ``@b0/i`` suffix (OPEN-07), empty for all L1Bs."""
        if self.free_bits == chip().l1bs_per_l2b - 1:
            return ""
        return f"@{representative}/{self.free_bits}" if self.free_bits else f"@{representative}"


def paths(layout: Layout, *, upward: bool) -> list[Path]:
    """Every combination of inner hops that the replicas of the layout admit."""
    inside = MABS_PER_QUAD - 1
    quads = chip().mabs_per_l1b - 1 & ~inside
    copied_bits = {"r": (Axis.MAB, inside), "q": (Axis.MAB, quads), "p": (Axis.PE, PES_PER_MAB - 1)}

    def admits(family: Family) -> bool:
        needed = (copied_bits[name] for name in family.copied)
        return all(layout.replicated_bits(axis) & bits == bits for axis, bits in needed)

    free = layout.replicated_bits(Axis.L1B)
    sets = tuple(b for b in range(chip().l1bs_per_l2b) if b & free == 0)
    families = [f for f in pe_families() if admits(f) and not (upward and f.short.up is None)]
    return [path for f in families for path in (Path(f, None), Path(f, sets, free))]


def used_addresses(held: Index) -> list[int]:
    """Long-word addresses that hold an element in some PE. `held` is a placement [L2B, L1B, MAB, PE, words]."""
    return [int(a) for a in np.flatnonzero((held >= 0).any(axis=(0, 1, 2, 3)).reshape(-1, 2).any(axis=1))]


def slices(path: Path, addresses: list[int], *, two_long: bool, times: int = 1) -> list[list[PeStep]]:
    """Steps of the PE hop, cut into slices that fit the staging memory; `times`: slices that many times as long."""
    steps = pe_steps(addresses, path.family, two_long=two_long)
    most = slice_of_l1bm() * times
    result: list[list[PeStep]] = [[]]
    filled = 0
    for step in steps:
        if filled + step.form.block > most:
            result.append([])
            filled = 0
        result[-1].append(step)
        filled += step.form.block
    return result


def mv_groups(sizes: list[int], limit: int | None = None) -> list[range]:
    """Slices that share an MV of at most `limit` long words (None: `mv_slice`), given the long words of L2BM that each
    takes."""
    most = mv_slice() if limit is None else limit
    groups: list[range] = []
    first, filled = 0, 0
    for i, size in enumerate(sizes):
        if i > first and filled + size > most:
            groups.append(range(first, i))
            first, filled = i, 0
        filled += size
    return [*groups, range(first, len(sizes))]


def l1bm_size(path: Path, steps: list[PeStep]) -> int:
    """Long words of L1BM that carry data of a slice, rounded up to whole L2BM instructions."""
    offset, last = placed(steps)[-1]
    return -(-(offset + last.data) // path.unit) * path.unit


def l1bm_extent(path: Path, steps: list[PeStep]) -> int:
    """Long words of L1BM that the steps of a slice touch, idle cycles included, rounded up likewise."""
    offset, last = placed(steps)[-1]
    return -(-(offset + last.form.block) // path.unit) * path.unit


def l1bm_index(held: Index, steps: list[PeStep], size: int, words: int = 2) -> Index:
    """What a slice holds in each L1BM: [L2B, L1B, long word, word]. `words`: numbers that `held` has per long word."""
    result = np.full((*chip().shape[:2], size, words), -1, held.dtype)
    for form, run in groupby(placed(steps), key=lambda item: item[1].form):
        alike = list(run)
        blocks = _blocks(held, form, [step for _, step in alike], words)
        for number, (offset, step) in enumerate(alike):
            result[:, :, offset : offset + step.data] = blocks[:, :, number, : step.data]
    return result


def _blocks(held: Index, form: Form, steps: list[PeStep], words: int) -> Index:
    """Blocks of steps of one form [L2B, L1B, step, long word, word]: lower axes renamed into the fields of the form."""
    l2bs, l1bs, mabs, pes = chip().shape
    longs = held.reshape(l2bs, l1bs, mabs // MABS_PER_QUAD, MABS_PER_QUAD, pes, -1, words)
    names = [name for name in ("q", "r", "p") if name in form.names]
    first = tuple(slice(None) if name in names else 0 for name in ("q", "r", "p"))
    halves = range(2 if form.two_long else 1)
    taken = np.array([[[a + h for h in halves] for a in step.longs] for step in steps])
    picked = longs[:, :, *first].take(taken, axis=2 + len(names))  # L B (q r p) step c h w
    for number, step in enumerate(steps):
        if step.valid < CYCLES:
            picked[..., number, step.valid :, :, :] = -1
    names = ["L", "B", *names, "step", "c", "h", "w"]
    if "h" not in form.names:
        picked = picked[..., 0, :]
        names.remove("h")
    order = ["L", "B", "step", *form.names, "w"]
    return np.transpose(picked, [names.index(n) for n in order]).reshape(l2bs, l1bs, len(steps), -1, words)


def l2bm_index(path: Path, l1bm: Index) -> Index:
    """What a slice holds in each L2BM: [L2B, long word, word], before rounding to MV units."""
    l2bs, l1bs, size, words = l1bm.shape
    if path.sets is None:
        blocks = l1bm.reshape(l2bs, l1bs, size // SHARE_UNIT, CYCLES, -1, words).transpose(0, 2, 3, 1, 4, 5)
        return blocks.reshape(l2bs, size * l1bs, words)
    return l1bm[:, list(path.sets)].reshape(l2bs, -1, words)


def l2bm_size(path: Path, steps: list[PeStep]) -> int:
    """Long words of L2BM of a slice; a multiple of the MV unit because the L2BM instructions move as much."""
    return l1bm_size(path, steps) * path.widening


def hop_steps(path: Path, steps: list[PeStep]) -> int:
    """PE steps of the two inner hops of a slice."""
    return len(steps) + l1bm_extent(path, steps) // path.unit * (1 if path.sets is None else len(path.sets))
