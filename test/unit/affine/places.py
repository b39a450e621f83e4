"""Programs of one PE on the copies of several places: what the L2Bs hold, each its own words."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.dialects.mncore import reduced_axes, summed_axes
from mnc.mncore_backend.layout import Axis

PLACES = 8
_SCALARS = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.negf": np.negative,
}


class Places:
    """Runs a function whose only movements are sums over L2Bs; every value is an array over the places."""

    def __init__(self, function: Any, inputs: dict[int, np.ndarray]) -> None:
        self.values: dict[Any, Any] = {}
        self.memory: dict[Any, np.ndarray] = {}
        self.outputs: dict[int, np.ndarray] = {}
        block = function.regions[0].blocks[0]
        self.numbers = {argument: i for i, argument in enumerate(block.arguments)}
        for argument, i in self.numbers.items():
            if i in inputs:
                self.memory[argument] = inputs[i].copy()
        for op in block.operations:
            self.run(op.operation)

    def run(self, op: Any) -> None:
        name = op.name.rpartition(".")[2]
        handler = getattr(self, name, None)
        if handler is not None:
            handler(op)
        elif op.name in _SCALARS:
            self.values[op.results[0]] = _SCALARS[op.name](*(self.values[value] for value in op.operands))
        elif op.name != "func.return":
            raise CompileError(f"nobody runs {op.name}")

    def alloc(self, op: Any) -> None:
        shape = ir.MemRefType(op.results[0].type).shape
        self.memory[op.results[0]] = np.zeros((PLACES, *shape))

    def memory_space_cast(self, op: Any) -> None:
        self.memory[op.results[0]] = self.memory[op.operands[0]]

    def constant(self, op: Any) -> None:
        self.values[op.results[0]] = np.full(PLACES, op.attributes["value"].value, np.float64)

    def _index(self, op: Any, first: int) -> tuple[int, ...]:
        variables = [self.values[value] for value in list(op.operands)[first:]]
        found = []
        for result in ir.AffineMapAttr(op.attributes["map"]).value.results:
            if isinstance(result, ir.AffineConstantExpr):
                found.append(result.value)
            else:
                found.append(variables[ir.AffineDimExpr(result).position])
        return tuple(found)

    def load(self, op: Any) -> None:
        self.values[op.results[0]] = self.memory[op.operands[0]][(slice(None), *self._index(op, 1))].copy()

    def store(self, op: Any) -> None:
        self.memory[op.operands[1]][(slice(None), *self._index(op, 2))] = self.values[op.operands[0]]

    def reduce(self, op: Any) -> None:
        assert reduced_axes(op) == {Axis.L2B: PLACES - 1}
        source, target = op.operands
        self.memory[target][:] = self.memory[source].sum(axis=0)

    def ul(self, op: Any) -> None:
        """The first place stores, unless the store adds."""
        source, target = op.operands
        held = self.memory[source]
        self.outputs[self.numbers[target]] = held.sum(axis=0) if summed_axes(op) else held[0]

    def for_(self, op: Any) -> None:
        block = op.regions[0].blocks[0]
        variable, *carried = block.arguments
        bound = ir.AffineMapAttr(op.attributes["upperBoundMap"]).value.results[0]
        state = [self.values[value] for value in op.operands]
        for i in range(ir.AffineConstantExpr(bound).value):
            self.values[variable] = i
            self.values.update(zip(carried, state, strict=True))
            *body, end = block.operations
            for inner in body:
                self.run(inner.operation)
            state = [self.values[value] for value in end.operation.operands]
        self.values.update(zip(op.results, state, strict=True))


setattr(Places, "for", Places.for_)
