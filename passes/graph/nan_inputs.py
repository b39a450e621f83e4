"""Which inputs of a graph may hold NaN: those whose NaN no arithmetic reads.

The machine has no NaN: arithmetic takes it for an infinity. But words are moved and selected as they are, and their
bits tell which are NaN. So a model that asks `IsNaN` and puts other numbers there, or that only moves an input, keeps
its meaning.
"""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.passes.graph.matching import constant_of

_MOVING = {
    "reshape": (0,), "transpose": (0,), "slice": (0,), "broadcast_to": (0,), "neg": (0,), "abs": (0,),
    "concat": (0, 1), "where": (1, 2),
}  # fmt: skip
"""Operation -> operands whose words become words of the result."""
_AS_IT_IS = ("f32", "f64")
"""Floats that every float becomes without rounding on the machine."""


def inputs_that_may_hold_nan(module: ir.Module) -> tuple[str, ...]:
    """Names of the inputs of ``@main`` whose NaN reach questions for them and outputs only."""
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    origins: dict[Any, frozenset[int]] = {}
    for number, argument in enumerate(block.arguments):
        if isinstance(ir.RankedTensorType(argument.type).element_type, ir.FloatType):
            origins[argument] = frozenset([number])
    allowed = frozenset(range(len(block.arguments))) & frozenset().union(*origins.values())
    for view in block.operations:
        allowed -= _follow(view.operation, origins)
    if not allowed:
        return ()
    names = [ir.StringAttr(ir.DictAttr(entry)["onnx.name"]).value for entry in function.attributes["arg_attrs"]]
    return tuple(names[number] for number in sorted(allowed))


def _follow(op: ir.Operation, origins: dict[Any, frozenset[int]]) -> frozenset[int]:
    """Note whose NaN the results of an operation may hold; returns the inputs whose NaN it computes with."""
    kind = op.name.removeprefix("graph.")
    own = [origins.get(operand, frozenset()) for operand in op.operands]
    if kind in ("is_nan", "func.return") or not any(own):
        return frozenset()
    if kind == "equal" and any(_is_number(operand) for operand in op.operands):
        return frozenset()  # words are compared, and no number is like a NaN
    if kind == "cast" and str(ir.RankedTensorType(op.results[0].type).element_type) in _AS_IT_IS:
        origins[op.results[0]] = own[0]
        return frozenset()
    if kind not in _MOVING:
        return frozenset().union(*own)
    moved = [own[number] for number in _MOVING[kind]]
    if kind == "where":
        moved = _chosen(op, moved)
    origins[op.results[0]] = frozenset().union(*moved)
    return frozenset().union(*own) - frozenset().union(*(own[number] for number in _MOVING[kind]))


def _is_number(value: Any) -> bool:
    array = constant_of(value) if not isinstance(value.owner, ir.Block) else None
    return array is not None and not np.isnan(array.astype(np.float64)).any()


def _chosen(op: ir.Operation, moved: list[frozenset[int]]) -> list[frozenset[int]]:
    """Where a selection asks whether a value is NaN, the branch of the others holds none of it."""
    condition, *values = op.operands
    negated = False
    while not isinstance(condition.owner, ir.Block) and condition.owner.name == "graph.not":
        condition, negated = condition.owner.operands[0], not negated
    if isinstance(condition.owner, ir.Block) or condition.owner.name != "graph.is_nan":
        return moved
    number = 0 if negated else 1
    if values[number] == condition.owner.operands[0]:
        moved[number] = frozenset()
    return moved
