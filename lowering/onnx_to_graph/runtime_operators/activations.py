"""Products and element-wise work with an activation: Gelu and its kin, FusedConv, FusedGemm, FusedMatMul."""

import math
from collections.abc import Callable

import onnx

from mnc.lowering.onnx_to_graph.runtime_operators.body import Body

_GELU = 20
"""Operator set since which Gelu is an operator."""
_MOST_DIMENSIONS = 5


def gelu(body: Body) -> None:
    """Gelu of a sum with an optional bias."""
    x = body.op("Add", body.operand(0), body.operand(1)) if body.has(1) else body.operand(0)
    body.give(_gelu(body, x))


def _gelu(body: Body, x: str) -> str:
    if body.opset >= _GELU:
        return body.op("Gelu", x)
    error = body.op("Erf", body.op("Mul", x, body.number(math.sqrt(0.5), x)))
    half = body.op("Mul", x, body.number(0.5, x))
    return body.op("Mul", half, body.op("Add", error, body.number(1, x)))


def split_gelu(body: Body) -> None:
    """Of a sum with a bias, the first half of every row times Gelu of the second half."""
    value, gate = body.split(body.op("Add", body.operand(0), body.operand(1)), -1, 2)
    body.give(body.op("Mul", value, _gelu(body, gate)))


def fast_gelu(body: Body) -> None:
    """Gelu by tanh, of a sum with an optional bias."""
    x = body.op("Add", body.operand(0), body.operand(1)) if body.has(1) else body.operand(0)
    if body.opset >= _GELU:
        body.give(body.op("Gelu", x, approximate="tanh"))
        return
    cube = body.op("Mul", body.op("Mul", x, x), body.op("Mul", x, body.number(0.044715, x)))
    inner = body.op("Mul", body.op("Add", x, cube), body.number(math.sqrt(2 / math.pi), x))
    half = body.op("Mul", x, body.number(0.5, x))
    body.give(body.op("Mul", half, body.op("Add", body.op("Tanh", inner), body.number(1, x))))


def quick_gelu(body: Body) -> None:
    """``x * sigmoid(alpha x)``."""
    x = body.operand(0)
    scaled = body.op("Mul", x, body.number(body.attribute("alpha", 1.702), x))
    body.give(body.op("Mul", x, body.op("Sigmoid", scaled)))


def bias_add(body: Body) -> None:
    """The sum of what is there: a value, the bias of its last dimension, and what skipped it."""
    body.give(body.op("Add", body.op("Add", body.operand(0), body.operand(1)), body.operand(2)))


def _activated(body: Body, x: str, parameters: list[float]) -> str:
    name = body.attribute("activation", "")
    if name in ("", "Relu", "Sigmoid", "Tanh"):
        return body.op(name, x) if name else x
    if name == "LeakyRelu":
        return body.op(name, x, alpha=parameters[0] if parameters else 0.01)
    if name == "HardSigmoid":
        alpha, beta = parameters or (0.2, 0.5)
        return body.op(name, x, alpha=alpha, beta=beta)
    if name == "Clip" and parameters:
        low, high = (body.number(value, x) for value in parameters)
        return body.op("Min", body.op("Max", x, low), high)
    raise body.refuse(f"its activation {name} is not supported", "let ONNX Runtime optimize the model less")


def fused_conv(body: Body) -> None:
    """Convolution, with the optional sum of another value, and an activation."""
    given = body.given("activation", "activation_params")
    x = body.op("Conv", *(body.operand(i) for i in range(3) if body.has(i)), **given)
    x = body.op("Add", x, body.operand(3)) if body.has(3) else x
    body.give(_activated(body, x, list(body.attribute("activation_params", []))))


def fused_gemm(body: Body) -> None:
    """Gemm and an activation, whose parameters are attributes of their own."""
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    given = body.given("activation", *names)
    parameters = [body.attribute(name, 0.0) for name in names if body.attribute(name, None) is not None]
    body.give(_activated(body, body.op("Gemm", *body.operands(), **given), parameters))


def fused_matmul(body: Body) -> None:
    """The product of matrices that may be transposed, times alpha."""
    if body.attribute("transBatchA", 0) or body.attribute("transBatchB", 0):
        raise body.refuse("transBatchA and transBatchB are not supported", "let ONNX Runtime optimize the model less")
    parts = [body.operand(0), body.operand(1)]
    wanted = body.attribute("transA", 0), body.attribute("transB", 0)
    product = body.op("MatMul", *(_transposed(body, x) if t else x for x, t in zip(parts, wanted, strict=True)))
    alpha = body.attribute("alpha", 1.0)
    body.give(product if alpha == 1.0 else body.op("Mul", product, body.number(alpha, product)))


def _transposed(body: Body, x: str) -> str:
    def swapped(rank: int) -> Callable[[], str]:
        return lambda: body.op("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])

    return body.with_rank(x, {rank: swapped(rank) for rank in range(2, _MOST_DIMENSIONS + 1)})


def distances(body: Body) -> None:
    """Euclidean distances, or their squares, of all rows of one matrix to all of another."""
    metric = body.attribute("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        raise body.refuse(f"the metric {metric} is not supported", "use euclidean or sqeuclidean")
    rows, columns = body.along("Unsqueeze", body.operand(0), 1), body.along("Unsqueeze", body.operand(1), 0)
    apart = body.op("Sub", rows, columns)
    squares = body.along("ReduceSum", body.op("Mul", apart, apart), 2, keepdims=0)
    body.give(squares if metric == "sqeuclidean" else body.op("Sqrt", squares))


def renamed(op_type: str) -> Callable[[Body], None]:
    """An operator that the standard has, too, in newer operator sets at least."""

    def same(body: Body) -> None:
        if not onnx.defs.has(op_type, body.opset, ""):
            hint = "convert the model to a newer operator set"
            raise body.refuse(f"operator set {body.opset} of the standard does not have it", hint)
        body.give(body.op(op_type, *body.operands(), **body.given()))

    return same
