"""Where NaN of inputs and constants goes in a graph, and whose NaN arithmetic reads.

The machine has no NaN: arithmetic takes it for an infinity. But words are moved and selected as they are, and their
bits tell which are NaN. So a model keeps its meaning where it only moves NaN, asks for it, or computes with it and then
puts something else where it asked.
"""

import inspect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph.binary import ArithmeticOp, BitwiseOp, CompareOp, LogicOp
from mnc.dialects.graph.unary import UnaryOp
from mnc.passes.graph.matching import constant_of, is_constant, is_float, shape_of

MOVING = {
    "reshape": (0,), "transpose": (0,), "slice": (0,), "broadcast_to": (0,), "neg": (0,), "abs": (0,), "pad": (0,),
    "concat": (0, 1), "where": (1, 2),
}  # fmt: skip
"""Operation -> operands whose words become words of the result."""
_AS_IT_IS = ("f32", "f64")
"""Floats that every float becomes without rounding on the machine."""
_FAMILIES = (UnaryOp, ArithmeticOp, CompareOp, BitwiseOp, LogicOp, graph.Bitcast, graph.Cast, graph.Where)
_ELEMENTWISE = frozenset(
    kind.OPERATION_NAME.removeprefix("graph.")
    for kind in vars(graph).values() if inspect.isclass(kind) and issubclass(kind, _FAMILIES)
)  # fmt: skip
_Values = frozenset[ir.Value]
_NOTHING: _Values = frozenset()


@dataclass
class NanFlow:
    """What is known of the values of a block.

    `holds`: value -> the arguments whose NaN it may hold, and the results of the operations that bring it.
    `spoiled`: value -> the values of its shape where whose NaN stands it has no meaning.
    `readers`: argument or such a result -> an operation that computes with its NaN.
    """

    holds: dict[ir.Value, _Values] = field(default_factory=dict)
    spoiled: dict[ir.Value, _Values] = field(default_factory=dict)
    readers: dict[ir.Value, Any] = field(default_factory=dict)
    _first: dict[ir.Value, Any] = field(default_factory=dict)
    """Value -> the first operation that computes with it, whatever becomes of that."""

    def of(self, value: ir.Value) -> _Values:
        """Whose NaN a value may hold."""
        return self.holds.get(value, _NOTHING)

    def _spoils(self, value: ir.Value) -> _Values:
        return self.spoiled.get(value, _NOTHING)

    def _read(self, op: Any, values: Iterable[ir.Value]) -> None:
        """The NaN of values was computed with, which an operation makes a mistake."""
        for value in values:
            for origin in self.of(value):
                self.readers.setdefault(origin, self._first.get(value, op))

    def follow(self, op: Any) -> None:
        """Note what the results of an operation may hold."""
        operands, kind = list(op.operands), op.name.removeprefix("graph.")
        if _brings_nan(op):
            self.holds[op.results[0]] = frozenset([op.results[0]])
        if not any(self.of(operand) or self._spoils(operand) for operand in operands):
            return
        if kind == "func.return":
            self._read(op, [source for operand in operands for source in self._spoils(operand)])
        elif all(map(self._is_known, operands)):
            self._keep(op, operands)  # it is computed when compiling, where NaN is what it should be
        elif kind == "where":
            self._select(op)
        else:
            moved = [operands[number] for number in MOVING.get(kind, ())] or (operands if _is_exact_cast(op) else [])
            self._keep(op, moved)
            asks = kind == "is_nan" or (kind == "equal" and any(map(_is_number, operands)))
            self._spoil(op, kind, [] if asks else [operand for operand in operands if operand not in moved])

    def _is_known(self, value: ir.Value) -> bool:
        origins = self.of(value)
        return is_constant(value) or (bool(origins) and not any(map(_is_input, origins)) and not self._spoils(value))

    def _keep(self, op: Any, moved: Sequence[ir.Value]) -> None:
        kept = self.of(op.results[0]).union(*map(self.of, moved))
        if kept:
            self.holds[op.results[0]] = kept

    def _spoil(self, op: Any, kind: str, computed: Sequence[ir.Value]) -> None:
        """The result has no meaning where an operand that is computed with is NaN, or has none; this can be told later
        only where elements stay in their places."""
        result, operands = op.results[0], list(op.operands)
        stay = kind in _ELEMENTWISE and len(op.results) == 1
        sources: set[ir.Value] = set()
        for operand in computed:
            self._first.setdefault(_root(operand), op)
        for operand in operands:
            own = self._spoils(operand) | ({_root(operand)} if operand in computed and self.of(operand) else set())
            if stay and shape_of(operand) == shape_of(result):
                sources |= own
            else:
                self._read(op, own)
        if sources:
            self.spoiled[result] = frozenset(sources)

    def _select(self, op: Any) -> None:
        """Where a selection asks whether a value is NaN, the branch of the others holds none of it."""
        condition, *branches = op.operands
        asked, number = question(condition)
        held, spoiled = [self.of(branch) for branch in branches], [self._spoils(branch) for branch in branches]
        if asked is not None and shape_of(asked) == shape_of(op.results[0]):
            spoiled[number] -= {_root(asked)}
            if _root(branches[number]) == _root(asked):
                held[number] = _NOTHING
            elif held[1 - number]:
                held[1 - number] |= self.of(asked)  # NaN comes out where it goes in
        for branch, own in zip(branches, spoiled, strict=True):
            if shape_of(branch) != shape_of(op.results[0]):
                self._read(op, own)
        self._read(op, self._spoils(condition) if shape_of(condition) != shape_of(op.results[0]) else ())
        sources = _NOTHING.union(*spoiled, self._spoils(condition))
        self.holds |= {op.results[0]: kept} if (kept := held[0] | held[1]) else {}
        self.spoiled |= {op.results[0]: sources} if sources else {}


