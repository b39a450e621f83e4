"""Comparing a compiled model with the ONNX reference evaluator."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from mnc import onnx_runtime
from mnc.accuracy.probable import Allowance, allowances
from mnc.core.diagnostics import CompileError
from mnc.core.float_types import is_floating
from mnc.core.sequences import Shapes, tensors_of
from mnc.lowering.onnx_to_graph.evaluator import corrected_operators, evaluator
from mnc.lowering.onnx_to_graph.local_functions import without_functions
from mnc.lowering.onnx_to_graph.onnx_file import (
    drop_unknown_attributes,
    find_opset,
    infer_shapes,
    read_proto,
    without_old_operators,
)
from mnc.lowering.onnx_to_graph.reference_sequences import plain
from mnc.lowering.onnx_to_graph.runtime_operators import with_runtime_bodies
from mnc.options import Precision
from mnc.positive_inputs import bases, differences, divisors, has_bases


@dataclass(frozen=True)
class Comparison:
    """One tensor against the reference.

    error, bound: absolute; of the elements that are decided.
    undefined: NaN of the reference.
    undecided, undecided_that_differ: elements that may be any, because a choice between values that are within their
        error bounds of each other leads to them; only integers and booleans (`accuracy.undecided`).
    """

    name: str
    shape: tuple[int, ...]
    error: float
    bound: float
    minimum: float
    maximum: float
    mean: float
    undefined: int = 0
    undecided: int = 0
    undecided_that_differ: int = 0

    @property
    def passed(self) -> bool:
        return self.error <= self.bound


_LIMITS = (8, 4, 2, 1)
_OF_MASKS = 2
_ONLY_POSITIVE = "float8_e8m0fnu"


def random_inputs(
    model: onnx.ModelProto, shapes: Shapes, seed: int,
    given: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """`given` and seeded values for every other input without initializer: normal for floats, rounded to what the
    machine reads, small for integers, but not zero for those that divide, fair for booleans. Where integers lead the
    reference out of a tensor, as labels and indices may, smaller ones are drawn; where it is undefined for some
    numbers, floats are changed (`_changed`), and if that is not enough integers are 0 or 1, as masks are."""
    given = given or {}
    first = {**draw_inputs(model, shapes, seed), **given}
    looks_up = any(value.dtype.kind in "iu" and name not in given for name, value in first.items())
    if not looks_up and not has_bases(model):
        return first
    fitting = None
    for limit in _LIMITS:
        values = {**draw_inputs(model, shapes, seed, limit), **given}
        if (defined := _is_defined(model, values)) is None or (fitting is not None and limit > _OF_MASKS):
            continue
        found = values if defined else _changed(model, values, given)
        if found is not None:
            return found
        fitting = values if fitting is None else fitting
        if not looks_up or limit <= _OF_MASKS:
            break
    return first if fitting is None else fitting


def _changed(
    model: onnx.ModelProto, values: dict[str, np.ndarray], given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray] | None:
    """The values with as few floats changed as the model needs; None if nothing helps: what roots and logarithms are
    taken of becomes positive, what is taken off it small; else all floats are positive, or probabilities."""
    large, small = differences(model)
    floats = {name: np.asarray(value) for name, value in values.items() if is_floating(value.dtype)}
    sizes = {name: np.abs(value) for name, value in floats.items()}
    positive = {name: sizes[name] for name in bases(model) & floats.keys()}
    apart = {name: floats[name] / 8 for name in small & floats.keys()}
    apart |= {name: sizes[name] + 1 for name in large & floats.keys()}
    below_one = {name: (size + 1 / 16) / (size + 1) for name, size in sizes.items()}
    for changes in (positive, {**positive, **apart}, sizes, below_one):
        typed = {name: change.astype(values[name].dtype) for name, change in changes.items()}
        if _is_defined(model, found := {**values, **typed, **given}):
            return found
    return None


def _is_defined(model: onnx.ModelProto, values: Mapping[str, np.ndarray]) -> bool | None:
    """Whether the reference gives numbers; None if it leaves a tensor."""
    try:
        with np.errstate(all="ignore"):
            results: Any = evaluator(model).run(None, dict(values))
    except IndexError:
        return None
    except Exception:  # whoever needs the results will hear of it
        return True
    named = {str(i): plain(result) for i, result in enumerate(results)}
    arrays = [np.asarray(result) for result in tensors_of(named).values()]
    return not any(is_floating(array.dtype) and np.isnan(array).any() for array in arrays)


def draw_inputs(
    model: onnx.ModelProto, shapes: Shapes, seed: int, limit: int = _LIMITS[0]
) -> dict[str, np.ndarray]:
    """The values of `random_inputs`, with integers below `limit` whether the model can do with them or not."""
    rng = np.random.default_rng(seed)
    divide = divisors(model)
    initialized = {tensor.name for tensor in model.graph.initializer}
    values = {}
    for entry in model.graph.input:
        if entry.name in initialized:
            continue
        tensor = entry.type.tensor_type
        shape = shapes.get(entry.name) or tuple(d.dim_value for d in tensor.shape.dim)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if is_floating(dtype):
            drawn = rng.standard_normal(shape).astype(np.float32)
            values[entry.name] = (np.abs(drawn) if dtype.name == _ONLY_POSITIVE else drawn).astype(dtype)
        else:
            drawn = rng.integers(0, 2 if dtype.kind == "b" else limit, shape)
            values[entry.name] = (np.maximum(drawn, 1) if entry.name in divide else drawn).astype(dtype)
    return values


def load_proto(path: Path | str) -> onnx.ModelProto:
    """The model as a protocol buffer, of an operator set that there is, without operators of ONNX Runtime and without
    attributes that the importer warns of; raises CompileError."""
    given = without_old_operators(read_proto(path), str(path))
    bodies = with_runtime_bodies(given, str(path))
    model = given if bodies is given else without_functions(bodies)
    drop_unknown_attributes(model, find_opset(model, str(path)))
    return model


def with_intermediates(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with every float intermediate as an output."""
    inferred = infer_shapes(model, "", find_opset(model, ""))
    known = {value.name: value for value in inferred.graph.value_info}
    outputs = {value.name for value in inferred.graph.output}
    for name in (name for node in inferred.graph.node for name in node.output):
        is_float = name in known and known[name].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        if is_float and name not in outputs:
            inferred.graph.output.append(known[name])
    return inferred


