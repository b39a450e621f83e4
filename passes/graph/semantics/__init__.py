"""What every graph operation computes, in numpy: for constant folding and for running a graph.

`DEFINITIONS` maps an operation name without ``graph.`` to a function of the operand arrays, with the
attributes as keyword arguments. It returns one array, or a tuple of them where the operation has
several results. No MLIR here. Operations whose result depends on the result type (constant, cast,
reshape, broadcast_to) are in `mnc.passes.graph.evaluate`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mnc.passes.graph.semantics import elementwise, reduction, structure, window

DEFINITIONS: Mapping[str, Callable[..., Any]] = {
    **elementwise.UNARY,
    **elementwise.BINARY,
    **reduction.DEFINITIONS,
    **structure.DEFINITIONS,
    **window.DEFINITIONS,
}

__all__ = ["DEFINITIONS"]
