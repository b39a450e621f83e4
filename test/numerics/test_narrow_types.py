"""Element types of 16 bits and fewer: as inputs, outputs, weights, and what is converted to them."""

from functools import cache

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator

FLOATS = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT6E2M3", "FLOAT6E3M2", "FLOAT4E2M1")
INTEGERS = ("INT4", "UINT4", "INT2", "UINT2")
COUNT = 1536
SOME = settings(max_examples=4, deadline=None)


def _dtype(name: str) -> np.dtype:
    return helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name))


def _model(node: onnx.NodeProto, inputs: dict[str, tuple[str, list[int]]], output: tuple[str, list[int]],
           constants: dict[str, np.ndarray] | None = None) -> onnx.ModelProto:  # fmt: skip
    values = [helper.make_tensor_value_info(n, getattr(TensorProto, t), s) for n, (t, s) in inputs.items()]
    result = helper.make_tensor_value_info("y", getattr(TensorProto, output[0]), output[1])
    weights = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph([node], "narrow", values, [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=12)


def _reference(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> np.ndarray:
    results = evaluator(model).run(None, inputs)
    return np.asarray(results[0]).astype(np.float32)


@cache
def _cast(source: str, target: str, saturate: int = 1) -> tuple[onnx.ModelProto, mnc.Executable]:
    is_float = target.startswith("FLOAT8E") and target != "FLOAT8E8M0"
    more = {"saturate": saturate} if is_float else {}
    node = helper.make_node("Cast", ["x"], ["y"], to=getattr(TensorProto, target), **more)
    model = _model(node, {"x": (source, [COUNT])}, (target, [COUNT]))
    return model, mnc.compile(model)


def _padded(values: np.ndarray) -> np.ndarray:
    return np.resize(values, COUNT).astype(values.dtype)


def _numbers(name: str) -> np.ndarray:
    """All bit patterns of a float format."""
    return np.arange(2 ** {"FLOAT4": 4, "FLOAT6": 6}.get(name[:6], 8), dtype=np.uint8).view(_dtype(name))


def _interesting(name: str) -> np.ndarray:
    """Every number of a format, what lies between two of them, and the singles on either side of both."""
    numbers = _numbers(name).astype(np.float32)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    largest, below = numbers[-1], numbers[-2]
    edges = np.concatenate([numbers, [largest + (largest - below) * k for k in (0.5, 1.0, 8.0)]]).astype(np.float32)
    middles = (edges[1:] / 2 + edges[:-1] / 2).astype(np.float32)
    points = np.concatenate([edges, middles, [np.inf, -np.inf, 1e-30, -1e-30, 3e38]]).astype(np.float32)
    above, below = (np.nextafter(points, np.float32(end)) for end in (np.inf, -np.inf))
    around = np.concatenate([points, above, below])
    normal = around[(np.abs(around) >= np.finfo(np.float32).tiny) | (around == 0)]
    return np.unique(normal)


@pytest.mark.parametrize("name", FLOATS)
def test_every_number_and_what_lies_between(name: str) -> None:
    model, program = _cast("FLOAT", name)
    points = _interesting(name)
    for start in range(0, len(points), COUNT):
        x = _padded(points[start : start + COUNT])
        np.testing.assert_array_equal(program.run({"x": x})["y"], _reference(model, {"x": x}))


def test_beyond_the_numbers_without_saturation() -> None:
    model, program = _cast("FLOAT", "FLOAT8E5M2", 0)
    x = _padded(_interesting("FLOAT8E5M2"))
    wanted = _reference(model, {"x": x})
    assert np.isinf(wanted).any()
    np.testing.assert_array_equal(program.run({"x": x})["y"], wanted)


@SOME
@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(FLOATS), source=st.sampled_from(("FLOAT", "FLOAT16")))
def test_random_bits(seed: int, name: str, source: str) -> None:
    model, program = _cast(source, name)
    rng = np.random.default_rng(seed)
    if source == "FLOAT":
        info = ml_dtypes.finfo(_dtype(name))
        low, high = np.log2(float(info.tiny)) - 6, np.log2(float(info.max)) + 3
        x = (rng.choice((-1, 1), COUNT) * 2 ** rng.uniform(low, high, COUNT)).astype(np.float32)
    else:
        x = rng.integers(0, 2**16, COUNT, dtype=np.uint16).view(np.float16)
        x = np.where(np.isnan(x), np.float16(0), x)
    np.testing.assert_array_equal(program.run({"x": x})["y"], _reference(model, {"x": x}))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("target", ["FLOAT", "FLOAT16"])
def test_every_number_widened(name: str, target: str) -> None:
    model, program = _cast(name, target)
    x = _numbers(name)
    x = _padded(x[~np.isnan(x.astype(np.float32))])
    np.testing.assert_array_equal(program.run({"x": x})["y"], _reference(model, {"x": x}))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("source", ["INT32", "INT8", "UINT8", "FLOAT"])
def test_integers_keep_their_lowest_bits(name: str, source: str) -> None:
    model, program = _cast(source, name)
    info = ml_dtypes.iinfo(_dtype(name))
    wide = np.arange(int(info.min), int(info.max) + 1) if source == "FLOAT" else np.arange(-128, 256)
    x = _padded(wide).astype(_dtype(source))
    np.testing.assert_array_equal(program.run({"x": x})["y"], _reference(model, {"x": x}))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("target", ["INT64", "FLOAT", "INT8", "BOOL"])
def test_every_integer_widened(name: str, target: str) -> None:
    model, program = _cast(name, target)
    info = ml_dtypes.iinfo(_dtype(name))
    x = _padded(np.arange(int(info.min), int(info.max) + 1)).astype(_dtype(name))
    np.testing.assert_array_equal(program.run({"x": x})["y"], _reference(model, {"x": x}))


@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_powers_of_two(round_mode: str) -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E8M0, round_mode=round_mode)
    model = _model(node, {"x": ("FLOAT", [COUNT])}, ("FLOAT8E8M0", [COUNT]))
    rng = np.random.default_rng(4)
    x = np.concatenate([2.0 ** rng.uniform(-125, 128, COUNT - 8), [0, 1, 1.5, 3, 0.75, 2.0**127, 3.4e38, 2.0**-126]])
    x = x.astype(np.float32)
    np.testing.assert_array_equal(mnc.compile(model).run({"x": x})["y"], _reference(model, {"x": x}))


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("name", FLOATS)
def test_nan_and_what_becomes_it(name: str, saturate: int) -> None:
    """Nearest numbers that a format does not have are those behind the last and the one before, continued."""
    model, program = _cast("FLOAT", name, saturate)
    numbers = _numbers(name).astype(np.float32)
    before, last = np.unique(numbers[np.isfinite(numbers)])[-2:]
    between = np.float32(last + (last - before) / 2)
    near = [np.nextafter(between, np.float32(way)) for way in (0, np.inf)]
    x = _padded(np.array([np.nan, -np.nan, np.inf, 1e30, last, between, *near, 0, before, 1.5], np.float32))
    x *= np.where(np.arange(COUNT) % 3, 1, -1).astype(np.float32)
    np.testing.assert_array_equal(program.run({"x": x})["y"], _reference(model, {"x": x}))


