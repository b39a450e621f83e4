"""An error bound that holds with a stated probability: what rounding does to the results of one run of a model.

The graph that is compiled is evaluated in double precision with errors as large as the machine may make them, several
times with independent ones. The model of rounding is that of Higham and Mary (2019): the errors of single roundings are
independent, have mean zero, and are bounded as in `rounding`; terms of a sum meet in an order that is unrelated to
their signs. To first order, the error of a result is then a sum of independent bounded variables, one for every
rounding, times their derivatives. With V the sum of the squares of their bounds, Hoeffding's inequality gives

    P(|error| >= t) <= 2 exp(-t^2 / 2 V).

V is not summed, it is measured: with normal errors whose standard deviations are the bounds, the deviation of a result
is normal with variance V, so that the mean square of a few deviations, times their number over a low quantile of the
chi-square distribution, is above V but for a small probability. Where the largest V of a tensor counts, the largest
mean square is at least that of the element that has it.

What the model computed with rounds as well; its deviations are added before they are squared.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from mnc.accuracy.error_rules import apply, kind_of
from mnc.accuracy.graphs import computations, outputs_of, result_names
from mnc.accuracy.margins import SAMPLES, margin
from mnc.accuracy.near_places import evaluate_near
from mnc.accuracy.own_deviations import CONTRACTIONS, conversion_bound, own_deviation
from mnc.accuracy.rounding import Rounding, of_operation
from mnc.accuracy.undecided import Array, Choices, Samples, is_exact
from mnc.accuracy.worst_case import SUMS, is_float, magnitude
from mnc.core import events
from mnc.core.bindings import ir
from mnc.core.sequences import shapes_of, tensors_of
from mnc.dialects.graph.attributes import numpy_dtype
from mnc.dialects.graph.run_time_extents import noted_extents
from mnc.options import Precision
from mnc.passes.graph.evaluate import evaluate_operation, python_attributes

LARGE = 2**20
"""Elements of an operand whose evaluations are told one by one: each takes a while."""
COUNTED = 2.0**24
"""What sums of integers may reach in single precision without rounding."""
ROUNDED_ONCE = ("add", "sub", "mul", "cast")
"""What gives the number next to the exact result, and so that itself where it is a number of the type."""
ROUNDINGS = ("round", "floor", "ceil")
PASS_ON = ("cast", "clip", "add", "sub", "max", "min", "reshape", "transpose")
"""What quantising does behind its rounding, and what only moves the result."""



@dataclass(frozen=True)
class Allowance:
    """How an output may differ from the reference.

    bound: of the error of every element, absolute.
    undecided: elements that may be any, because a choice that leads to them is closer than rounding explains. A mask of
        the shape of the output; never set in floats, whose bound says it.
    is_open: such a choice decides how many rows there are.
    """

    bound: float
    undecided: Array
    is_open: bool = False


@dataclass(frozen=True)
class Disturbed:
    """A result of a graph: its value, what each disturbed evaluation adds to it, and which elements are undecided."""

    value: Array
    added: Samples
    undecided: Array


def _rounds_nothing(op: Any, operands: list[Array], result: Array) -> Array:
    """Where operands and the result are numbers of their type, as after a rounding to integers: a mask."""
    dtype = numpy_dtype(ir.RankedTensorType(op.operation.results[0].type).element_type)
    return np.logical_and.reduce([np.broadcast_to(_is_number(v, dtype), result.shape) for v in (*operands, result)])


def _is_number(value: Array, dtype: np.dtype) -> Array:
    """Whether single precision has these numbers, or a smaller type of this kind."""
    return value.astype(np.float32 if dtype.itemsize > 4 else dtype) == value


def _counts(op: Any, x: list[Array], how: Rounding) -> bool:
    """Whether an operation adds integers that single precision can count, as the places in an order: that is exact, and
    the comparisons behind it would fail if it were not."""
    kind, element = kind_of(op), ir.RankedTensorType(op.operation.results[0].type).element_type
    added = x[:2] if kind in CONTRACTIONS else x[:1]
    if kind not in SUMS or python_attributes(op).get("kind", "sum") != "sum" or how.unit(element) > 1 / COUNTED:
        return False
    if not all(np.array_equal(value, np.rint(value)) for value in x):
        return False
    bias = float(np.max(magnitude(x[2]), initial=0.0)) if len(x) > 2 else 0.0
    return float(np.max(apply(op, *map(magnitude, added)), initial=0.0)) + bias <= COUNTED


def _moves(op: Any, x: list[Array]) -> Array:
    """Where a sum has one term at most that is not zero, as in a selection by a mask, so that it adds nothing: a mask
    that broadcasts with its result."""
    if kind_of(op) not in ("reduce", "cum_sum") or python_attributes(op).get("kind", "sum") != "sum":
        return np.zeros((), bool)
    return apply(op, (x[0] != 0).astype(np.float64)) <= 1


def _disturbed(op: Any, operands: list[Samples], how: Rounding, rng: np.random.Generator) -> Iterator[list[Array]]:
    """Operands of the disturbed evaluations of an operation."""
    own_way = of_operation(op, how)
    converts = kind_of(op) in CONTRACTIONS and own_way.conversion_bits is not None
    bounds = [conversion_bound(op, i, own[0], own_way) for i, own in enumerate(operands[:2])] if converts else []
    for number in range(1, SAMPLES + 1):
        if operands[0][0].size >= LARGE:
            events.emit("node", f"{kind_of(op)}, evaluation {number} of {SAMPLES}")
        values = [own[number] for own in operands]
        for i, bound in enumerate(bounds):
            values[i] = values[i] + bound * rng.standard_normal(bound.shape)
        if kind_of(op) == "sqrt":  # of what is not negative, rounding makes nothing negative that would have a root
            values[0] = np.maximum(values[0], np.minimum(operands[0][0], 0))
        yield values


def _given(value: Array, holder: Any, how: Rounding, rng: np.random.Generator) -> Samples:
    """Samples of an input or a constant. The machine rounds doubles to single when it takes them."""
    if not is_float(holder):
        return [value] * (SAMPLES + 1)
    element, exact = ir.RankedTensorType(holder.type).element_type, value.astype(np.float64)
    if str(element) != "f64":
        return [exact] * (SAMPLES + 1)
    with np.errstate(over="ignore"):
        known = exact.astype(np.float32) == exact
    rounded = np.where(known, 0.0, how.unit(element) * magnitude(exact) + how.underflow(element))
    return [exact, *(exact + rounded * rng.standard_normal(exact.shape) for _ in range(SAMPLES))]


def _evaluate(op: Any, operands: list[Samples], how: Rounding, rng: np.random.Generator) -> list[Samples]:
    """Samples of every result of an operation."""
    x = [own[0] for own in operands]
    exact = evaluate_operation(op, x, wide=True)
    if not operands:
        return [_given(value, result, how, rng) for value, result in zip(exact, op.operation.results, strict=True)]
    floating = [is_float(result) for result in op.operation.results]
    with np.errstate(all="ignore"):
        own = [own_deviation(op, x, exact[0], how) if floating[0] else 0.0, *[0.0] * (len(exact) - 1)]
        if kind_of(op) not in CONTRACTIONS and not any(map(np.any, own)) and all(map(is_exact, operands)):
            return [[value] * (SAMPLES + 1) for value in exact]
        found: list[Samples] = [[value] for value in exact]
        may_move = floating[0] and bool(_moves(op, x).any())  # asked first: the sums of large tensors take a while
        for values in _disturbed(op, operands, how, rng):
            for i, result in enumerate(evaluate_near(op, values)):
                rounds_none = not np.any(own[i]) or (floating[i] and _counts(op, values, how))
                noise = 0.0 if rounds_none else own[i] * rng.standard_normal(result.shape)
                if kind_of(op) in ROUNDED_ONCE and floating[i] and not rounds_none:
                    noise = np.where(_rounds_nothing(op, values, result), 0.0, noise)
                if may_move and not rounds_none:
                    noise = np.where(_moves(op, values), 0.0, noise)
                found[i].append(result + noise if floating[i] else result)
    return found


def deviations(
    module: ir.Module, inputs: Mapping[str, Array], how: Rounding, rng: np.random.Generator
) -> list[Disturbed]:
    """What rounding does to every result of ``@main``.

    The operations must be primitive: the module has gone through the graph stage, or `decompose`.
    """
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    entries = function.attributes["arg_attrs"] if len(block.arguments) else []
    values: dict[Any, Samples] = {}
    for argument, entry in zip(block.arguments, entries, strict=True):
        given = np.asarray(inputs[ir.StringAttr(ir.DictAttr(entry)["onnx.name"]).value])
        values[argument] = _given(given, argument, how, rng)
    last_use = {operand: view for view in block.operations for operand in view.operation.operands}
    asked = [value for value in list(block.operations)[-1].operation.operands if _is_chosen(value)]
    choices = Choices(block, asked, np.random.default_rng(0))
    for view in block.operations:
        operands = list(view.operation.operands)
        if view.operation.name == "func.return":
            return [_result(v, values[v], choices) for v in operands]
        given_samples = [values[v] for v in operands]
        events.emit("node", kind_of(view))
        results = _evaluate(view, given_samples, how, rng)
        choices.follow(view, given_samples, results)
        values.update(zip(view.operation.results, results, strict=True))
        for operand in set(operands):
            if last_use[operand] == view:
                del values[operand]
                choices.forget(operand)
    return []


def _result(value: Any, samples: Samples, choices: Choices) -> Disturbed:
    """Floats and rounded integers may deviate, all others are decided or not."""
    exact, *others = samples
    if _is_chosen(value):
        return Disturbed(exact, [], choices.undecided(value, samples))
    if is_exact(samples):  # of large tensors, a number of zeros for each evaluation would fill the memory
        return Disturbed(exact, [np.zeros(())] * SAMPLES, np.zeros(exact.shape, bool))
    added = [sample.astype(np.float64) - exact.astype(np.float64) for sample in others]
    return Disturbed(exact, added, np.zeros(exact.shape, bool))


def _is_chosen(value: Any) -> bool:
    """Whether a value is a boolean, or an integer that is no rounded float."""
    element = ir.RankedTensorType(value.type).element_type
    return not is_float(value) and (numpy_dtype(element).kind not in "iu" or not _is_rounded(value))


def _is_rounded(integer: Any) -> bool:
    """Whether these integers are rounded floats, as quantised values are, and not places or counts."""
    maker = integer.owner
    while not isinstance(maker, ir.Block) and kind_of(maker) in PASS_ON:
        maker = maker.operands[0].owner
    return not isinstance(maker, ir.Block) and kind_of(maker) in (*ROUNDINGS, *CONTRACTIONS)


def _bound(both: Sequence[Disturbed]) -> float:
    """Of an output, by its values and what disturbed evaluations of each computation add to them. Of integers, as far
    as any of them comes out on another side of the edges between two."""
    output, samples = both[0].value, [own.added for own in both]
    if not samples[0]:
        return 0.0
    if output.dtype.kind in "iu":
        return float(max(np.max(np.abs(sample), initial=0.0) for own in samples for sample in own))
    return margin(output.size) * math.sqrt(_largest_mean_square(samples))


def _largest_mean_square(both: list[Samples]) -> float:
    """Over the elements that are finite in every evaluation."""
    total = np.zeros(())
    for sample in zip(*both, strict=True):
        total = total + np.square(sum(sample))
    squares = total / SAMPLES
    return float(np.max(squares, where=np.isfinite(squares), initial=0.0))


def allowances(model: onnx.ModelProto, inputs: Mapping[str, Array], precision: Precision) -> dict[str, Allowance]:
    """How every output of a model may differ for these inputs, elements of sequences by their own names. The bound of
    floats holds for all elements but for `FAILURE`; that of integers that are rounded floats goes as far as errors take
    them; others, and booleans, are equal where they are decided.

    Raises:
        CompileError: the model cannot be imported.
    """
    rng = np.random.default_rng(0)
    stored = {tensor.name for tensor in model.graph.initializer}  # may be inputs as well, with other values
    shapes = shapes_of({name: value for name, value in inputs.items() if name not in stored})
    fixed = {name: value for name, value in inputs.items() if name in stored}
    tensors = tensors_of(inputs)
    names: list[str] = []
    found: list[list[Disturbed]] = []
    counts: dict[str, Array] = {}
    open_names: set[str] = set()
    for module, how in computations(model, precision, shapes=shapes, constants=fixed):
        with module.context, events.span("pass", "error bounds"):
            results = deviations(module, tensors, how, rng)
            named = dict(zip(result_names(module), results, strict=True))
            counts = counts or {name: result.value for name, result in named.items()}
            open_names |= {e.output for e in noted_extents(module) if named[e.count].undecided.any()}
            found.append([_rows(results[i], rows) for i, rows in outputs_of(module, counts)])
            names = [result_names(module)[i] for i, _ in outputs_of(module, counts)]
    return {
        name: Allowance(_bound(both), np.logical_or.reduce([own.undecided for own in both]), name in open_names)
        for name, *both in zip(names, *found, strict=True)
    }


def _rows(result: Disturbed, rows: tuple[slice, ...]) -> Disturbed:
    """Without padding; large tensors without deviations have one number for all elements."""
    added = [own[rows] if own.shape == result.value.shape else own for own in result.added]
    return Disturbed(result.value[rows], added, result.undecided[rows])


def error_bounds(model: onnx.ModelProto, inputs: Mapping[str, Array], precision: Precision) -> dict[str, float]:
    """The bounds of `allowances`."""
    return {name: allowed.bound for name, allowed in allowances(model, inputs, precision).items()}
