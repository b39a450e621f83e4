"""Operators that sample at computed places, spectra, determinants and caches: numbers of the ONNX reference."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnc
from mnc.accuracy.worst_case import error_bounds
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator

from .one_layout import one_layout

SOME = settings(max_examples=2, deadline=None)


def check(text: str, inputs: dict[str, np.ndarray], opset: int = 22) -> None:
    """Compile, run and compare within what error analysis says of these inputs."""
    ir_version = 10 if opset < 24 else 12
    model = onnx.parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]> {text}')
    wanted = evaluator(model).run(None, dict(inputs))
    found = mnc.compile(model, mnc.Options(precision="single", prefer=one_layout(text))).run(inputs)
    for entry, want, bound in zip(model.graph.output, wanted, error_bounds(model, inputs, "single"), strict=True):
        value = np.asarray(want)
        assert found[entry.name].shape == value.shape
        assert np.all(np.abs(found[entry.name] - value) <= bound + 1e-30)
        # Sampling between elements is continuous, which the analysis does not know: near an element its bound is wide.
        assert np.all(np.abs(found[entry.name] - value) <= 2.0**-14 * max(np.abs(value).max(), 1))


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _boxes(rng: np.random.Generator, count: int, height: int, width: int) -> np.ndarray:
    """Some of them leave the image, and some are points."""
    ends = rng.uniform(-3, 2 * max(height, width) + 3, (count, 2, 2))
    low, high = ends.min(1), ends.max(1)
    high[0] = low[0]
    return np.concatenate([low, high], axis=1).astype(np.float32)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("form", ["half_pixel", "output_half_pixel"])
@SOME
@given(batch=st.integers(1, 3), sizes=st.tuples(*[st.integers(2, 7)] * 2), count=st.integers(1, 4),
       pooled=st.tuples(*[st.integers(1, 3)] * 2), samples=st.integers(1, 3), seed=st.integers(0, 99))  # fmt: skip
def test_roi_align(mode: str, form: str, batch: int, sizes: tuple[int, int], count: int, pooled: tuple[int, int],
                   samples: int, seed: int) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    height, width = sizes
    inputs = {"x": _normal(rng, batch, 5, height, width), "r": _boxes(rng, count, height, width),
              "b": rng.integers(0, batch, count)}  # fmt: skip
    check(f"""g (float[{batch},5,{height},{width}] x, float[{count},4] r, int64[{count}] b)
        => (float[{count},5,{pooled[0]},{pooled[1]}] y) {{ y = RoiAlign <output_height = {pooled[0]},
        output_width = {pooled[1]}, sampling_ratio = {samples}, spatial_scale = 0.5, mode = "{mode}",
        coordinate_transformation_mode = "{form}"> (x, r, b) }}""", inputs)  # fmt: skip


def test_the_boxes_do_not_decide_how_many_points() -> None:
    text = """g (float[1,2,8,8] x, float[3,4] r, int64[3] b) => (float[3,2,2,2] y) {
        y = RoiAlign <output_height = 2, output_width = 2> (x, r, b) }"""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 22]> {text}')
    with pytest.raises(CompileError, match="sampling_ratio is 0"):
        mnc.compile(model)


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("padding", ["border", "reflection", "zeros"])
def test_cubic_samples_near_the_border(padding: str, aligned: int) -> None:
    rng = np.random.default_rng(aligned)
    inputs = {"x": _normal(rng, 1, 2, 4, 5), "g": rng.uniform(-1.6, 1.6, (1, 3, 11, 2)).astype(np.float32)}
    check(f"""g (float[1,2,4,5] x, float[1,3,11,2] g) => (float[1,2,3,11] y) {{ y = GridSample <mode = "cubic",
        padding_mode = "{padding}", align_corners = {aligned}> (x, g) }}""", inputs)  # fmt: skip


CONVOLUTIONS = [  # batch, channels, filters, group, offset groups, kernel, strides, pads, dilations
    (1, 4, 6, 1, 1, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    (2, 4, 6, 2, 2, (2, 3), (2, 1), (0, 1, 1, 0), (1, 2)),
    (1, 6, 3, 3, 2, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
]


@pytest.mark.parametrize(("case", "more"), zip(CONVOLUTIONS, (", b", ", b, m", ", , m"), strict=True))
def test_deformed_convolution(case: tuple, more: str) -> None:
    batch, channels, filters, group, offsets, kernel, strides, pads, dilations = case
    height, width = 5, 4
    out = [(n + pads[i] + pads[2 + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
           for i, n in enumerate((height, width))]  # fmt: skip
    rng = np.random.default_rng(len(more) + channels)
    taps = kernel[0] * kernel[1]
    shapes = {"x": (batch, channels, height, width), "w": (filters, channels // group, *kernel),
              "o": (batch, offsets * taps * 2, *out), "b": (filters,), "m": (batch, offsets * taps, *out)}  # fmt: skip
    used = {name: shape for name, shape in shapes.items() if name in "xwo" or name in more}
    inputs = {name: _normal(rng, *shape) for name, shape in used.items()}
    inputs["o"] *= 3  # many places outside
    given = ", ".join(f"float[{','.join(map(str, shape))}] {name}" for name, shape in used.items())
    lists = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations}
    attributes = ", ".join(f"{name} = [{','.join(map(str, value))}]" for name, value in lists.items())
    attributes += f", group = {group}, offset_group = {offsets}"
    check(f"""g ({given}) => (float[{batch},{filters},{out[0]},{out[1]}] y) {{
        y = DeformConv <{attributes}> (x, w, o{more}) }}""", inputs)


@pytest.mark.parametrize("shape", [(1, 1), (5, 2, 2), (2, 3, 3, 3), (4, 4), (7, 5, 5), (6, 6)])
def test_determinants(shape: tuple[int, ...]) -> None:
    dims = ",".join(map(str, shape))
    result = f"float[{shape[0]}]" if len(shape) > 2 else "float"
    result = f"float[{shape[0]},{shape[1]}]" if len(shape) > 3 else result
    check(f"g (float[{dims}] x) => ({result} y) {{ y = Det (x) }}",
          {"x": _normal(np.random.default_rng(1), *shape)})  # fmt: skip


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("size", "step"), [(16, 8), (15, 4), (9, 9)])
@pytest.mark.parametrize("window", [False, True])
def test_short_time_spectra(parts: int, size: int, step: int, window: bool) -> None:
    rng = np.random.default_rng(size)
    onesided = int(parts == 1)
    bins, frames = size // 2 + 1 if onesided else size, (70 - size) // step + 1
    argument = f", float[{size}] w" if window else ""
    inputs = {"x": _normal(rng, 2, 70, parts)} | ({"w": _normal(rng, size)} if window else {})
    check(f"""g (float[2,70,{parts}] x{argument}) => (float[2,{frames},{bins},2] y) {{
        s = Constant <value = int64 {{{step}}}> () n = Constant <value = int64 {{{size}}}> ()
        y = STFT <onesided = {onesided}> (x, s, {"w" if window else ""}, n) }}""", inputs)  # fmt: skip


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("rows", [1, 3, 6])
def test_rows_of_a_cache(mode: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    places = np.array([2, 0, 11 if mode == "circular" else 5])
    inputs = {"x": _normal(rng, 3, 2, 12, 5), "u": _normal(rng, 3, 2, rows, 5), "i": places}
    check(f"""g (float[3,2,12,5] x, float[3,2,{rows},5] u, int64[3] i) => (float[3,2,12,5] y) {{
        y = TensorScatter <mode = "{mode}"> (x, u, i) }}""", inputs, 24)  # fmt: skip
    inputs.pop("i")
    check(f"""g (float[3,2,12,5] x, float[3,2,{rows},5] u) => (float[3,2,12,5] y) {{
        y = TensorScatter <mode = "{mode}"> (x, u) }}""", inputs, 24)  # fmt: skip