def test_nan_that_a_format_does_not_have_is_not_computed_with() -> None:
    text = """<ir_version: 9, opset_import: ["" : 20]> g (float[5] x) => (float[5] y)
        { n = Cast <to = 17, saturate = 0> (x) w = Cast <to = 1> (n) y = Exp (w) }"""
    with pytest.raises(CompileError, match="computes with NaN of a constant") as caught:
        mnc.compile(onnx.parser.parse_model(text))
    assert "exp" in str(caught.value)
    assert "saturate" in (caught.value.hint or "")


def test_powers_of_two_that_would_become_nan() -> None:
    text = """<ir_version: 13, opset_import: ["" : 25]> g (float[5] x) => (float8e8m0[5] y)
        { y = Cast <to = 24, saturate = 0> (x) }"""
    with pytest.raises(CompileError, match="would become NaN"):
        mnc.compile(onnx.parser.parse_model(text))


@pytest.mark.parametrize("name", [*INTEGERS, "INT8", "FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT4E2M1"])
def test_quantized_and_back(name: str) -> None:
    shape, block = [6, 30], 5
    rng = np.random.default_rng(1)
    scale = rng.uniform(0.1, 0.5, (6, 6)).astype(np.float32)
    zero = (np.zeros((6, 6)) if name.startswith("FLOAT") else rng.integers(0, 2, (6, 6))).astype(_dtype(name))
    constants = {"scale": scale, "zero": zero}
    way = {"axis": 1, "block_size": block}
    x = (rng.standard_normal(shape) * 2).astype(np.float32)
    node = helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"], **way)
    model = _model(node, {"x": ("FLOAT", shape)}, (name, shape), constants)
    y = mnc.compile(model).run({"x": x})["y"]
    np.testing.assert_array_equal(y, _reference(model, {"x": x}))
    back = helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["y"], **way)
    model = _model(back, {"x": (name, shape)}, ("FLOAT", shape), constants)
    q = y.astype(_dtype(name))
    np.testing.assert_allclose(mnc.compile(model).run({"x": q})["y"], _reference(model, {"x": q}), rtol=1e-6)


