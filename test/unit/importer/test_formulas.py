"""Operators that the importer writes as formulas: DFT with lengths of its own, and functions near 0 and far out."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.evaluator import evaluator

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate


def _run(text: str, **inputs: np.ndarray) -> Any:
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> g {text}')
    return evaluate(import_model(model, make_context(["graph"])), inputs)[0]


def _interleaved(z: Any) -> np.ndarray:
    return np.stack([z.real, z.imag], axis=-1).astype(np.float32)


@pytest.mark.parametrize(("given", "length"), [(8, 8), (7, 7), (5, 9), (9, 5), (1, 1)])
@pytest.mark.parametrize("inverse", [0, 1])
def test_dft_of_complex_numbers(given: int, length: int, inverse: int) -> None:
    rng = np.random.default_rng(given)
    z = rng.standard_normal((3, given)) + 1j * rng.standard_normal((3, given))
    text = f"""(float[3,{given},2] x) => (float[3,n,2] y) {{
        l = Constant <value = int64 {{{length}}}> () y = DFT <inverse = {inverse}> (x, l) }}"""
    wanted = (np.fft.ifft if inverse else np.fft.fft)(z, length)
    np.testing.assert_allclose(_run(text, x=_interleaved(z)), _interleaved(wanted), atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 6, 7])
def test_half_of_the_spectrum_there_and_back(length: int) -> None:
    x = np.random.default_rng(length).standard_normal((length, 4)).astype(np.float32)
    count = length // 2 + 1
    text = f"""(float[{length},4,1] x) => (float[n,4,2] y) {{
        e = Constant <value = int64 {{0}}> () y = DFT <onesided = 1> (x, "", e) }}"""
    spectrum = _run(text, x=x[..., None])
    np.testing.assert_allclose(spectrum, _interleaved(np.fft.rfft(x, axis=0)), atol=1e-5)
    text = f"""(float[{count},4,2] x) => (float[n,4,1] y) {{
        e = Constant <value = int64 {{0}}> () l = Constant <value = int64 {{{length}}}> ()
        y = DFT <onesided = 1, inverse = 1> (x, l, e) }}"""
    np.testing.assert_allclose(_run(text, x=spectrum)[..., 0], x, atol=1e-5)


POSITIVE = np.array([1e-30, 1e-6, 1e-3, 0.1, 0.49, 0.51, 0.9, 1.5, 20.0, 80.0, 1e5, 3e6, 1e30], np.float32)
BOTH = np.concatenate([POSITIVE, -POSITIVE, [0.0]]).astype(np.float32)


@pytest.mark.parametrize(
    ("op_type", "function", "values"),
    [
        ("Sinh", np.sinh, BOTH[np.abs(BOTH) < 88]),
        ("Cosh", np.cosh, BOTH[np.abs(BOTH) < 88]),
        ("Asinh", np.arcsinh, BOTH),
        ("Acosh", np.arccosh, np.concatenate([[1.0], 1 + POSITIVE]).astype(np.float32)),
        ("Atanh", np.arctanh, BOTH[np.abs(BOTH) < 1]),
        ("Tan", np.tan, BOTH[np.abs(BOTH) < 100]),
    ],
)
def test_small_and_large_arguments_keep_their_relative_accuracy(
    op_type: str, function: Any, values: np.ndarray
) -> None:
    got = _run(f"(float[{len(values)}] x) => (float[n] y) {{ y = {op_type} (x) }}", x=values)
    np.testing.assert_allclose(got, function(values.astype(np.float64)), rtol=2e-6)


@pytest.mark.parametrize(("start", "limit", "delta"), [(10.0, 1.0, -0.7), (0.0, 5.0, 0.3), (0.0, -1.0, 1.0)])
def test_elements_of_a_range_are_multiples(start: float, limit: float, delta: float) -> None:
    """Of the step from the start, each rounded by itself; NumPy adds up steps that are rounded."""
    first, step = np.float32(start), np.float32(delta)
    count = max(0, int(np.ceil((limit - start) / delta)))
    expected = first + np.arange(count, dtype=np.float32) * step
    bounds = " ".join(f"{name} = Constant <value = float {{{value}}}> ()" for name, value in
                      (("a", start), ("b", limit), ("c", delta)))  # fmt: skip
    text = f"() => (float[{count}] y) {{ {bounds} y = Range (a, b, c) }}"
    np.testing.assert_array_equal(_run(text), expected)
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> g {text}')
    (reference,) = evaluator(model).run(None, {})
    np.testing.assert_array_equal(np.asarray(reference), expected)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 2, 7), (2, 3)])
def test_norm_of_a_channel(shape: tuple[int, ...], p: int) -> None:
    x = np.random.default_rng(p).standard_normal(shape).astype(np.float32)
    expected = (np.abs(x.astype(np.float64)) ** p).sum(axis=tuple(range(2, len(shape))), keepdims=True) ** (1 / p)
    results = ",".join(map(str, expected.shape))
    text = f"(float[{','.join(map(str, shape))}] x) => (float[{results}] y) {{ y = GlobalLpPool <p = {p}> (x) }}"
    np.testing.assert_allclose(_run(text, x=x), expected, rtol=1e-5)
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> g {text}')
    (reference,) = evaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(np.asarray(reference), expected, rtol=1e-5)
