"""How far rounding may carry the results of a model: discrete stochastic arithmetic on the ONNX reference.

The model is evaluated node by node several times, each time with random errors as large as the machine may make them:
the factors of every product are off by what block floating point loses, every result by a few units in the last place.
The spread of the outcomes, widened, bounds the error of a correct run. It grows where a model amplifies errors (a
softmax of large logits) and stays small where it does not.
"""

from collections.abc import Mapping

import numpy as np
import onnx

from mnc.lowering.onnx_to_graph.evaluator import evaluator

MANTISSA = {"single": 23, "pseudo-single": 18}
"""Bits of a factor that survive conversion to block floating point."""
BLOCK = 8
RESULT_ULPS = 4
"""Error of one operator besides its products: the elementary functions stay below 2.5 (docs/transcendentals.md)."""
SAMPLES = 4
WIDENING = 8.0
"""The bound is this many times the largest deviation of the samples, whose own errors are uniform up to the largest."""
PRODUCTS = ("MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "Attention")


def _block_maximum(values: np.ndarray, axis: int) -> np.ndarray:
    """For every element the largest magnitude among the eight neighbours of its block along an axis."""
    moved = np.moveaxis(np.abs(values), axis, -1)
    extent = moved.shape[-1]
    padded = np.concatenate([moved, np.zeros((*moved.shape[:-1], -extent % BLOCK), moved.dtype)], axis=-1)
    blocks = padded.reshape(*moved.shape[:-1], -1, BLOCK).max(-1)
    return np.moveaxis(np.repeat(blocks, BLOCK, axis=-1)[..., :extent], -1, axis)


def _disturbed_factor(values: np.ndarray, bits: int, rng: np.random.Generator) -> np.ndarray:
    """A factor as conversion may leave it; which axis is contracted is not looked up, so the larger block counts."""
    if values.dtype.kind != "f" or values.ndim == 0:
        return values
    largest = _block_maximum(values, -1)
    if values.ndim > 1:
        largest = np.maximum(largest, _block_maximum(values, -2))
    return (values + rng.uniform(-1, 1, values.shape) * largest * 2.0**-bits).astype(values.dtype)


def _disturbed_result(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if values.dtype.kind != "f":
        return values
    error = rng.uniform(-1, 1, values.shape) * RESULT_ULPS * np.finfo(np.float32).eps
    return (values * (1 + error)).astype(values.dtype)


def _evaluate(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], bits: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Every value of the model, with random errors."""
    values: dict[str, np.ndarray] = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    values.update(inputs)
    for node in model.graph.node:
        feeds = {name: values[name] for name in node.input if name}
        if node.op_type in PRODUCTS:
            feeds = {name: _disturbed_factor(value, bits, rng) for name, value in feeds.items()}
        graph = onnx.GraphProto(name="node")
        graph.node.append(node)
        graph.input.extend(onnx.ValueInfoProto(name=name) for name in feeds)
        names = [name for name in node.output if name]
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        single = onnx.ModelProto(ir_version=model.ir_version, graph=graph, opset_import=model.opset_import)
        single.functions.extend(model.functions)
        results = evaluator(single).run(names, feeds)
        for name, result in zip(names, results, strict=True):  # pyright: ignore[reportArgumentType]
            values[name] = _disturbed_result(np.asarray(result), rng)
    return values


def error_bounds(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], precision: str
) -> dict[str, float]:
    """Largest error that rounding explains, for each float value of `expected`; 0 for integers and booleans."""
    bounds = dict.fromkeys(expected, 0.0)
    for seed in range(SAMPLES):
        sample = _evaluate(model, inputs, MANTISSA[precision], np.random.default_rng(seed))
        for name, want in expected.items():
            finite = np.isfinite(want) & np.isfinite(sample[name])
            if want.dtype.kind == "f" and finite.any():
                spread = np.abs(sample[name].astype(np.float64) - want.astype(np.float64))[finite].max()
                bounds[name] = max(bounds[name], WIDENING * float(spread))
    return bounds
