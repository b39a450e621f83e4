"""graph-to-linalg, element-wise operations: numbers equal the ONNX reference for random shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.dialects import graph as g

from .harness import Program, normal

SHAPES = st.lists(st.integers(1, 5), max_size=4).map(tuple)
FEW = settings(max_examples=6, deadline=None)

PLAIN_UNARY = {
    "Neg": g.Neg, "Abs": g.Abs, "Sign": g.Sign, "Exp": g.Exp, "Reciprocal": g.Reciprocal, "Floor": g.Floor,
    "Ceil": g.Ceil, "Round": g.Round, "Erf": g.Erf, "Sin": g.Sin, "Cos": g.Cos, "Relu": g.Relu,
    "Sigmoid": g.Sigmoid, "Tanh": g.Tanh, "Softplus": g.Softplus, "Mish": g.Mish, "HardSwish": g.HardSwish,
}  # fmt: skip
WITH_ATTRIBUTES = [
    (g.LeakyRelu, "LeakyRelu", {"alpha": 0.3}),
    (g.Elu, "Elu", {"alpha": 0.7}),
    (g.Selu, "Selu", {"alpha": 1.6, "gamma": 1.1}),
    (g.HardSigmoid, "HardSigmoid", {"alpha": 0.4, "beta": 0.3}),
    (g.Gelu, "Gelu", {"approximate": "none"}),
    (g.Gelu, "Gelu", {"approximate": "tanh"}),
]


@FEW
@given(shape=SHAPES, seed=st.integers(0, 99))
def test_unary(shape: tuple[int, ...], seed: int) -> None:
    x = normal(seed, *shape) * 3
    program = Program({"x": x, "positive": np.abs(x) + np.float32(0.1)})
    for op_type, operation in PLAIN_UNARY.items():
        program.add(operation.build, op_type, ["x"])
    for operation, op_type in ((g.Log, "Log"), (g.Sqrt, "Sqrt")):
        program.add(operation.build, op_type, ["positive"])
    for operation, op_type, attributes in WITH_ATTRIBUTES:
        program.add(lambda v, o=operation, a=attributes: o.build(v, **a), op_type, ["x"], **attributes)
    bounds = [np.array(-0.5, np.float32), np.array(0.8, np.float32)]
    program.add(lambda v: g.Clip.build(v, min=-0.5, max=0.8), "Clip", ["x"], bounds)
    program.add(lambda v: g.Clip.build(v, min=-0.5), "Clip", ["x"], bounds[:1])
    program.check(rtol=4e-6)


@FEW
@given(shape=SHAPES, data=st.data())
def test_binary_broadcast(shape: tuple[int, ...], data: st.DataObject) -> None:
    other = tuple(data.draw(st.sampled_from([1, extent])) for extent in shape)
    other = other[data.draw(st.integers(0, len(other))) :]
    if data.draw(st.booleans()):
        shape, other = other, shape
    a, b = normal(1, *shape), normal(2, *other)
    program = Program({"a": a, "b": b, "p": np.abs(a) + np.float32(0.1), "m": a > 0, "n": b > 0})
    for operation, op_type in ((g.Add, "Add"), (g.Sub, "Sub"), (g.Mul, "Mul"), (g.Div, "Div"), (g.Max, "Max"),
                               (g.Min, "Min"), (g.Equal, "Equal"), (g.Greater, "Greater"), (g.Less, "Less"),
                               (g.GreaterOrEqual, "GreaterOrEqual"), (g.LessOrEqual, "LessOrEqual")):  # fmt: skip
        program.add(operation.build, op_type, ["a", "b"])
    program.add(g.Pow.build, "Pow", ["p", "b"])
    program.add(lambda x, y: g.Mod.build(x, y, fmod=True), "Mod", ["a", "b"], fmod=1)
    for operation, op_type in ((g.And, "And"), (g.Or, "Or"), (g.Xor, "Xor")):
        program.add(operation.build, op_type, ["m", "n"])
    program.add(g.Not.build, "Not", ["m"])
    program.add(g.Where.build, "Where", ["n", "a", "b"])
    program.check(rtol=4e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8"])
def test_integers(dtype: str) -> None:
    rng = np.random.default_rng(5)
    low = 0 if dtype == "uint8" else -100
    a = rng.integers(low, 120, (4, 6)).astype(dtype)
    b = rng.integers(low, 120, (6,)).astype(dtype)
    b[b == 0] = 7
    program = Program({"a": a, "b": b})
    for operation, op_type in ((g.Add, "Add"), (g.Sub, "Sub"), (g.Mul, "Mul"), (g.Div, "Div"), (g.Max, "Max"),
                               (g.Min, "Min"), (g.Equal, "Equal"), (g.Greater, "Greater"),
                               (g.Less, "Less")):  # fmt: skip
        program.add(operation.build, op_type, ["a", "b"])
    for fmod in (False, True):
        program.add(lambda x, y, f=fmod: g.Mod.build(x, y, fmod=f), "Mod", ["a", "b"], fmod=int(fmod))
    program.add(g.Abs.build, "Abs", ["a"])
    program.add(g.Sign.build, "Sign", ["a"])
    if dtype != "uint8":
        program.add(g.Neg.build, "Neg", ["a"])
    program.check()


NAMES = ["float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool"]


@pytest.mark.parametrize("source", NAMES)
def test_cast(source: str) -> None:
    x = (np.random.default_rng(3).random((3, 5)) * 100).astype(source)
    if x.dtype.kind in "f":
        x[0, 0] = 0
    program = Program({"x": x})
    for target in NAMES:
        dtype = np.dtype(target)

        def build(value: ir.Value, dtype: np.dtype = dtype) -> ir.OpView:
            shape = ir.RankedTensorType(value.type).shape
            return g.Cast.build(value, result_type=g.tensor(shape, g.element_type(dtype)))

        from onnx import helper

        program.add(build, "Cast", ["x"], to=helper.np_dtype_to_tensor_dtype(dtype))
    program.check(rtol=1e-3)


def test_nan_and_infinity() -> None:
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 1e38, -1e38], np.float32)
    y = np.array([1.0, np.nan, 0.0, 2.0, -np.inf, np.inf], np.float32)
    program = Program({"x": x, "y": y})
    for operation, op_type in ((g.Max, "Max"), (g.Min, "Min"), (g.Equal, "Equal"), (g.Greater, "Greater"),
                               (g.LessOrEqual, "LessOrEqual"), (g.Add, "Add")):  # fmt: skip
        program.add(operation.build, op_type, ["x", "y"])
    for operation, op_type in ((g.Relu, "Relu"), (g.Sign, "Sign"), (g.Sigmoid, "Sigmoid"), (g.Tanh, "Tanh")):
        program.add(operation.build, op_type, ["x"])
    program.check()
