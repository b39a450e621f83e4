"""Models of one operator of ONNX Runtime, and what attention gives in numpy."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.evaluator import evaluator

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate

LENGTHS = np.array([3, 5], np.int32)
MASK = (np.arange(5) < LENGTHS[:, None]).astype(np.int32)


def model_of(
    op_type: str, operands: list[Any], outputs: tuple[int, ...] = (0,), opset: int = 17,
    domain: str = "com.microsoft", free: tuple[int, ...] = (), **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:  # fmt: skip
    """A model of one node, and its inputs: floats, and the operands `free`; other integers, which may
    decide shapes, are stored."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(operands)]
    arrays = {name: np.asarray(value) for name, value in zip(names, operands, strict=True) if name}
    own = {f"x{i}" for i in free}
    inputs = {name: value for name, value in arrays.items() if value.dtype.kind == "f" or name in own}
    stored = [numpy_helper.from_array(value, name) for name, value in arrays.items() if name not in inputs]
    given = [f"y{i}" if i in outputs else "" for i in range(max(outputs) + 1)]
    node = helper.make_node(op_type, names, given, "own", domain=domain, **attributes)
    kinds = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in inputs.items()}
    infos = [helper.make_tensor_value_info(name, kinds[name], value.shape) for name, value in inputs.items()]
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=f"y{i}") for i in outputs], stored)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9), inputs


def results(op_type: str, operands: list[Any], **how: Any) -> list[np.ndarray]:
    """What the imported operator gives; the evaluator, which judges, must agree."""
    model, inputs = model_of(op_type, operands, **how)
    found = evaluate(import_model(model, make_context(["graph"])), inputs)
    for value, expected in zip(found, evaluator(model).run(None, inputs), strict=True):
        np.testing.assert_allclose(value, np.asarray(expected), rtol=1e-4, atol=1e-5)
    return list(found)


def near(value: np.ndarray, expected: Any) -> None:
    """Equal but for rounding."""
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)


def softmax(x: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def heads(x: np.ndarray, count: int = 3) -> np.ndarray:
    """[batch, place, hidden] as [batch, head, place, size]."""
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, kept: np.ndarray, scale: float = 0.5) -> np.ndarray:
    """Attention of operands with heads to the keys that are kept: [batch, place, hidden]."""
    scores = np.where(kept, q @ k.swapaxes(-1, -2) * scale, -1e30)
    result = (softmax(scores) @ v).swapaxes(1, 2)
    return result.reshape(*result.shape[:2], -1)


def turned(x: np.ndarray, angles: np.ndarray, interleaved: int) -> np.ndarray:
    """Pairs of [batch, head, place, 4], turned by angles of [batch, place, 2]."""
    pairs = x.reshape(*x.shape[:3], 2, 2) if interleaved else x.reshape(*x.shape[:3], 2, 2).swapaxes(-1, -2)
    numbers = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angles)[:, None]
    parts = np.stack([numbers.real, numbers.imag], -1)
    return (parts if interleaved else parts.swapaxes(-1, -2)).reshape(x.shape)
