"""What exporters of other frameworks write, shrunk: models that a user brings, not ones that we would write."""

from typing import Any

import numpy as np
import onnx
import pytest

import mnc
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.options import Options
from mnc.stages import stage_pipeline

NAN, INFINITE = np.float32(np.nan), np.float32(np.inf)


def parsed(text: str, opset: int = 18) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')


def test_nan_is_seen_where_the_host_gave_it() -> None:
    x = np.array([1, NAN, -NAN, INFINITE, -INFINITE, 0, -0.0, 1e-38], np.float32)
    asked = mnc.compile(parsed("g (float[8] x) => (bool[8] y) { y = IsNaN (x) }"))
    np.testing.assert_array_equal(asked.run({"x": x})["y"], np.isnan(x))
    computed = mnc.compile(parsed("g (float[8] x) => (bool[8] y) { w = Add (x, x) y = IsNaN (w) }"))
    with pytest.raises(CompileError, match="'x' are NaN"):
        computed.run({"x": x})


def test_rows_that_a_mask_hides_are_cleared() -> None:
    """PyTorch's attention: rows of which nothing is left become NaN by softmax, and zero after it."""
    model = parsed("""g (float[4,5] x) => (float[4,5] y) {
        s = Softmax <axis = -1> (x) n = IsNaN (s) zero = Constant <value_float = 0.0> () y = Where (n, zero, s)
    }""")
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    x[1], x[2, 1:], x[3, 2] = -INFINITE, -INFINITE, -INFINITE
    got = mnc.compile(model).run({"x": x})["y"]
    powers = np.exp(x - np.where(np.isfinite(x), x, 0).max(axis=1, keepdims=True))
    want = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-30)
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("count", [5, 31, 32, 70])
def test_reference_gathers_all_elements(count: int) -> None:
    types = f"g (int64[2,9] x, int64[1,{count}] i) => (int64[1,{count}] y)"
    model = parsed(types + "{ y = GatherElements <axis = 1> (x, i) }")
    x = np.arange(18).reshape(2, 9)
    indices = np.random.default_rng(0).integers(-9, 9, (1, count))
    results: Any = evaluator(model).run(None, {"x": x, "i": indices})
    np.testing.assert_array_equal(results[0], x[0][indices])


def test_table_of_embeddings_that_no_pe_can_hold() -> None:
    """Rows of the table are spread over the chip, too; the sum over them adds one number to zeros and is exact."""
    rows, width, tokens = 2300, 256, 18
    types = f"g (float[{rows},{width}] w, int64[1,{tokens}] x) => (float[1,{tokens},{width}] y)"
    model = parsed(types + "{ y = Gather (w, x) }")
    rng = np.random.default_rng(0)
    w = rng.standard_normal((rows, width)).astype(np.float32)
    x = rng.integers(-rows, rows, (1, tokens))
    np.testing.assert_array_equal(mnc.compile(model).run({"w": w, "x": x})["y"], w[x])


@pytest.mark.parametrize(("channels", "kernel", "extents"), [(3, 7, (21, 35)), (5, 3, (15, 21)), (3, 4, (13, 19))])
def test_patches_of_an_input_arrive_as_rows(channels: int, kernel: int, extents: tuple[int, int]) -> None:
    """A convolution by steps as wide as its window is a product, for which the host arranges the patches."""
    x_type, w_type = f"float[1,{channels},{extents[0]},{extents[1]}]", f"float[24,{channels},{kernel},{kernel}]"
    conv = f"Conv <kernel_shape = [{kernel}, {kernel}], strides = [{kernel}, {kernel}]> (x, w, b)"
    model = parsed(f"g ({x_type} x, {w_type} w, float[24] b) => (float[n,c,h,v] y) {{ y = {conv} }}")
    module = mnc.import_model(model, make_context())
    for stage in ("graph", "linalg", "spmd"):
        stage_pipeline(stage, Options()).run(module)
    text = module.operation.get_asm(large_elements_limit=1)
    assert "mncore.gather" not in text or any(extent % kernel for extent in extents)  # what no window reads is cut off
    rng = np.random.default_rng(0)
    shapes = {"x": (1, channels, *extents), "w": (24, channels, kernel, kernel), "b": (24,)}
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    results: Any = evaluator(model).run(None, inputs)
    want = results[0]
    got = mnc.compile(model).run(inputs)["y"]
    assert np.abs(got - want).max() <= 2**-14 * np.abs(want).max()