def compare(
    model: onnx.ModelProto, actual: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray], precision: Precision
) -> list[Comparison]:
    """Compare outputs with the reference; what rounding explains is allowed (`allowances`): most integers and all
    booleans must be equal where they are decided."""
    return judge(model, actual, inputs, precision)[1]


def judge(
    model: onnx.ModelProto, actual: Mapping[str, np.ndarray], inputs: Mapping[str, np.ndarray], precision: Precision
) -> tuple[str, list[Comparison]]:
    """As `compare`, with the name of the reference that judged: ONNX Runtime where it is installed and runs the model,
    else the evaluator of ONNX, with the operators that are corrected."""
    with np.errstate(all="ignore"):  # infinities and NaN of the model are shown in the result
        names = list(dict.fromkeys(value.name for value in model.graph.output))  # one may be there twice
        judged = onnx_runtime.run(model, names, inputs)
        if judged is None:
            corrected = corrected_operators(model)
            by = f", {', '.join(corrected)} corrected" if corrected else ""
            name = f"the ONNX reference evaluator {onnx.__version__}{by}"
            values = list(evaluate(model, names, inputs).values())
        else:
            name, values = judged
        expected = {key: np.asarray(value) for key, value in tensors_of(dict(zip(names, values, strict=True))).items()}
        return name, _compare(expected, tensors_of(actual), allowances(model, inputs, precision))


def compare_with(
    model: onnx.ModelProto,
    expected: Mapping[str, np.ndarray],
    actual: Mapping[str, np.ndarray],
    inputs: Mapping[str, np.ndarray],
    precision: Precision,
) -> list[Comparison]:
    """As `compare`, with stored results; one of another shape is wrong. Bounds come from the reference all the same:
    a stored result that is far from it must not widen its own bound."""
    with np.errstate(all="ignore"):
        return _compare(expected, tensors_of(actual), allowances(model, inputs, precision))


def _compare(
    expected: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray], allowed: Mapping[str, Allowance]
) -> list[Comparison]:
    """Of every tensor; elements that only one of two sequences has differ from anything."""
    rows = [
        _comparison(name, actual[name], want, allowed[name])
        if name in actual and name in allowed
        else Comparison(name, want.shape, float("inf"), 0.0, *_statistics(want))
        for name, want in expected.items()
    ]
    surplus = {name: np.asarray(value) for name, value in actual.items() if name not in expected}
    return rows + [
        Comparison(name, value.shape, float("inf"), 0.0, *_statistics(value)) for name, value in surplus.items()
    ]


def evaluate(model: onnx.ModelProto, names: list[str], inputs: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The outputs `names` on the reference.

    Raises:
        CompileError: the reference cannot evaluate the model.
    """
    try:
        with np.errstate(all="ignore"):
            results: Any = evaluator(model).run(names, dict(inputs))
    except Exception as error:  # the reference raises whatever numpy and its operators raise
        first = str(error).strip().split("\n")[0]
        message = f"the ONNX reference cannot evaluate the model: {type(error).__name__}: {first}"
        raise CompileError(message, hint=_remedy(error)) from None
    return {name: plain(result) for name, result in zip(names, results, strict=True)}


def _remedy(error: Exception) -> str:
    """Values that lead out of a tensor come from inputs; what else the reference refuses it cannot do."""
    if isinstance(error, IndexError):
        return "random inputs may not suit the model: give values with --input"
    if onnx_runtime.is_installed():
        return "neither ONNX Runtime nor the evaluator knows it: compare the results of mnc run with some of your own"
    return "the evaluator may not know an operator in this form: pip install onnxruntime, which then judges instead"


def _comparison(name: str, actual: np.ndarray, want: np.ndarray, allowed: Allowance) -> Comparison:
    undecided = int(allowed.undecided.sum())
    if actual.shape != want.shape and allowed.is_open and actual.ndim == want.ndim:
        return Comparison(name, want.shape, 0.0, allowed.bound, *_statistics(want), 0, want.size, want.size)
    if actual.shape != want.shape:
        return Comparison(name, want.shape, float("inf"), allowed.bound, *_statistics(want), undecided=undecided)
    a, b = actual.astype(np.float64), want.astype(np.float64)
    agree = (a == b) | (np.isnan(a) & np.isnan(b))  # equal infinities agree, and so do undefined results
    difference = np.where(agree | allowed.undecided, 0.0, np.abs(a - b))
    error = float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0))
    counts = int(np.isnan(b).sum()), undecided, int((allowed.undecided & ~agree).sum())
    return Comparison(name, want.shape, error, allowed.bound, *_statistics(want), *counts)


def _statistics(want: np.ndarray) -> tuple[float, float, float]:
    """Minimum, maximum and mean."""
    b = want.astype(np.float64)
    return float(b.min(initial=np.inf)), float(b.max(initial=-np.inf)), float(b.mean()) if b.size else 0.0
