"""In which order L2Bs collect the blocks that they exchange, and in which order these are brought to who wants them.

MVs bring what lies together: an exchange takes as many of them as there are breaks in the order.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.movement.compose import ANY

Units = NDArray[np.int64]
Brought = tuple[Units, list[int] | None]
"""What is brought [L2B, i], and where among it each block is that the way down wants; None: in its order."""


def orders(
    slot: Units, rank: Units, wanted: NDArray[np.bool_], together: int
) -> Iterator[tuple[NDArray[np.int64], list[Brought]]]:
    """Orders of the blocks that every L2B collects, given the block that each L2B wants [L2B, i] and the number of the
    L2B that it comes from, with orders in which they are brought: units are rank * blocks + place in that order.
    `wanted` [i] says whether anybody wants something, `together` how many stay in one block of the way down."""
    count = int(slot.max()) + 1
    fewest = None
    for order in (np.arange(count), _by_readers(slot)):
        units = rank * count + np.argsort(order)[slot]
        choices: list[Brought] = [in_runs(units, wanted, together), (units, None)]
        if np.array_equal(choices[0][0], units):
            del choices[0]
        breaks = min(int((np.diff(brought) != 1).sum()) for brought, _ in choices)
        if fewest is None or breaks < fewest:
            fewest = breaks
            yield order, choices


def _by_readers(slot: Units) -> NDArray[np.int64]:
    """An order of the blocks that L2Bs collect, given the one that each wants [L2B, i]: those that the same L2Bs want
    lie together, in the order in which they are wanted, so that few MVs take them."""
    readers = np.zeros((slot.max() + 1, len(slot)), np.bool_)
    readers[slot, np.arange(len(slot)).reshape(-1, 1)] = True
    first = np.full(len(readers), slot.size)
    np.minimum.at(first, slot, np.broadcast_to(np.arange(slot.shape[1]), slot.shape))
    return np.lexsort([first, *readers.T])


def merged(recipes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct rows, and which of them stands for each row: one that agrees with it wherever it is not ANY."""
    distinct, which = unique_rows(recipes)
    known = (distinct != ANY).sum(axis=1)
    by_known = np.argsort(-known, kind="stable").tolist()
    whole = np.count_nonzero(known == distinct.shape[1])  # none of these stands for another
    kept: list[int] = by_known[:whole]
    stands = np.zeros(len(distinct), np.int64)
    stands[kept] = np.arange(whole)
    for row in by_known[whole:]:
        own = distinct[row]
        agrees = ((distinct[kept] == own) | (own == ANY)).all(axis=1)
        if not agrees.any():
            kept.append(row)
        stands[row] = np.flatnonzero(agrees)[0] if agrees.any() else len(kept) - 1
    order = np.argsort(kept)  # as they were sorted
    return distinct[np.array(kept)[order]], np.argsort(order)[stands[which.reshape(-1)]]


def unique_rows(rows: Units) -> tuple[Units, NDArray[np.int64]]:
    """The distinct rows, sorted, and the number of each row among them. Of numbers from -1 on the big-endian bytes of
    those greater by one are in the same order, and numpy compares bytes faster than columns."""
    text = np.ascontiguousarray(rows + 1, ">i8").view(f"V{8 * rows.shape[1]}").reshape(-1)
    _, first, which = np.unique(text, return_index=True, return_inverse=True)
    return rows[first], which.reshape(-1)


def in_runs(units: Units, wanted: NDArray[np.bool_], together: int) -> Brought:
    """Units [L2B, i] in the order in which they lie where they come from, each once and only if `wanted` [i], so that
    few MVs bring them; and the place of every unit among them. `together` units stay in one block."""
    count = units.shape[1]
    blocks = units.reshape(len(units), count // together, together)
    needed = wanted.reshape(-1, together).any(axis=1)
    rows = blocks[:, needed].swapaxes(0, 1).reshape(-1, len(units) * together)
    found, which = unique_rows(rows)
    place = np.zeros(needed.size, np.int64)
    place[needed] = which.reshape(-1)
    brought = found.reshape(-1, len(units), together).swapaxes(0, 1).reshape(len(units), -1)
    return brought, place.tolist()
