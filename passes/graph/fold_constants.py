"""The pass `fold-constants`."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass, at_least
from mnc.core.rewrite import Pattern, apply_greedily, refuse
from mnc.dialects import graph
from mnc.mncore_backend.target import WORD_BYTES
from mnc.passes.graph.evaluate import evaluate_operation, is_defined
from mnc.passes.graph.matching import constant, constant_of, is_constant, name_after_weight


def _bytes(values: Any) -> int:
    """Storage of the values on the machine, where an element of any type takes one word."""
    types = [ir.RankedTensorType(value.type) for value in values]
    return sum(int(np.prod(t.shape, dtype=np.int64)) * WORD_BYTES for t in types)


class FoldConstant(Pattern):
    """An operation on constants becomes a constant."""

    def __init__(self, name: str, limit: int) -> None:
        self.root = name  # pyright: ignore[reportAttributeAccessIssue]
        self.limit = limit

    def match(self, op: Any) -> Any:
        operands = list(op.operation.operands)
        if not operands or not all(is_constant(operand) for operand in operands) or not is_defined(op):
            return None
        size = _bytes(op.operation.results)
        if size > self.limit and size > _bytes(operands):
            return refuse(f"the result has {size} bytes, more than its operands and than the limit of {self.limit}")
        arrays = [array for array in map(constant_of, operands) if array is not None]
        if len(arrays) < len(operands):
            return refuse("a constant cannot be read back")
        integer_division = op.operation.name in ("graph.div", "graph.mod") and arrays[1].dtype.kind in "iu"
        if integer_division and not np.all(arrays[1]):
            return refuse("an integer is divided by 0")
        return evaluate_operation(op, arrays)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        values = [constant(array) for array in match]
        name_after_weight(op, values[0])
        rewriter.replace_op(op, values)


LIMIT = 65536


def folding_patterns(limit: int = LIMIT) -> list[Pattern]:
    """One pattern per graph operation; results above `limit` bytes are not stored unless operands were larger."""
    return [FoldConstant(name, limit) for name in graph.OPERATIONS if name != "graph.constant"]


@dataclass(frozen=True)
class FoldConstants(Pass):
    """Evaluate operations whose operands are all constants.

    before: ``%2 = graph.add(constant 1, constant 2)``; after: ``%2 = graph.constant 3``

    A result that needs more bytes than its operands is computed only up to ``limit`` bytes: a
    broadcast of a weight is cheaper to repeat on the machine than to store.
    """

    name: ClassVar[str] = "fold-constants"
    limit: int = at_least(0, LIMIT)

    def run(self, module: ir.Module) -> None:
        """Fold until nothing changes; refusals are explained."""
        apply_greedily(module, folding_patterns(self.limit))
