"""decompose: every handler keeps the values, and the products it uses for quotients keep the stated accuracy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.passes.graph.decomposition import HANDLERS
from mnc.passes.graph.evaluate import evaluate

from .random_graphs import run_passes

X, V, S = "tensor<3x4xf32>", "tensor<4xf32>", "tensor<3x1xf32>"
K = "tensor<2x1x1x2xf32>"
_SAME = f"({X}) -> {X}"
CASES = {
    **{name: (f'"graph.{name}"(%x)', _SAME) for name in ("mish", "hard_swish")},
    "gelu": ('"graph.gelu"(%x) {approximate = "none"}', _SAME),
    "gelu-tanh": ('"graph.gelu"(%x) {approximate = "tanh"}', _SAME),
    "hard_sigmoid": ('"graph.hard_sigmoid"(%x) {alpha = 0.3 : f32, beta = 0.4 : f32}', _SAME),
    "elu": ('"graph.elu"(%x) {alpha = 1.5 : f32}', _SAME),
    "selu": ('"graph.selu"(%x) {alpha = 1.6732632 : f32, gamma = 1.0507 : f32}', _SAME),
    "softmax": ('"graph.softmax"(%x) {axis = 1 : i64}', _SAME),
    "softmax-0": ('"graph.softmax"(%x) {axis = 0 : i64}', _SAME),
    "log_softmax": ('"graph.log_softmax"(%x) {axis = 1 : i64}', _SAME),
    "is_nan": ('"graph.is_nan"(%h)', f"({X}) -> tensor<3x4xi1>"),
    "gemm": ('"graph.gemm"(%x, %y, %s) {alpha = 0.5 : f32, beta = 2.0 : f32, transA = false, transB = true}',
             f"({X}, {X}, {S}) -> tensor<3x3xf32>"),
    "gemm-a": ('"graph.gemm"(%x, %y) {alpha = 1.0 : f32, beta = 1.0 : f32, transA = true, transB = false}',
               f"({X}, {X}) -> tensor<4x4xf32>"),
    "layer_norm": ('"graph.layer_norm"(%x, %v, %v) {axis = 1 : i64, epsilon = 1.0e-5 : f32}',
                   f"({X}, {V}, {V}) -> ({X}, {S}, {S})"),
    "batch_norm": ('"graph.batch_norm"(%x, %v, %v, %v, %p) {epsilon = 1.0e-5 : f32}',
                   f"({X}, {V}, {V}, {V}, {V}) -> {X}"),
    **{f"reduce-{kind}": (f'"graph.reduce"(%x) {{kind = "{kind}", axes = array<i64: {axis}>, keepdims = {keep}}}',
                          f"({X}) -> {shape}")
       for kind, axis, keep, shape in (
           ("mean", 1, "true", S), ("l1", 0, "false", V), ("l2", 1, "true", S), ("sum_square", 0, "false", V),
           ("log_sum_exp", 1, "true", S))},
    "reduce-log_sum": ('"graph.reduce"(%q) {kind = "log_sum", axes = array<i64: 1>, keepdims = false}',
                       f"({X}) -> tensor<3xf32>"),
    "exp": ('"graph.exp"(%l)', _SAME),
    "conv": ('"graph.conv"(%d, %k, %b) {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, '
             "dilations = array<i64: 1, 1>, group = 1 : i64}",
             "(tensor<1x1x3x4xf32>, tensor<2x1x1x2xf32>, tensor<2xf32>) -> tensor<1x2x3x2xf32>"),
    "conv-skips": ('"graph.conv"(%d, %k, %b) {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, '
                   "dilations = array<i64: 1, 1>, group = 1 : i64}",
                   "(tensor<1x1x3x4xf32>, tensor<2x1x1x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>"),
    "conv_transpose": ('"graph.conv_transpose"(%d, %t) {strides = array<i64: 2, 3>, pads = array<i64: 0, 1, 0, 0>, '
                       "dilations = array<i64: 1, 1>, output_padding = array<i64: 1, 0>, group = 1 : i64}",
                       "(tensor<1x1x3x4xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x8x10xf32>"),
    "div": ('"graph.div"(%x, %c)', f"({X}, {V}) -> {X}"),
}  # fmt: skip
SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, -3e38, 1e-30], np.float32)


def _module(operation: str, types: str) -> ir.Module:
    results = types.split("->")[1].strip().strip("()").split(", ")
    count = f":{len(results)}" if len(results) > 1 else ""
    names = ", ".join(f"%r#{i}" for i in range(len(results))) if count else "%r"
    text = f"""
    func.func @main(%x: {X}, %y: {X}, %s: {S}, %v: {V}) -> ({", ".join(results)}) {{
      %c = "graph.constant"() {{value = dense<[3.0, 0.7, -5.0, 1.0e-3]> : {V}}} : () -> {V}
      %p = "graph.abs"(%v) : ({V}) -> {V}
      %q = "graph.abs"(%x) : ({X}) -> {X}
      %l = "graph.log_softmax"(%x) {{axis = 1 : i64}} : ({X}) -> {X}
      %h = "graph.softmax"(%x) {{axis = 1 : i64}} : ({X}) -> {X}
      %d = "graph.reshape"(%x) : ({X}) -> tensor<1x1x3x4xf32>
      %k = "graph.constant"() {{value = dense<[[[[1.5, -2.0]]], [[[0.5, 3.0]]]]> : {K}}} : () -> {K}
      %t = "graph.constant"() {{value = dense<[[[[1.5, -2.0], [0.5, 3.0], [0.25, 1.0]], [[-1.0, 0.75], [2.0, 4.0],
        [-3.0, 0.125]]]]> : tensor<1x2x3x2xf32>}} : () -> tensor<1x2x3x2xf32>
      %b = "graph.constant"() {{value = dense<[1.0, -2.0]> : tensor<2xf32>}} : () -> tensor<2xf32>
      %r{count} = {operation} : {types}
      return {names} : {", ".join(results)}
    }}"""
    with make_context(["graph"]):
        return ir.Module.parse(text)


def _inputs(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) * 3 for shape in ((3, 4), (3, 4), (3, 1), (4,))]


def test_every_handler_has_a_case() -> None:
    others = {"pool", "arg_reduce", "cum_sum"}  # in test_pooling.py and below
    assert {name.partition("-")[0] for name in CASES} == set(HANDLERS) - others


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    """In double precision both forms agree; afterwards the composite is gone."""
    module = _module(*CASES[name])
    with module.context:
        before = [evaluate(module, _inputs(seed), wide=True) for seed in range(5)]
        run_passes(module, "decompose")
        after = [evaluate(module, _inputs(seed), wide=True) for seed in range(5)]
    kind = CASES[name][0].split('"')[1]
    assert f'"{kind}"' not in str(module) or kind in ("graph.reduce", "graph.exp")
    for got, want in zip(after, before, strict=True):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-7)  # constants such as 1 / 3 are singles


@pytest.mark.parametrize("name", ["mish", "elu", "selu", "hard_sigmoid", "gelu", "log_softmax", "softmax"])
def test_special_numbers(name: str) -> None:
    """Infinities, NaN and huge numbers in single precision give what the definition gives."""
    module = _module(*CASES[name])
    inputs = _inputs(0)
    columns = np.resize(SPECIAL, (3, 4))
    # A row of a softmax with +inf is NaN by definition; rows here hold at most -inf and huge numbers.
    inputs[0] = np.where(np.isposinf(columns), 2, columns) if "softmax" in name else columns
    with module.context:
        before = evaluate(module, inputs)
        run_passes(module, "decompose")
        after = evaluate(module, inputs)
    for got, want in zip(after, before, strict=True):
        nan = np.isnan(want)
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_allclose(got[~nan], want[~nan], rtol=1e-5, atol=1e-6)


@settings(max_examples=200, deadline=None)
@given(st.floats(2.0**-60, 2.0**60, width=32), st.floats(2.0**-60, 2.0**60, width=32))
def test_product_with_reciprocal(x: float, d: float) -> None:
    """x * fl(1 / d), rounded, is within 1.5 ulp (of the quotient's binade) of x / d."""
    quotient = np.float64(np.float32(x)) / np.float64(np.float32(d))
    product = np.float32(x) * (np.float32(1) / np.float32(d))
    assert abs(np.float64(product) - quotient) <= 1.5 * np.spacing(np.float32(quotient)) * (1 + 2.0**-20)


def test_unknown_name() -> None:
    with pytest.raises(CompileError, match="'add' has no decomposition"):
        run_passes(_module(*CASES["elu"]), "decompose{keep=add}")


def _reduction(operation: str, shape: list[int], axes: list[int]) -> ir.Module:
    """One operation on integers that keeps the dimensions it reduces."""
    source, kept = ("x".join(map(str, own)) for own in (shape, [1 if i in axes else n for i, n in enumerate(shape)]))
    types = f"tensor<{source}xi32>", f"tensor<{kept}x{'i64' if 'arg' in operation else 'i32'}>"
    with make_context(["graph"]):
        return ir.Module.parse(f"""func.func @main(%x: {types[0]}) -> {types[1]} {{
            %r = {operation} : ({types[0]}) -> {types[1]}
            return %r : {types[1]}
        }}""")


@given(st.lists(st.integers(1, 40), min_size=1, max_size=3), st.data())
@settings(max_examples=40, deadline=None)
def test_stages(extents: list[int], data: st.DataObject) -> None:
    """Long reductions of integers are the same in two stages, whatever is cut and filled up."""
    shape = [17, *extents] if data.draw(st.booleans()) else [*extents, 700]
    axes = sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    kind = data.draw(st.sampled_from(["sum", "prod", "max", "min"]))
    last = data.draw(st.sampled_from(["true", "false"]))
    text = f'"graph.reduce"(%x) {{kind = "{kind}", axes = array<i64: {", ".join(map(str, axes))}>, keepdims = true}}'
    found = f'"graph.arg_reduce"(%x) {{kind = "max", axis = {axes[0]} : i64, keepdims = true, select_last = {last}}}'
    x = np.random.default_rng(len(axes)).integers(-2, 3, shape).astype(np.int32)
    for module in (_reduction(text, shape, axes), _reduction(found, shape, axes[:1])):
        with module.context:
            (before,) = evaluate(module, [x])
            run_passes(module, "decompose")
            (after,) = evaluate(module, [x])
        assert np.array_equal(before, after)


@pytest.mark.parametrize(
    ("shape", "axis", "left"),
    [
        ((2, 4099), 1, 1),  # the sums of the pieces before are few
        ((4099, 2), 0, 1),
        ((300, 7, 64), 0, 1),
        ((6000,), 0, 2),  # so are all
        ((5, 3, 600), 1, 0),
        ((37, 300), 0, 0),
        ((2731, 3), 1, 0),
    ],
)
@pytest.mark.parametrize("exclusive", ["true", "false"])
@pytest.mark.parametrize("reverse", ["true", "false"])
def test_running_sums(shape: tuple[int, ...], axis: int, left: int, exclusive: str, reverse: str) -> None:
    """Those of pieces, with what comes before each, are the same, filled up or not; so are sums of doubling reach."""
    type_ = f"tensor<{'x'.join(map(str, shape))}xi32>"
    with make_context(["graph"]):
        module = ir.Module.parse(f"""func.func @main(%x: {type_}) -> {type_} {{
            %r = "graph.cum_sum"(%x) {{axis = {axis} : i64, exclusive = {exclusive}, reverse = {reverse}}}
                : ({type_}) -> {type_}
            return %r : {type_}
        }}""")
        x = np.random.default_rng(0).integers(-9, 10, shape).astype(np.int32)
        (before,) = evaluate(module, [x])
        run_passes(module, "decompose")
        (after,) = evaluate(module, [x])
    assert str(module).count("graph.cum_sum") == left and np.array_equal(before, after)
