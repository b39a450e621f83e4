"""The contractions of a module."""

from collections.abc import Iterator
from typing import Any

from mnc.core.modules import functions_of
from mnc.lowering.linalg_to_spmd.reading import Generic, read_generic


def contractions_of(module: Any) -> Iterator[Generic]:
    """Products that suit the matrix unit, in the order of the functions and their operations."""
    for function in functions_of(module):
        for block in function.operation.regions[0].blocks:
            for op in block.operations:
                if op.operation.name == "linalg.generic" and (generic := read_generic(op)).kind == "contraction":
                    yield generic