def test_weights_of_four_bits() -> None:
    """Blocks of weights along the contracted dimension, as quantized language models have them."""
    rng = np.random.default_rng(2)
    weights = rng.integers(-8, 8, (64, 24)).astype(ml_dtypes.int4)
    scale = rng.uniform(0.01, 0.1, (4, 24)).astype(np.float32)
    zero = rng.integers(-2, 3, (4, 24)).astype(ml_dtypes.int4)
    nodes = [helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["d"], axis=0, block_size=16),
             helper.make_node("MatMul", ["x", "d"], ["y"])]  # fmt: skip
    model = _model(nodes[0], {"x": ("FLOAT", [5, 64])}, ("FLOAT", [5, 24]),
                   {"w": weights, "scale": scale, "zero": zero})  # fmt: skip
    model.graph.node.append(nodes[1])
    x = rng.standard_normal((5, 64)).astype(np.float32)
    real = (weights.astype(np.float64) - zero.astype(np.float64).repeat(16, 0)) * scale.astype(np.float64).repeat(16, 0)
    y = mnc.compile(model, mnc.Options(precision="single")).run({"x": x})["y"]
    np.testing.assert_allclose(y, x @ real, rtol=1e-5, atol=1e-5)


def test_a_bias_with_one_scale() -> None:
    """A scale of one element counts for all, whatever the axis is, as quantizers write it for a bias."""
    node = helper.make_node("DequantizeLinear", ["x", "scale"], ["y"])
    model = _model(node, {"x": ("INT32", [6])}, ("FLOAT", [6]), {"scale": np.array([0.5], np.float32)})
    x = np.arange(-3, 3, dtype=np.int32)
    np.testing.assert_array_equal(mnc.compile(model).run({"x": x})["y"], x / 2)


def test_types_stay_apart() -> None:
    """CastLike and Where between types that lie in the same one of the machine."""
    like = numpy_helper.from_array(np.zeros((), ml_dtypes.uint4), "like")
    model = _model(helper.make_node("CastLike", ["x", "like"], ["y"]), {"x": ("UINT8", [40])}, ("UINT4", [40]))
    model.graph.initializer.append(like)
    x = np.arange(40, dtype=np.uint8)
    np.testing.assert_array_equal(mnc.compile(model).run({"x": x})["y"], x % 16)


EQUAL_BITS = [("FLOAT", "INT32"), ("UINT32", "FLOAT"), ("INT8", "UINT8"), ("UINT16", "INT16"), ("INT32", "UINT32"),
              ("BOOL", "UINT8")]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), EQUAL_BITS)
def test_equal_bits(source: str, target: str) -> None:
    node = helper.make_node("BitCast", ["x"], ["y"], to=getattr(TensorProto, target))
    for shape in ([3, 17], []):
        model = helper.make_model(
            helper.make_graph([node], "bits", [helper.make_tensor_value_info("x", getattr(TensorProto, source), shape)],
                              [helper.make_tensor_value_info("y", getattr(TensorProto, target), shape)]),
            opset_imports=[helper.make_opsetid("", 26)], ir_version=13)  # fmt: skip
        rng = np.random.default_rng(3)
        x = (rng.standard_normal(shape) * 100).astype(np.float32) if source == "FLOAT" else rng.integers(0, 120, shape)
        x = np.asarray(x).astype(_dtype(source))
        x = np.where(rng.random(shape) < 0.3, -x, x) if source in ("INT8", "INT32") else x
        y = mnc.compile(model).run({"x": np.asarray(x, _dtype(source))})["y"]
        np.testing.assert_array_equal(y.astype(_dtype(target)), np.asarray(x, _dtype(source)).view(_dtype(target)))


@pytest.mark.parametrize("kind", ["FLOAT16", "BFLOAT16", "DOUBLE"])
@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax"])
def test_reductions_of_all_floats_are_divided_among_pes(operator: str, kind: str) -> None:
    """More elements than a PE holds; they are words of 32 bits there, whatever their type."""

    def cycles(own: str) -> int:
        node = helper.make_node(operator, ["x"], ["y"], keepdims=0)
        return mnc.compile(_model(node, {"x": (own, [3 * COUNT])}, (own, [])), {"prefer": ()}).report.cycles

    assert cycles(kind) == cycles("FLOAT")
