"""How far the words of a tensor travel from one layout to another, and how many of them pass each level: what the
prices of movements are powers of."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.pricing.facts import IN_ADDRESS, LEVELS, REPLICAS, Facts, axis_of
from mnc.mncore_backend.pricing.hops import UNIT, cheapest
from mnc.mncore_backend.target import PES_PER_MAB, chip

L2B, L1B, MAB, PE, W = range(len(LEVELS))


def _scratch() -> int:
    """Long words that arrive in a PE before it picks from them."""
    return chip().memories[Memory.LM0].longs // 4


AMOUNTS = (
    "source longs", "target longs", "tile longs", "collected in an L1B", "collected in an L2B", "collected",
    "wanted by an L2B", "passing a PE", "wanted passing a PE", "picked", "brought to L2BMs", "steps from L2BM",
    "steps to the PEs",
)  # fmt: skip
"""Long words of a PE, of an L1BM, of an L2BM and of all of them, and steps, if a movement took a straight way."""
ORIGINS = ("left", "from addresses", "from other places", "cut across")
"""Coordinate bits that hold another bit of an index afterwards: what they held before has to go; what they hold then
comes from an address, from another coordinate, or is a bit of no digit of the source."""
COUNTS = (
    "torn", "PE kept", "MAB kept", "L1B kept", "MABs alike", "padded source", "padded target",
    *(f"{axis} {origin}" for axis in ("L2B", "L1B", "MAB", "lane") for origin in ORIGINS),
    "L2Bs", "L1Bs", "MABs", "MABs of the source",
)  # fmt: skip
FEATURES = ("always", *AMOUNTS, *COUNTS, *(f"{name}, squared" for name in AMOUNTS))


@dataclass(frozen=True, slots=True)
class Crossing:
    """The highest axis that words cross, by its number in `LEVELS` (5: none), and features in the order of `FEATURES`:
    1, logarithms of amounts to the base of 2, yes or no, counts of coordinate bits, and squares of the logarithms.
    `is_copy`: every PE has what it needs, all at the same addresses, and no place is empty."""

    level: int
    features: list[float]
    is_copy: bool


@dataclass(slots=True)
class _Changes:
    """Per axis, how many of its coordinate bits hold something else afterwards, by origin; `kept`: bits of an L2B that
    hold the same."""

    left: list[int]
    from_address: list[int]
    from_place: list[int]
    across: list[int]
    kept: int = 0

    @property
    def all(self) -> tuple[list[int], ...]:
        return self.left, self.from_address, self.from_place, self.across


def _changes(source: Facts, target: Facts) -> _Changes:
    found = _Changes(*([0] * len(LEVELS) for _ in ORIGINS))  # pyright: ignore[reportArgumentType]
    for axis, before, after in zip(axis_of(), source.holds, target.holds, strict=True):
        if before == after:
            found.kept += axis == L2B and before != REPLICAS
            continue
        found.left[axis] += before != REPLICAS
        if after != REPLICAS:
            origin = source.where.get(after)
            own = found.across if origin is None else found.from_address if origin == IN_ADDRESS else found.from_place
            own[axis] += 1
    return found


def crossing(source: Facts, target: Facts, *, longs: int = 0, crossed: int = IN_ADDRESS) -> Crossing:
    """From one layout of a tensor to another.

    Args:
        longs: long words per PE that are wanted, if not those of the target.
        crossed: the highest axis that words cross in any case.
    """
    changes = _changes(source, target)
    stays = [not bits and crossed != axis for axis, bits in enumerate(changes.left)]
    level = stays.index(False) if False in stays else IN_ADDRESS
    alike = source.mabs == 1
    amounts = [log2(own) for own in _amounts(source, target, longs or target.longs, stays, changes)]
    counts = [
        source.holds[-1] != target.holds[-1], stays[PE], stays[MAB], stays[L1B], alike,
        source.is_padded, target.is_padded,
        *(own[axis] for axis in (L2B, L1B, MAB) for own in changes.all), *(own[PE] + own[W] for own in changes.all),
        log2(target.l2bs), log2(target.l1bs), log2(target.mabs), log2(source.mabs),
    ]  # fmt: skip
    padded = source.is_padded or target.is_padded  # places that differ in what they hold take index tables
    is_copy = level == IN_ADDRESS and source.holds == target.holds and not padded
    return Crossing(level, [1.0, *amounts, *counts, *[own * own for own in amounts]], is_copy)


def _amounts(source: Facts, target: Facts, longs: int, stays: Sequence[bool], changes: _Changes) -> tuple[float, ...]:
    """In the order of `AMOUNTS`."""
    alike = source.mabs == 1
    row = chip().l1bm_families["d"].rate
    width = row if stays[MAB] and not alike else PES_PER_MAB if stays[PE] else 1
    in_l1b = source.longs * (PES_PER_MAB if alike else row)
    in_l2b = in_l1b * (1 if stays[L1B] else source.l1bs)
    whole = in_l2b * (1 if stays[L2B] else source.l2bs)
    wanted = shared = whole
    if not stays[L2B]:  # an L2B gets units of which it wants some word
        parts = changes.across[L2B] + changes.from_address[L2B] + changes.from_place[L2B] + changes.kept
        wanted = shared = max(UNIT, whole >> parts)
    elif not stays[L1B]:
        shared = max(UNIT, whole >> changes.across[L1B] + changes.from_address[L1B])
    passing = wanted / width
    hops = cheapest(target)
    brought = hops.longs * (1 if stays[L2B] else target.l2bs)
    return (
        source.longs, target.longs, longs, in_l1b, in_l2b, whole, wanted, passing, shared / width,
        longs * (1 + passing / _scratch()), brought, hops.l2bm, hops.l1bm,
    )  # fmt: skip
