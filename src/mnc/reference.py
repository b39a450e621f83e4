"""Comparing a compiled model with the ONNX reference evaluator."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from mnc.core.diagnostics import CompileError
from mnc.options import Precision

RELATIVE_BOUND: dict[Precision, float] = {"single": 1e-5, "pseudo-single": 1e-4}
"""Largest error of one layer relative to the root mean square of its output: about 50 (single) and 25 (pseudo-single)
times the measured error of random dot products, which leaves room for cancellation and for the functions behind it."""


@dataclass(frozen=True)
class Comparison:
    """One tensor against the reference. `bound` is absolute."""

    name: str
    shape: tuple[int, ...]
    error: float
    bound: float
    minimum: float
    maximum: float
    mean: float

    @property
    def passed(self) -> bool:
        return self.error <= self.bound


def random_inputs(model: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    """Seeded values for every input without initializer: normal for floats, small for integers, fair for booleans."""
    rng = np.random.default_rng(seed)
    initialized = {tensor.name for tensor in model.graph.initializer}
    values = {}
    for entry in model.graph.input:
        if entry.name in initialized:
            continue
        tensor = entry.type.tensor_type
        shape = shapes.get(entry.name) or tuple(d.dim_value for d in tensor.shape.dim)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind == "f":
            values[entry.name] = rng.standard_normal(shape).astype(dtype)
        else:
            values[entry.name] = rng.integers(0, 2 if dtype.kind == "b" else 8, shape).astype(dtype)
    return values


def load_proto(path: Path | str) -> onnx.ModelProto:
    """The model as a protocol buffer; raises CompileError."""
    try:
        return onnx.load(str(path))
    except Exception as error:  # onnx raises what protobuf and the file system raise
        raise CompileError(f"cannot read '{path}' as an ONNX model: {error}") from None


def with_intermediates(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with every float intermediate as an output."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
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
    """Compare outputs with the reference evaluator; integers and booleans must be equal."""
    names = [value.name for value in model.graph.output]
    expected: Any = ReferenceEvaluator(model).run(names, dict(inputs))
    layers = sum(node.op_type in ("MatMul", "Gemm", "Conv") for node in model.graph.node)
    factor = RELATIVE_BOUND[precision] * max(1.0, layers) ** 0.5
    result = []
    for name, want in zip(names, expected, strict=True):
        want = np.asarray(want)
        difference = np.abs(actual[name].astype(np.float64) - want.astype(np.float64))
        bound = factor * float(np.sqrt(np.mean(want.astype(np.float64) ** 2))) if want.dtype.kind == "f" else 0.0
        error = float(difference.max(initial=0.0))
        low, high = float(want.min(initial=np.inf)), float(want.max(initial=-np.inf))
        result.append(Comparison(name, want.shape, error, bound, low, high, float(want.mean()) if want.size else 0.0))
    return result
