"""MaxUnpool against the ONNX reference, behind MaxPool and with indices of its own."""

from typing import Any

import numpy as np
import onnx
import pytest

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.passes.graph.evaluate import evaluate

HEADER = '<ir_version: 8, opset_import: ["": {opset}]>\n'


def _module(text: str, opset: int) -> tuple[onnx.ModelProto, Any]:
    model = onnx.parser.parse_model(HEADER.format(opset=opset) + text)
    return model, import_model(model, make_context(["graph"]))


def _check(text: str, inputs: dict[str, np.ndarray], opset: int = 22) -> np.ndarray:
    model, module = _module(text, opset)
    (expected,) = evaluator(model).run(None, inputs)  # pyright: ignore[reportGeneralTypeIssues]
    with module.context:
        (result,) = evaluate(module, inputs)
    np.testing.assert_array_equal(result, expected)
    return result


def _values(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("opset", [11, 22])
@pytest.mark.parametrize(
    ("shape", "window"),
    [
        ([2, 3, 12], "kernel_shape = [3], strides = [3]"),
        ([2, 3, 6, 8], "kernel_shape = [2, 2], strides = [2, 2]"),
        ([2, 3, 7, 5], "kernel_shape = [3, 3], strides = [2, 1], pads = [1, 0, 1, 0]"),  # windows overlap
        ([1, 2, 5, 5], "kernel_shape = [2, 2]"),
        ([1, 2, 4, 6, 2], "kernel_shape = [2, 3, 1], strides = [2, 3, 1]"),
    ],
)
def test_what_was_pooled_goes_back(shape: list[int], window: str, opset: int) -> None:
    text = f"""g (float{shape} x) => (float{shape} y) {{
        p, i = MaxPool <{window}> (x)
        y = MaxUnpool <{window}> (p, i)
    }}"""
    x = _values(*shape)
    result = _check(text, {"x": x}, opset)
    np.testing.assert_array_equal(result[result != 0], x[result != 0])
    assert result.any()


@pytest.mark.parametrize(
    ("shape", "pool", "unpool", "is_found_among_all"),
    [
        ([2, 3, 6, 8], "kernel_shape = [2, 2], strides = [2, 2]", "", False),
        ([2, 3, 6, 8], "kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]", "", False),
        ([1, 2, 8, 7], "kernel_shape = [2, 1], strides = [3, 2]", "", False),
        ([1, 2, 7, 3], "kernel_shape = [2, 3], strides = [2, 3], pads = [1, 0, 0, 0]", "", False),
        ([1, 1, 5, 4], "kernel_shape = [2, 2], strides = [2, 2]", "", True),  # indices of 5x4 count in 4x4
        ([1, 2, 4, 4], "kernel_shape = [2, 2], strides = [2, 2], storage_order = 1",
         "kernel_shape = [2, 2], strides = [2, 2]", True),
        ([1, 2, 6, 6], "kernel_shape = [2, 2], strides = [2, 2]", "kernel_shape = [3, 3], strides = [2, 2]", True),
    ],
)  # fmt: skip
def test_indices_of_windows_that_are_apart_are_looked_for_in_their_window(
    shape: list[int], pool: str, unpool: str, is_found_among_all: bool
) -> None:
    """Where they come from a MaxPool with the same windows; the values may come from elsewhere."""
    text = f"""g (float{shape} x, float[1] z) => (float[a,b,c,d] y) {{
        p, i = MaxPool <{pool}> (x)
        q = Sub (z, p)
        y = MaxUnpool <{unpool or pool}> (q, i)
    }}"""
    result = _check(text, {"x": _values(*shape), "z": np.ones(1, np.float32)})
    assert result.any()
    behind_the_pooling = str(_module(text, 22)[1]).split("graph.sub")[1]
    assert ('kind = "max"' in behind_the_pooling) == is_found_among_all


@pytest.mark.parametrize("opset", [9, 11, 22])
def test_result_of_a_given_shape_and_indices_from_elsewhere(opset: int) -> None:
    """Indices count the elements of the inferred shape, here 4x4, also where the result is larger. They may lie in
    another image than the values; of several at one place the last one stays."""
    text = """g (float[2,1,2,2] x, int64[2,1,2,2] i) => (float[2,2,5,4] y) <int64[4] form = {2, 2, 5, 4}> {
        y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, form)
    }"""
    indices = np.array([31, 7, 13, 0, 7, 21, 13, 13]).reshape(2, 1, 2, 2)
    _check(text, {"x": _values(2, 1, 2, 2), "i": indices}, opset)


@pytest.mark.parametrize(
    ("indices", "form", "message"),
    [
        ("2,1,2,2", "{2, 1, 3, 4}", "output_shape .* has no room"),
        ("2,1,2,2", "{2, 1, 4, 4, 1}", "'output_shape' must have same number of elements"),
        ("2,1,2,1", "{2, 1, 4, 4}", "its indices have the shape"),
    ],
)
def test_shapes_that_do_not_fit(indices: str, form: str, message: str) -> None:
    text = f"""g (float[2,1,2,2] x, int64[{indices}] i) => (float[a,b,c,d] y)
            <int64[{form.count(",") + 1}] form = {form}> {{
        y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, form)
    }}"""
    with pytest.raises(CompileError, match=message):
        _module(text, 22)
