"""Attributes of programs that are repeated, each time on other parts of tensors in DRAM."""

from typing import Any

from mnc.core.bindings import ir
from mnc.mncore_backend.codegen.trips import Slice

SLICE, TRIPS = "mncore.slice", "mncore.trips"
"""On an argument, result or image: which part of a tensor each trip takes. On a function: the number of trips."""
WEIGHTS, NODES = "mncore.weights", "mncore.nodes"
"""On a function whose trips are layers: their weights, see `numbered_weights`; and of each the nodes."""
TABLES = "mncore.tables"
"""On a function: constants that it has to leave in local memory for another program."""
FIRST_ROW = "mncore.first_row"
"""On a result: of the rows that another program has in local memory, the first one that it is."""
RESERVED = "mncore.reserved"
"""On a function: buffers in local memory where it may not put what it keeps itself, since another program does."""


def keep_trips(old: Any, new: Any) -> None:
    """Say on a function that takes the place of another how it is repeated, and what it leaves for others."""
    for name in (TRIPS, WEIGHTS, NODES, TABLES, RESERVED):
        if name in old.attributes:
            new.attributes[name] = old.attributes[name]


def slice_attribute(part: Slice) -> Any:
    """``{shape = array<i64: 8, 3>, starts = array<i64: 0, 0, 2, 0, ...>}``, to be read by `read_slice`."""
    starts = [start for own in part.starts for start in own]
    return ir.DictAttr.get({"shape": ir.DenseI64ArrayAttr.get(part.whole), "starts": ir.DenseI64ArrayAttr.get(starts)})


def read_slice(attributes: Any) -> Slice | None:
    """Inverse of `slice_attribute`, for the attributes of an image or argument; None where all is taken."""
    if SLICE not in attributes:
        return None
    given = ir.DictAttr(attributes[SLICE])
    whole, starts = (tuple(ir.DenseI64ArrayAttr(given[name])) for name in ("shape", "starts"))
    rank = len(whole)
    return Slice(whole, tuple(starts[i : i + rank] for i in range(0, len(starts), rank)))
