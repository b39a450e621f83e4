"""Reverse-mode differentiation of a block: from the loss back to the parameters."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.dialects.graph.base import is_float
from mnc.passes.autodiff.adjoint import Adjoint
from mnc.passes.autodiff.build import Value, add, constant, element_of, shape_of
from mnc.passes.autodiff.rules import RULES


def _dependents(operations: Iterable[Any], parameters: Sequence[Value]) -> set[Value]:
    """Real values that depend on the parameters."""
    active = set(parameters)
    for op in operations:
        if any(operand in active for operand in op.operands):
            active.update(result for result in op.results if is_float(element_of(result)))
    return active


def gradients(operations: Sequence[Any], loss: Value, parameters: Sequence[Value]) -> list[Value | None]:
    """Write the backward pass at the current insertion point, which lies behind all `operations`.

    Args:
        operations: the forward pass in order, without its terminator.
        loss: a value of one element.
        parameters: the values to differentiate with respect to.

    Returns:
        Per parameter its gradient; None where the loss does not depend on it.

    Raises:
        CompileError: an operation between parameters and loss has no rule.
    """
    active = _dependents(operations, parameters)
    if loss not in active:
        return [None for _ in parameters]
    known: dict[Value, Value] = {loss: constant(np.ones(shape_of(loss)), loss)}
    for op in reversed(operations):
        incoming = tuple(known.get(result) for result in op.results)
        wanted = tuple(operand in active for operand in op.operands)
        if not any(wanted) or all(gradient is None for gradient in incoming):
            continue
        with op.location:
            for operand, gradient in zip(op.operands, _differentiate(op, incoming, wanted), strict=True):
                if gradient is not None and operand in active:
                    known[operand] = add(known[operand], gradient) if operand in known else gradient
    return [known.get(parameter) for parameter in parameters]


def _differentiate(op: Any, incoming: tuple[Value | None, ...], wanted: tuple[bool, ...]) -> list[Value | None]:
    rule = RULES.get(op.name)
    if rule is None:
        hint = "leave the parameters before it out, or write it with operations that have a rule"
        raise error_at(op, "has no rule for differentiation", hint)
    results = list(rule(Adjoint(op, incoming, wanted)))
    for operand, gradient, used in zip(op.operands, results, wanted, strict=True):
        assert gradient is None or not used or gradient.type == operand.type, f"{op.name}: {gradient.type}"
    return results


def forward_operations(block: Any) -> list[ir.Operation]:
    """Operations of a block without its terminator."""
    return [view.operation for view in block.operations][:-1]
