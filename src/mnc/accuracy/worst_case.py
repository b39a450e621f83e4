"""A bound for the error of every result of a graph, from what each operation rounds (`rounding`) and inherits
(`error_rules`): running error analysis, first order and beyond, on the values of one run."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from mnc.accuracy.error_rules import RULES, apply, kind_of, terms
from mnc.accuracy.graphs import computations, outputs_of, result_names
from mnc.accuracy.rounding import HALF_BITS, ONCE, Rounding, of_operation, underflow
from mnc.core.bindings import ir
from mnc.core.sequences import shapes_of, tensors_of
from mnc.options import Precision
from mnc.passes.graph.evaluate import evaluate_operation, python_attributes

Array = np.ndarray
_ROUNDED_ONCE = frozenset(["add", "sub", "mul", "leaky_relu"])
SUMS = frozenset(["reduce", "cum_sum", "matmul", "conv", "conv_transpose", "pool"])


def is_float(value: Any) -> bool:
    return isinstance(ir.RankedTensorType(value.type).element_type, ir.FloatType)


def magnitude(value: Array) -> Array:
    return np.abs(np.where(np.isfinite(value.astype(np.float64)), value, 0).astype(np.float64))


def _block_step(value: Array, axes: tuple[int, ...] | None, bits: float, flushed: float) -> Array:
    """Largest conversion error of elements that share blocks within `axes`."""
    _, exponent = np.frexp(np.max(magnitude(value), axis=axes, keepdims=True, initial=0))
    step = np.ldexp(2.0**-bits, exponent)
    return np.broadcast_to(np.maximum(step, flushed), value.shape)


def _contraction_error(op: Any, x: list[Array], how: Rounding, unit: float) -> Array:
    """Conversion of both factors, and the roundings of the accumulator."""
    a, b = (magnitude(value) for value in x[:2])
    own = of_operation(op, how)
    bits = own.conversion_bits
    rounds = -(-terms(op) // how.block) + how.stages
    if bits is None:
        return rounds * unit * apply(op, a, b)
    if kind_of(op) == "matmul":
        axes: tuple[tuple[int, ...] | None, ...] = ((-1,), (-2,) if b.ndim > 1 else (-1,))
    else:  # windows overlap: the largest element of all data counts
        axes = (None, None)
    da, db = (_block_step(value, axis, bits, own.flushed) for value, axis in zip((a, b), axes, strict=True))
    converted = apply(op, a, db) + apply(op, da, b) + apply(op, da, db)
    # The 5 low bits: 2^-36 of the product of the block exponents, which the steps hold.
    low_bits = apply(op, da, db) * 2.0 ** (2 * bits - 36)
    return converted + low_bits + rounds * unit * apply(op, a + da, b + db)


def _sum_error(op: Any, x: list[Array], result: Array, how: Rounding, unit: float) -> Array:
    kind = python_attributes(op).get("kind", "sum")
    if kind in ("prod", "log_sum_exp", "log_sum", "lp", "l2"):
        return (terms(op) + how.stages + 2 * how.functions["pow"] * terms(op)) * unit * np.abs(result)
    element = ir.RankedTensorType(op.operation.results[0].type).element_type
    last = unit * magnitude(result)
    if kind_of(op) in ("matmul", "conv", "conv_transpose"):
        bias = last if len(x) > 2 else 0.0
        return _contraction_error(op, x, how, how.accumulating_unit(element, True)) + last + bias
    size = magnitude(x[0])
    changed = {"kind": "sum"} if kind in ("sum_square", "l1") else {}
    total = apply(op, size * size if kind == "sum_square" else size, **changed)
    mean = 3 if kind in ("mean", "average") else 0  # the constant 1 / n and the product with it
    return (terms(op) + how.stages) * how.accumulating_unit(element, False) * total + (1 + mean) * last


def own_error(op: Any, x: list[Array], result: Array, how: Rounding) -> Array:
    """What the operation itself rounds."""
    kind = kind_of(op)
    element = ir.RankedTensorType(op.operation.results[0].type).element_type
    unit = how.unit(element)
    size = magnitude(result)
    if kind == "cast":
        narrow = {"f16": HALF_BITS, "bf16": 8, "f32": 24}.get(str(element), 53)
        return size * 2.0**-narrow + underflow(narrow) if is_float(op.operation.operands[0]) else size * unit
    if kind in SUMS and python_attributes(op).get("kind") in ("max", "min"):
        return np.zeros(result.shape)  # they choose, also from numbers next to zero
    if kind in SUMS:
        return _sum_error(op, x, result, how, unit) + how.underflow(element) * terms(op)
    ulps = how.functions.get(kind, ONCE if kind in _ROUNDED_ONCE else 0.0)
    return size * 2 * ulps * unit + (how.underflow(element) if ulps else 0.0)


def _bound(op: Any, x: list[Array], e: list[Array], results: list[Array], how: Rounding) -> list[Array]:
    kind = kind_of(op)
    if kind == "constant":
        return [magnitude(r) * how.unit(op.operation.results[0].type.element_type) if r.dtype == np.float64
                and str(ir.RankedTensorType(op.operation.results[0].type).element_type) == "f64"
                else np.zeros(r.shape) for r in results]  # fmt: skip
    if kind not in RULES:
        raise KeyError(f"no error rule for {op.operation.name}: decompose it first")
    inherited = np.asarray(RULES[kind](op, x, e, results[0]), np.float64)
    own = own_error(op, x, results[0], how) if is_float(op.operation.results[0]) else 0.0
    total = np.where(np.isfinite(results[0].astype(np.float64)), np.nan_to_num(inherited, nan=np.inf) + own, 0)
    return [total]


def module_bounds(module: ir.Module, inputs: Mapping[str, Array], how: Rounding) -> list[tuple[Array, Array]]:
    """Exact value and error bound of every result of ``@main`` for these inputs.

    The operations must be primitive: the module has gone through the graph stage. Raises KeyError for others.
    """
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    names = [ir.StringAttr(ir.DictAttr(entry)["onnx.name"]).value for entry in function.attributes["arg_attrs"]] \
        if len(block.arguments) else []  # fmt: skip
    values: dict[Any, Array] = {}
    errors: dict[Any, Array] = {}
    for argument, name in zip(block.arguments, names, strict=True):
        given = np.asarray(inputs[name])
        floating = is_float(argument)
        values[argument] = given.astype(np.float64) if floating else given
        wide = str(ir.RankedTensorType(argument.type).element_type) == "f64"  # the machine takes a single
        errors[argument] = magnitude(values[argument]) * (how.unit(argument.type.element_type) if wide else 0.0)
    for view in block.operations:
        operands = list(view.operation.operands)
        if view.operation.name == "func.return":
            return [(values[value], errors[value]) for value in operands]
        x, e = [values[v] for v in operands], [errors[v] for v in operands]
        with np.errstate(all="ignore"):
            results = evaluate_operation(view, x, wide=True)
            bounds = _bound(view, x, e, results, how)
        for result, value, bound in zip(view.operation.results, results, bounds, strict=True):
            values[result], errors[result] = value, bound
    return []


def error_bounds(
    model: onnx.ModelProto,
    inputs: Mapping[str, Any],
    precision: Precision,
    constants: Mapping[str, Any] | None = None,
) -> list[Array]:
    """Bound of the error of every element of every output of a model, for these inputs: what the machine and the
    reference may be off together. Elements of sequences are outputs of their own.

    Args:
        constants: inputs that the compiler was given.
    """
    stored = {*(tensor.name for tensor in model.graph.initializer), *(constants or {})}
    shapes = shapes_of({name: value for name, value in inputs.items() if name not in stored})
    tensors = tensors_of(inputs)
    total: list[Array] = []
    counts: dict[str, Array] = {}
    for module, how in computations(model, precision, shapes=shapes, constants=constants):
        with module.context, np.errstate(all="ignore"):
            values, errors = zip(*module_bounds(module, tensors, how), strict=True)
            counts = counts or dict(zip(result_names(module), values, strict=True))
            found = [errors[i][rows] for i, rows in outputs_of(module, counts)]
        total = [a + b for a, b in zip(total, found, strict=True)] if total else found
    return total
