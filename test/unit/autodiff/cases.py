"""One or more functions per rule: name, how the result is built, and the arguments."""

from typing import Any

import numpy as np

from mnc.dialects import graph as g


def normal(seed: int, *shape: int) -> np.ndarray:
    """Standard normal numbers, kept away from 0 so that no kink lies within a difference."""
    values = np.asarray(np.random.default_rng(seed).standard_normal(shape))
    return np.asarray(values + 0.01 * np.sign(values))


def positive(seed: int, *shape: int) -> np.ndarray:
    """Numbers between 0.5 and 2."""
    return np.random.default_rng(seed).uniform(0.5, 2, shape)


def unary(operation: Any, **attributes: Any) -> Any:
    return lambda x: operation.build(x, **attributes)


def typed(operation: Any, *shape: int) -> Any:
    return lambda x: operation.build(x, result_type=g.tensor(shape, g.element_type(np.float64)))


def window(**changes: Any) -> dict[str, Any]:
    return {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], **changes}


def pool(kind: str, kernel: list[int], ceil: bool = False, counted: bool = False, **changes: Any) -> Any:
    return unary(g.Pool, kind=kind, kernel=kernel, ceil_mode=ceil, count_include_pad=counted, **window(**changes))


def gemm(alpha: float, beta: float, a: bool, b: bool) -> Any:
    return lambda *xs: g.Gemm.build(*xs, alpha=alpha, beta=beta, transA=a, transB=b)


def conv(group: int = 1, **changes: Any) -> Any:
    return lambda *xs: g.Conv.build(*xs, group=group, **window(**changes))


def conv_transpose(group: int = 1, **changes: Any) -> Any:
    attributes = {"output_padding": [0, 0], **window(**changes)}
    return lambda *xs: g.ConvTranspose.build(*xs, group=group, **attributes)


def reduce(kind: str, axes: list[int], keepdims: bool = False) -> Any:
    return unary(g.Reduce, kind=kind, axes=axes, keepdims=keepdims)


def slice_(starts: list[int], limits: list[int], steps: list[int]) -> Any:
    return unary(g.Slice, starts=starts, limits=limits, steps=steps)


def gather(axis: int, indices: Any) -> Any:
    return lambda x: g.Gather.build(x, g.Constant.build(value=np.array(indices, np.int64)), axis=axis)


def batch_gather(axis: int, batch: int, indices: Any) -> Any:
    return lambda x: g.BatchGather.build(
        x, g.Constant.build(value=np.array(indices, np.int64)), axis=axis, batch_dims=batch
    )


def where_positive(a: Any, b: Any) -> Any:
    """Depends on the right side only through the elements taken from it."""
    return g.Where.build(g.Greater.build(a, g.Constant.build(value=np.zeros(()))).result, a, b)


def plus(x: Any, y: Any) -> Any:
    """x + y, so that an operation whose own derivative is 0 leaves something to see."""
    return g.Add.build(x, y)


def stepped(operation: Any) -> Any:
    return lambda x: plus(x, operation.build(x))


def through_f32(x: Any) -> Any:
    narrow = g.Cast.build(x, result_type=g.tensor((2, 3), g.element_type(np.float32)))
    return g.Cast.build(narrow, result_type=g.tensor((2, 3), g.element_type(np.float64)))


X, Y = normal(1, 2, 3), normal(2, 2, 3)
ROW, COLUMN, SCALAR = normal(3, 3), normal(4, 2, 1), normal(5)
IMAGE, CUBE = normal(6, 2, 4, 5, 6), normal(7, 2, 3, 4)
A, B, C = normal(8, 2, 4), normal(9, 4, 3), normal(10, 3)
LN = {"axis": 1, "epsilon": 1e-5}

