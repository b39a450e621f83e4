"""Products of 8-bit integers and unsigned results: every bit, on the emulator."""

import hypothesis.strategies as st
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from onnx.reference import ReferenceEvaluator

import mnc
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.ops.integer_products import EXACT, _pieces

from .one_layout import one_layout

TYPES = {"int8": np.int8, "uint8": np.uint8}
ENDS = {"int8": (-128, 127), "uint8": (0, 255)}


def check(text: str, inputs: dict[str, np.ndarray]) -> None:
    """Compile, run, and compare with the ONNX reference, exactly."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    onnx.checker.check_model(model)
    wanted = ReferenceEvaluator(model).run(None, inputs)
    found = mnc.compile(model, mnc.Options(prefer=one_layout(text))).run(inputs)
    for entry, want in zip(model.graph.output, wanted, strict=True):
        assert np.array_equal(found[entry.name].astype(np.int64), np.asarray(want).astype(np.int64))


def extreme(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values of which many are the ends of the range, where sums are largest."""
    ends = rng.choice(ENDS[kind], shape)
    return np.where(rng.random(shape) < 0.7, ends, rng.integers(ENDS[kind][0], ENDS[kind][1] + 1, shape)).astype(
        TYPES[kind]
    )


@given(
    st.integers(1, 9), st.integers(1, 900), st.integers(1, 9),
    st.sampled_from(sorted(TYPES)), st.sampled_from(sorted(TYPES)), st.booleans(), st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=6, deadline=None)
def test_products_are_exact(m: int, k: int, n: int, left: str, right: str, zeros: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = {"a": extreme(rng, left, (m, k)), "b": extreme(rng, right, (k, n))}
    if zeros:
        inputs |= {"p": extreme(rng, left, ()), "q": extreme(rng, right, ())}
    signature = f"{left}[{m},{k}] a, {right}[{k},{n}] b" + (f", {left} p, {right} q" if zeros else "")
    names = ", ".join(inputs)
    check(f"g ({signature}) => (int32[{m},{n}] y) {{ y = MatMulInteger ({names}) }}", inputs)


@pytest.mark.parametrize(("channels", "group"), [(40, 1), (6, 2)])
def test_convolutions_are_exact(channels: int, group: int) -> None:
    rng = np.random.default_rng(channels)
    shape = 4, channels // group, 3, 3
    check(
        f"""g (uint8[1,{channels},5,6] x, uint8[{",".join(map(str, shape))}] w, uint8 p, uint8[1] q)
        => (int32[1,4,5,6] y) {{ y = ConvInteger <pads = [1,1,1,1], group = {group}> (x, w, p, q) }}""",
        {
            "x": extreme(rng, "uint8", (1, channels, 5, 6)), "w": extreme(rng, "uint8", shape),
            "p": np.uint8(3), "q": np.array([128], np.uint8),
        },
    )  # fmt: skip


def test_quantized_convolution_with_scales_per_channel() -> None:
    rng = np.random.default_rng(0)
    check(
        """g (uint8[2,3,7,5] x, int8[4,3,3,3] w, int32[4] b) => (uint8[2,4,4,3] y)
        <float s = {0.02}, uint8 p = {120}, float[4] t = {0.001, 0.002, 0.004, 0.01}, int8[4] q = {0, 0, 0, 0},
         float u = {0.1}, uint8 r = {128}>
        { y = QLinearConv <pads = [1,1,1,1], strides = [2,2]> (x, s, p, w, t, q, u, r, b) }""",
        {
            "x": extreme(rng, "uint8", (2, 3, 7, 5)), "w": extreme(rng, "int8", (4, 3, 3, 3)),
            "b": rng.integers(-3000, 3000, 4).astype(np.int32),
        },
    )  # fmt: skip


def test_sums_are_cut_only_as_far_as_they_have_to_be() -> None:
    assert _pieces(300, lambda start, stop: (stop - start) * 100) == [(0, 300)]
    assert _pieces(300, lambda start, stop: (stop - start) * EXACT // 150) == [(0, 100), (100, 200), (200, 300)]
    assert _pieces(2, lambda start, stop: EXACT) is None


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "BitwiseXor", "Max"])
def test_unsigned_results_have_no_sign(operator: str) -> None:
    x = np.array([0, 1, 100, 127, 128, 200, 255], np.uint8)
    inputs = {"x": x, "f": x[::-1].astype(np.float32)}
    check(f"g (uint8[7] x, float[7] f) => (uint8[7] y) {{ c = Cast <to = 2> (f) y = {operator} (x, c) }}", inputs)


