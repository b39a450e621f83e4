"""Numbers of elements that Resize makes by scales whose product with an extent is rounded up to a whole number."""

import math

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnc
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.reachable_scale import reachable


@given(st.integers(1, 4096), st.integers(1, 4096))
def test_every_size_can_be_reached(extent: int, size: int) -> None:
    scale = np.float32(size / extent)
    found = reachable(float(scale), extent)
    wanted = math.floor(scale * np.float32(extent))
    assert math.floor(float(found) * extent) == math.floor(found * np.float32(extent)) == wanted
    assert scale <= found <= np.nextafter(np.nextafter(scale, np.float32(np.inf)), np.float32(np.inf))


@pytest.mark.parametrize("scale", [math.nan, math.inf, 0.0, -1.0, 1e30])
def test_what_is_no_scale_is_left_to_others(scale: float) -> None:
    np.testing.assert_equal(reachable(scale, 3), np.float32(scale))


@pytest.mark.parametrize(("opset", "operands"), [(10, "x, s"), (13, "x, , s"), (20, "x, , s")])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resized_twice(opset: int, operands: str, mode: str) -> None:
    """7 times 9/7, then 9 times 11/9: rounded down, ONNX's inference finds 8, which exporters contradict."""
    first, second = (", ".join(map(str, (1.0, 1.0, np.float32(p), 1.0))) for p in (9 / 7, 11 / 9))
    again = str.maketrans("xs", "zt")
    text = f"""<ir_version: 9, opset_import: ["" : {opset}]> g (float[1,2,7,3] x) => (float[1,2,11,3] y) {{
        s = Constant <value = float[4] {{{first}}}> () t = Constant <value = float[4] {{{second}}}> ()
        z = Resize <mode = "{mode}"> ({operands}) y = Resize <mode = "{mode}"> ({operands.translate(again)}) }}"""
    model = onnx.parser.parse_model(text)
    x = np.random.default_rng(0).standard_normal((1, 2, 7, 3)).astype(np.float32)
    (found,) = mnc.compile(model).run({"x": x}).values()
    (expected,) = evaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(found, np.asarray(expected), atol=1e-5)


def test_scales_that_are_computed() -> None:
    """As some exporters write them: put together from constants."""
    text = f"""<ir_version: 9, opset_import: ["" : 13]> g (float[1,2,7,3] x) => (float[1,2,9,3] y) {{
        a = Constant <value = float[2] {{1, 1}}> () b = Constant <value = float[2] {{{np.float32(9 / 7)}, 1}}> ()
        s = Concat <axis = 0> (a, b) y = Resize <mode = "nearest"> (x, , s) }}"""
    model = onnx.parser.parse_model(text)
    x = np.random.default_rng(0).standard_normal((1, 2, 7, 3)).astype(np.float32)
    (found,) = mnc.compile(model).run({"x": x}).values()
    (expected,) = evaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(found, np.asarray(expected))