ELEMENTWISE: list[tuple[str, Any, list[np.ndarray]]] = [
    *[(op.OPERATION_NAME, unary(op), [X]) for op in (
        g.Abs, g.Cos, g.Erf, g.Exp, g.HardSwish, g.Mish, g.Neg, g.Reciprocal, g.Relu, g.Sigmoid, g.Sin, g.Softplus,
        g.Tanh)],
    ("hard_swish beyond its corners", unary(g.HardSwish), [4 * X]),
    ("log", unary(g.Log), [positive(1, 2, 3)]), ("sqrt", unary(g.Sqrt), [positive(1, 2, 3)]),
    *[(op.OPERATION_NAME, stepped(op), [X]) for op in (g.Ceil, g.Floor, g.Round, g.Sign)],
    ("clip", unary(g.Clip, min=-0.5, max=0.5), [X]), ("clip low", unary(g.Clip, min=-0.5), [X]),
    ("elu", unary(g.Elu, alpha=0.75), [X]), ("selu", unary(g.Selu, alpha=1.5, gamma=1.25), [X]),
    ("leaky_relu", unary(g.LeakyRelu, alpha=0.125), [X]),
    ("hard_sigmoid", unary(g.HardSigmoid, alpha=0.5, beta=0.5), [X]),
    ("gelu", unary(g.Gelu, approximate="none"), [X]), ("gelu tanh", unary(g.Gelu, approximate="tanh"), [X]),
    *[(f"{op.OPERATION_NAME} {i}", op.build, [X, other])
      for op in (g.Add, g.Sub, g.Mul, g.Div, g.Max, g.Min) for i, other in enumerate((Y, ROW, COLUMN, SCALAR))],
    ("twice the same operand", lambda x: g.Mul.build(x, x), [X]),
    ("pow", g.Pow.build, [positive(2, 2, 3), ROW]),
    ("mod", lambda a, b: g.Mod.build(a, b, fmod=False), [3 * X, positive(3, 3)]),
    ("fmod", lambda a, b: g.Mod.build(a, b, fmod=True), [3 * X, positive(3, 3)]),
    ("where", where_positive, [X, ROW]), ("where column", where_positive, [np.array([[0.75], [-0.5]]), Y]),
]  # fmt: skip
OTHERS: list[tuple[str, Any, list[np.ndarray]]] = [
    *[(f"gemm {a}{b}", gemm(0.5, 2.0, a, b), [A.T.copy() if a else A, B.T.copy() if b else B, C])
      for a in (False, True) for b in (False, True)],
    ("gemm without c", gemm(1.0, 1.0, False, False), [A, B]),
    ("gemm column", gemm(1.0, 1.0, False, False), [A, B, COLUMN]),
    *[(f"matmul {i}", g.MatMul.build, [a, b]) for i, (a, b) in enumerate((
        (A, B), (normal(1, 5, 2, 4), B), (A, normal(2, 5, 4, 3)), (normal(1, 5, 1, 2, 4), normal(2, 3, 4, 3)),
        (normal(1, 4), B), (A, normal(2, 4)), (normal(1, 4), normal(2, 4)), (normal(1, 4), normal(2, 5, 4, 3))))],
    *[(f"reduce {kind}", reduce(kind, [0, 2]), [positive(5, 2, 3, 4)])
      for kind in ("sum", "mean", "max", "min", "l1", "l2", "log_sum", "log_sum_exp", "sum_square")],
    ("reduce keepdims", reduce("max", [1], True), [CUBE]),
    ("softmax", unary(g.Softmax, axis=1), [CUBE]), ("log_softmax", unary(g.LogSoftmax, axis=1), [CUBE]),
    ("cum_sum", unary(g.CumSum, axis=1, exclusive=True, reverse=False), [CUBE]),
    ("cum_sum reverse", unary(g.CumSum, axis=2, exclusive=False, reverse=True), [CUBE]),
    ("transpose", unary(g.Transpose, permutation=[2, 0, 1]), [CUBE]), ("reshape", typed(g.Reshape, 4, 6), [CUBE]),
    ("broadcast_to", typed(g.BroadcastTo, 4, 2, 3), [COLUMN]),
    ("concat", lambda a, b: g.Concat.build(a, b, axis=1), [X, normal(3, 2, 4)]),
    ("slice", slice_([1, 0, 1], [2, 3, 3], [1, 1, 1]), [CUBE]),
    ("slice steps", slice_([0, 2, 3], [2, -1, 0], [1, -1, -2]), [CUBE]),
    ("slice 2", slice_([1], [7], [3]), [normal(1, 9)]),
    ("pad", unary(g.Pad, low=[0, 1], high=[2, 0], value=1.5, mode="constant"), [X]),
    ("gather", gather(1, [[2, 0], [-1, 2]]), [CUBE]), ("gather one", gather(0, 1), [CUBE]),
    ("lines", batch_gather(1, 1, [[2, 0, 2], [-1, 2, 1]]), [normal(8, 2, 3)]),
    ("lines of batches", batch_gather(2, 1, [[[1, 0]], [[-1, 1]]]), [normal(9, 2, 3, 2, 3)]),
    ("layer_norm", lambda x, s, b: g.LayerNorm.build(x, s, b, **LN), [CUBE, normal(2, 3, 4), normal(3, 4)]),
    ("layer_norm without bias", lambda x, s: g.LayerNorm.build(x, s, axis=2, epsilon=0.5), [CUBE, normal(2, 4)]),
    ("batch_norm", lambda *xs: g.BatchNorm.build(*xs, epsilon=0.25),
     [CUBE, normal(2, 3), normal(3, 3), normal(4, 3), positive(5, 3)]),
    ("conv", conv(), [IMAGE, normal(1, 3, 4, 2, 3), normal(2, 3)]),
    ("conv strides", conv(strides=[2, 3], pads=[1, 0, 2, 1]), [IMAGE, normal(1, 3, 4, 2, 2)]),
    ("conv dilations", conv(dilations=[2, 1], strides=[1, 2], pads=[1, 2, 1, 2]), [IMAGE, normal(1, 2, 4, 2, 3)]),
    ("conv groups", conv(group=2, strides=[2, 1], pads=[0, 1, 1, 0]), [IMAGE, normal(1, 6, 2, 2, 2), normal(2, 6)]),
    ("conv depthwise", conv(group=4), [IMAGE, normal(1, 4, 1, 3, 3)]),
    ("conv_transpose", conv_transpose(), [normal(3, 2, 4, 2, 3), normal(1, 4, 3, 2, 2), normal(2, 3)]),
    ("conv_transpose strides", conv_transpose(group=2, strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 2]),
     [normal(3, 2, 4, 2, 3), normal(1, 4, 2, 3, 2)]),
    ("pool average", pool("average", [2, 2], strides=[2, 2]), [IMAGE]),
    ("pool average ceil", pool("average", [2, 3], True, False, strides=[2, 2], pads=[1, 1, 0, 1]), [IMAGE]),
    ("pool average padded", pool("average", [3, 2], False, True, strides=[1, 2], pads=[1, 1, 1, 1]), [IMAGE]),
    ("pool average side by side", pool("average", [1, 3], False, True, strides=[1, 3], dilations=[2, 1]), [IMAGE]),
    ("pool max", pool("max", [2, 2], strides=[2, 2]), [IMAGE]),
    ("pool max side by side", pool("max", [3, 2], strides=[3, 2]), [IMAGE]),
    ("pool max overlapping", pool("max", [3, 2], True, strides=[2, 1], pads=[1, 1, 1, 0]), [IMAGE]),
    ("pool max dilated", pool("max", [2, 2], dilations=[2, 3]), [IMAGE]),
]  # fmt: skip
CASES = [*ELEMENTWISE, *OTHERS]