def test_unsigned_inputs_get_a_sign_with_the_type() -> None:
    x = np.array([0, 1, 127, 128, 200, 255], np.uint8)
    check("g (uint8[6] x) => (int8[6] y, int32[6] z) { y = Cast <to = 3> (x) z = Cast <to = 6> (y) }", {"x": x})


@pytest.mark.parametrize("value", [2**24 + 1, 2**31 - 1, -(2**31) + 1])
def test_padding_keeps_all_bits(value: int) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        g (int32[3] x) => (int32[5] y) <int32 value = {{{value}}}, int64[2] pads = {{1, 1}}> {{
            y = Pad(x, pads, value)
        }}"""
    )
    x = np.array([1, -2, 3], np.int32)
    assert mnc.compile(model).run({"x": x})["y"].tolist() == [value, 1, -2, 3, value]


@pytest.mark.parametrize("shape", [(6, 4, 17, 6), (4999,)])
@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"])
def test_reductions_of_more_than_a_pe_holds(operator: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    if operator == "ReduceProd":
        x = rng.choice([-1, 1], shape)
        x.flat[:: len(x.flat) // 9] = 3
    else:
        x = rng.integers(-(2**17), 2**17, shape)
    kept = ",".join("1" * len(shape))
    text = f"g (int32[{','.join(map(str, shape))}] x) => (int32[{kept}] y) {{ y = {operator} (x) }}"
    check(text, {"x": x.astype(np.int32)})


@pytest.mark.parametrize("last", [0, 1])
def test_the_place_of_the_largest_of_many_integers(last: int) -> None:
    x = np.random.default_rng(last).integers(-9, 9, (2, 4999)).astype(np.int32)
    node = f"ArgMax <axis = 1, select_last_index = {last}>"
    check(f"g (int32[2,4999] x) => (int64[2,1] y) {{ y = {node} (x) }}", {"x": x})


@pytest.mark.parametrize("kind", ["int8", "int16", "int32"])
@pytest.mark.parametrize("node", ["Abs (x)", "Div (x, z)", "Neg (x)"])
def test_the_least_integer_has_no_opposite(node: str, kind: str) -> None:
    """As in numpy, it stays what it is: a word of the machine has room for its opposite, the type has not."""
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    inputs = {"x": np.array([low, low + 1, high, 0, -1], kind), "z": np.full(5, -1, kind)}
    read = {name: value for name, value in inputs.items() if name in node}
    signature = ", ".join(f"{kind}[5] {name}" for name in read)
    check(f"g ({signature}) => (int32[5] w, {kind}[5] y) {{ y = {node} w = Cast <to = 6> (y) }}", read)


def test_the_mean_of_integers_is_refused() -> None:
    text = "g (int32[4] x, int32[4] z) => (int32[4] y) { y = Mean (x, z) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    with pytest.raises(CompileError, match=r"'Mean_0'.*holds int32, which Mean is not defined for"):
        mnc.compile(model)


def test_unsigned_words_keep_their_highest_bit() -> None:
    """In results, in inputs and in constants."""
    x, v = (np.array([1, 2**31, 2**32 - 1, 5], kind) for kind in (np.uint32, np.uint64))
    types = "(uint32[4] x, uint64[4] v) => (uint32[4] y, uint32[4] z, uint64[4] w)"
    check(f"g {types} <uint32 c = {{3000000000}}> {{ y = Max (x, c) z = Min (x, c) w = Max (v, v) }}", {"x": x, "v": v})


def test_unsigned_words_are_so_many() -> None:
    program = mnc.compile(onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (uint32[1] x) => (uint32[1] y) { y = Identity (x) }'
    ))  # fmt: skip
    assert program.run({"x": np.array([2**32 - 1], np.uint32)})["y"].dtype == np.uint32
    with pytest.raises(CompileError, match="outside 0 to 4294967295"):
        program.run({"x": np.array([-1])})


@pytest.mark.parametrize(
    "text",
    [
        "(float[3,0] x) => (float[3] y) <int64[1] a = {1}> { y = ReduceProd <keepdims = 0> (x, a) }",
        "(float[5,8] x) => (float[5,8] y) <int64[0,1] i = {}, float[0,8] u = {}> { y = ScatterND (x, i, u) }",
        "(float[5,8] x) => (float[5,8] y) <int64[0,8] i = {}, float[0,8] u = {}> { y = ScatterElements (x, i, u) }",
        "(float[5,8] x) => (float[5,0] y, int64[5,0] i) <int64[1] k = {0}> { y, i = TopK (x, k) }",
    ],
    ids=["product", "slices", "elements", "first"],
)
def test_nothing_to_compute_with(text: str) -> None:
    shape = (3, 0) if "[3,0]" in text else (5, 8)
    check(f"g {text}", {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)})


C = np.array([3_000_000_000, 1, 2, 2_999_999_999, 2**32 - 1, 2**31], np.uint64)
E = np.array([3, 1, 7, 2_147_483_649, 9, 11], np.uint64)


@pytest.mark.parametrize(
    "body",
    ["y = Add (x, c)", "y = Max (x, c)", "y = Div (c, e)", "y = Mod (c, e)", "l = Less (x, c) y = Where (l, x, c)",
     'y = BitShift <direction = "RIGHT"> (c, x)', "y = Clip (x, , m)"],
)  # fmt: skip
def test_constants_of_64_bits_without_a_sign(body: str) -> None:
    """Those that a word of 32 bits holds; what is too large in a result is cut off."""
    m = np.array(3_500_000_000, np.uint64)
    x = np.array([5, 1, 7, 3, 11, 0], np.uint64)
    text = f"g (uint64[6] x) => (uint64[6] y) {{ {body} }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for n, v in (("c", C), ("e", E), ("m", m)))
    (want,) = evaluator(model).run(None, {"x": x})
    assert np.array_equal(mnc.compile(model).run({"x": x})["y"], np.asarray(want).astype(np.uint32))


def test_a_constant_beyond_32_bits_is_refused() -> None:
    text = "g (uint64[2] x) => (uint64[2] y) <uint64[2] c = {4294967296, 1}> { y = Add (x, c) }"
    with pytest.raises(CompileError, match="the constant 4294967296 does not fit 32-bit integers"):
        mnc.compile(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}'))


SHIFTS = {
    "right, beyond what is held": ('y = BitShift <direction = "RIGHT"> (x, c)', 40, 0),
    "left, beyond the type": ('y = BitShift <direction = "LEFT"> (x, c)', 70, 0),
    "there and back, of a constant": (
        'd = Constant <value = uint64 {38}> () v = Constant <value = uint64 {5}> () '
        'l = BitShift <direction = "LEFT"> (v, c) r = BitShift <direction = "RIGHT"> (l, d) '
        'z = BitShift <direction = "RIGHT"> (x, c) y = Add (r, z)', 40, 20),
}  # fmt: skip


@pytest.mark.parametrize("what", SHIFTS)
def test_shifts_of_64_bits_by_more_than_32(what: str) -> None:
    body, distance, want = SHIFTS[what]
    text = f"g (uint64[2] x) => (uint64[2] y) <uint64 c = {{{distance}}}> {{ {body} }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    found = mnc.compile(model).run({"x": np.array([5, 2**32 - 1], np.uint64)})["y"]
    assert found.tolist() == [want, want]


@pytest.mark.parametrize("distance", [32, 40, 63])
def test_a_shift_out_of_the_bits_that_are_held_is_refused(distance: int) -> None:
    body = 'y = BitShift <direction = "LEFT"> (x, c)'
    text = f"g (uint64[2] x) => (uint64[2] y) <uint64[2] c = {{1, {distance}}}> {{ {body} }}"
    with pytest.raises(CompileError, match=f"it shifts by {distance} bits to the left") as caught:
        mnc.compile(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}'))
    assert "less than 32" in str(caught.value.hint)