@pytest.mark.parametrize(
    ("kernel", "strides", "pads", "widened", "extents"),
    [
        ((2, 2), (2, 2), (0, 0, 0, 0), (0, 0), (5, 4)),
        ((4, 4), (2, 2), (1, 1, 1, 1), (0, 0), (5, 4)),
        ((3, 2), (1, 3), (0, 0, 1, 0), (0, 1), (5, 4)),
        ((2, 3), (3, 2), (0, 0, 0, 0), (0, 1), (3, 4)),
        ((5, 5), (2, 3), (2, 1, 2, 1), (1, 0), (4, 1)),
        ((4, 3), (1, 1), (0, 1, 0, 0), (0, 0), (1, 1)),
    ],
)
def test_transposed_convolutions_that_spread_their_input(kernel, strides, pads, widened, extents) -> None:
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads, "output_padding": widened}
    written = ", ".join(f"{name} = {list(numbers)}" for name, numbers in attributes.items())
    types = f"float[2,6,{extents[0]},{extents[1]}] x, float[6,5,{kernel[0]},{kernel[1]}] w, float[5] b"
    model = parsed(f"g ({types}) => (float[n,c,h,v] y) {{ y = ConvTranspose <{written}> (x, w, b) }}")
    rng = np.random.default_rng(0)
    shapes = {"x": (2, 6, *extents), "w": (6, 5, *kernel), "b": (5,)}
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    results: Any = evaluator(model).run(None, inputs)
    want = results[0]
    got = mnc.compile(model).run(inputs)["y"]
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 2**-14 * np.abs(want).max()


@pytest.mark.parametrize(("mode", "scales"), [("linear", (2.0, 1.5)), ("cubic", (1.5, 2.0)), ("nearest", (3.0, 2.0))])
def test_resizing_reads_nothing_at_computed_places(mode: str, scales: tuple[float, float]) -> None:
    """Interpolation is a product with the matrix of its weights, a repetition is a broadcast: exact, and cheap."""
    text = f"s = Constant <value = float[4] {{1.0, 1.0, {scales[0]}, {scales[1]}}}> ()"
    how = f'mode = "{mode}", coordinate_transformation_mode = "half_pixel"'
    model = parsed(f'g (float[1,4,6,10] x) => (float[a,b,c,d] y) {{ {text} y = Resize <{how}> (x, "", s) }}')
    assert "graph.gather" not in str(mnc.import_model(model, make_context()))
    x = np.random.default_rng(0).standard_normal((1, 4, 6, 10)).astype(np.float32)
    results: Any = evaluator(model).run(None, {"x": x})
    got = mnc.compile(model).run({"x": x})["y"]
    assert np.abs(got - results[0]).max() <= (0 if mode == "nearest" else 2**-14 * np.abs(results[0]).max())


def test_patches_of_an_image_by_two_gathers() -> None:
    """What PyTorch makes of `unfold`: rows are chosen, then columns, by indices of two dimensions each."""
    model = parsed("""g (float[1,4,16,16] x, int64[3,7] i) => (float[1,36,49] y) {
        n = Constant <value_ints = [1, 36, 49]> ()
        a = Gather <axis = 2> (x, i) b = Gather <axis = 4> (a, i)
        t = Transpose <perm = [0, 1, 2, 4, 3, 5]> (b) y = Reshape (t, n)
    }""")
    x = np.random.default_rng(0).standard_normal((1, 4, 16, 16)).astype(np.float32)
    places = np.arange(3)[:, None] + 2 * np.arange(7)
    rows = x[:, :, places][..., places].transpose(0, 1, 2, 4, 3, 5)
    np.testing.assert_array_equal(mnc.compile(model).run({"x": x, "i": places})["y"], rows.reshape(1, 36, 49))
