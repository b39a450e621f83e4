"""Training steps of models whose output is no row of classes: mean square error of outputs of any shape."""

import numpy as np
import onnx
import pytest

from mnc.core.diagnostics import CompileError
from mnc.options import Options
from mnc.training import training_step
from mnc.training.backends import compile_program

HEADER = '<ir_version: 8, opset_import: ["": 18]>\n'
RATE = 0.5
TENSOR = """g (float[n,4] x) => (float[{result}] y) <int64[3] form = {{-1, 3, 4}}> {{
    h = MatMul (x, w)
    y = Reshape (h, form)
}}"""
CONVOLUTION = """g (float[n,2,5,6] x) => (float[n,3,5,6] y) {
    y = Conv <pads = [1, 1, 1, 1]> (x, w)
}"""


def _model(text: str, weight: np.ndarray) -> onnx.ModelProto:
    model = onnx.parser.parse_model(HEADER + text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    return model


def _values(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _check(text: str, x: np.ndarray, matrix: np.ndarray, w: np.ndarray, shape: tuple[int, ...], backend: str) -> None:
    """A step beside that of numpy, for which the output is `matrix` (a row for each number but those of a channel or
    column) times the weights."""
    step = training_step(_model(text, w), batch=len(x), loss="mse", learning_rate=RATE)
    labels = _values(3, *shape)
    run = compile_program(step.module(), backend, Options("single"))
    outputs = run({**step.initial, step.forward.data: x, step.labels: labels})
    columns = w.reshape(len(w), -1).T if w.ndim > 2 else w
    rows = np.moveaxis(labels, 1, -1).reshape(-1, len(w)) if w.ndim > 2 else labels.reshape(len(x), -1)
    difference = matrix @ columns - rows
    slope = 2 * matrix.T @ difference / difference.size
    np.testing.assert_allclose(outputs[step.loss], np.mean(difference**2), rtol=1e-5)
    wanted = w - RATE * (slope.T.reshape(w.shape) if w.ndim > 2 else slope)
    np.testing.assert_allclose(outputs[step.updates["w"]], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", ["cpu", "emulator"])
@pytest.mark.parametrize("result", ["n,3,4", "n,a,b", "m,3,4"])
def test_tensor_of_three_dimensions(result: str, backend: str) -> None:
    """Extents that the model does not declare follow from its nodes."""
    x = _values(1, 6, 4)
    _check(TENSOR.format(result=result), x, x, _values(2, 4, 12), (6, 3, 4), backend)


@pytest.mark.parametrize("backend", ["cpu", "emulator"])
def test_images(backend: str) -> None:
    x = _values(1, 4, 2, 5, 6)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    matrix = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, 18)
    _check(CONVOLUTION, x, matrix, _values(2, 3, 2, 3, 3), (4, 3, 5, 6), backend)


@pytest.mark.parametrize(("batch", "rows"), [(1, 2), (3, 6)])
def test_labels_have_the_shape_of_an_output_with_more_rows_than_samples(batch: int, rows: int) -> None:
    """Labels for a batch of one would be repeated for all rows, were they of one row."""
    text = "g (float[n,4] x) => (float[m,6] y) <int64[2] form = {-1, 6}> {"
    step = training_step(
        _model(text + "h = MatMul (x, w) y = Reshape (h, form) }", _values(2, 4, 12)), batch=batch, loss="mse"
    )
    run = compile_program(step.module(), "cpu", Options("single"))
    outputs = run({**step.initial, "x": _values(1, batch, 4), step.labels: np.zeros((rows, 6), np.float32)})
    assert np.isfinite(outputs[step.loss])


def test_cross_entropy_keeps_its_rows_of_classes() -> None:
    model = _model(TENSOR.format(result="n,3,4"), _values(2, 4, 12))
    with pytest.raises(CompileError, match=r"'y' must be \[batch, classes\] with a fixed number of classes"):
        training_step(model, batch=6)