def question(condition: ir.Value) -> tuple[ir.Value | None, int]:
    """The value that a condition asks for NaN, if it does, and which branch of a selection is for other numbers."""
    negated = False
    while not isinstance(condition.owner, ir.Block) and condition.owner.name == "graph.not":
        condition, negated = condition.owner.operands[0], not negated
    if isinstance(condition.owner, ir.Block) or condition.owner.name != "graph.is_nan":
        return None, 0
    return condition.owner.operands[0], 0 if negated else 1


def _is_input(origin: ir.Value) -> bool:
    return isinstance(origin.owner, ir.Block)


def _brings_nan(op: Any) -> bool:
    """Whether an operation brings NaN of its own: a constant, or padding with it."""
    if op.name == "graph.constant":
        return is_float(op.results[0]) and not _is_number(op.results[0])
    return op.name == "graph.pad" and math.isnan(ir.FloatAttr(op.attributes["value"]).value)


def _is_exact_cast(op: Any) -> bool:
    """Whether a conversion leaves floats as they are."""
    return op.name == "graph.cast" and str(ir.RankedTensorType(op.results[0].type).element_type) in _AS_IT_IS


def _root(value: ir.Value) -> ir.Value:
    """The value that is NaN in the same places, before changes of signs and exact conversions."""
    while not isinstance(value.owner, ir.Block):
        if value.owner.name not in ("graph.neg", "graph.abs") and not _is_exact_cast(value.owner):
            break
        value = value.owner.operands[0]
    return value


def _is_number(value: ir.Value) -> bool:
    array = constant_of(value)
    return array is not None and not np.isnan(array.astype(np.float64)).any()


def nan_flow(block: ir.Block) -> NanFlow:
    """Follow the NaN of the arguments and constants of a block."""
    flow = NanFlow()
    for argument in block.arguments:
        if isinstance(argument.type, ir.RankedTensorType) and is_float(argument):
            flow.holds[argument] = frozenset([argument])
    for view in block.operations:
        flow.follow(view.operation)
    return flow
