"""Values of graphs with and without small errors of every operation: what a pass may change, and what it may not.

A pass may round differently. How much that moves a result is measured: the graph as it was, run again with a relative
error of random sign on every float that it computes. A comparison that hangs on rounding thereby allows its result
anything; exact numbers, which the graphs mostly have, stay exact where the pass changes nothing but their order.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import assume

from mnc.core.bindings import ir
from mnc.passes.graph.evaluate import evaluate_operation
from mnc.registry import parse_pipeline

from .random_graphs import SPECIAL

ERROR, RUNS, MARGIN = 1e-6, 4, 16.0
LARGEST, SMALLEST = 1e30, 1e-30
"""Beyond them single precision might overflow, which a result in double precision does not show."""


class OutOfRangeError(Exception):
    """A value that the machine's type could not hold: no statement about such a graph."""


def run(module: Any, inputs: Sequence[np.ndarray], rng: np.random.Generator | None = None) -> list[np.ndarray]:
    """Results of @main in double precision; with `rng`, every computed float is off by about `ERROR` of itself."""
    block = module.body.operations[0].operation.regions[0].blocks[0]
    values = dict(zip(block.arguments, inputs, strict=True))
    for view in block.operations:
        operands = [values[operand] for operand in view.operation.operands]
        if view.operation.name == "func.return":
            return operands
        _check_operands(view.operation, operands)
        for result, array in zip(view.operation.results, evaluate_operation(view, operands, wide=True), strict=True):
            if rng is not None and array.dtype.kind == "f" and _computes(view.operation):
                array = array * (1 + ERROR * rng.uniform(-1, 1, array.shape)) + _offset(view.operation, array, rng)
            values[result] = _in_range(array)
    raise AssertionError("the function returns nothing")


def _computes(operation: Any) -> bool:
    return operation.name.removeprefix("graph.") not in (
        "constant", "reshape", "transpose", "slice", "concat", "broadcast_to", "gather", "neg", "abs")  # fmt: skip


def _offset(operation: Any, array: np.ndarray, rng: np.random.Generator) -> Any:
    """Composite operations round on the way, so their zeros are not exact."""
    if operation.name.removeprefix("graph.") not in ("layer_norm", "batch_norm", "log_softmax"):
        return 0.0
    size = np.abs(array[np.isfinite(array)]).max(initial=0.0)
    return ERROR * size * rng.uniform(-1, 1, array.shape)


def _check_operands(operation: Any, operands: Sequence[np.ndarray]) -> None:
    """Casts of what an integer cannot hold have no value."""
    kind = str(ir.RankedTensorType(operation.results[0].type).element_type)
    truncates = operation.name == "graph.cast" and kind == "i64" and operands[0].dtype.kind == "f"
    if truncates and not np.all(np.abs(operands[0]) < 2**31):
        raise OutOfRangeError


def _in_range(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "f":
        size = np.abs(array[np.isfinite(array) & (array != 0)])
        if size.size and (size.max() > LARGEST or size.min() < SMALLEST):
            raise OutOfRangeError
    elif array.dtype.kind == "i" and array.size and np.abs(array).max() >= 2**31:
        raise OutOfRangeError
    return array


def inputs_of(module: Any, seed: int, special: bool) -> list[np.ndarray]:
    """Small dyadic numbers, some of them infinities, NaN and zeros where `special`; small integers and booleans."""
    rng = np.random.default_rng(seed)
    arrays = []
    for argument in module.body.operations[0].operation.regions[0].blocks[0].arguments:
        type_ = ir.RankedTensorType(argument.type)
        kind, shape = str(type_.element_type), tuple(type_.shape)
        whole = rng.integers(-8, 9, shape)
        if kind == "i1":
            arrays.append(whole > 0)
        elif kind == "i64":
            arrays.append(whole)
        else:
            array = whole.astype(np.float64) / 4
            if special:
                array = np.where(rng.random(shape) < 0.25, rng.choice(np.array(SPECIAL), shape), array)
            arrays.append(array)
    return arrays


def check_pass(module: Any, pipeline: str, seed: int = 0, special: bool = False) -> None:
    """Every result is what it was before `pipeline`, apart from rounding; NaN where NaN, the same infinities."""
    text = str(module)
    inputs = inputs_of(module, seed, special)
    with module.context:
        try:
            before = run(module, inputs)
            noisy = [run(module, inputs, np.random.default_rng(i)) for i in range(RUNS)]
        except OutOfRangeError:
            assume(False)
            return
        _parsed(pipeline).run(module, reproducer=False)
        assert module.operation.verify()
        try:
            after = run(module, inputs)
        except OutOfRangeError:
            assume(False)
            return
    for index, (got, want) in enumerate(zip(after, before, strict=True)):
        assert got.shape == want.shape and got.dtype == want.dtype
        wrong = _differs(got, want, [result[index] for result in noisy])
        assert not wrong.any(), f"result {index}: {got[wrong]} instead of {want[wrong]}\n{inputs}\n{text}\n{module}"


@functools.cache
def _parsed(pipeline: str) -> Any:
    return parse_pipeline(f"builtin.module({pipeline})")


def _differs(got: np.ndarray, want: np.ndarray, noisy: Sequence[np.ndarray]) -> np.ndarray:
    """Where `got` is not `want` and no error of the operations explains it."""
    unsure = np.zeros(want.shape, bool)
    if want.dtype.kind != "f":
        for other in noisy:
            unsure |= other != want
        return (got != want) & ~unsure
    allowed = np.zeros(want.shape)
    with np.errstate(all="ignore"):
        for other in noisy:
            unsure |= np.isfinite(other) != np.isfinite(want)
            allowed = np.fmax(allowed, np.abs(other - want))
        close = np.abs(got - want) <= MARGIN * allowed + ERROR * np.abs(want) + 1e-9
    return ~(close | (got == want) | (np.isnan(got) & np.isnan(want)) | unsure)
