"""Matrix products and convolutions; transpositions of their operands become attributes."""

from torch import fx

from mnc.torch.call import Call
from mnc.torch.operators.shape import permutation_of


def _factor(c: Call, name: str) -> tuple[str, int]:
    """A factor of a product of matrices, and whether it is taken transposed."""
    source, permutation = permutation_of(c, c[name])
    return c.value(source), int(permutation == [1, 0])


def _gemm(c: Call, lhs: str, rhs: str, *addend: str, alpha: float = 1.0, beta: float = 1.0) -> str:
    (a, trans_a), (b, trans_b) = _factor(c, lhs), _factor(c, rhs)
    if not (trans_a or trans_b or addend) and alpha == 1.0:
        return c.op("MatMul", a, b)
    numbers = {key: value for key, value in (("alpha", alpha), ("beta", beta)) if value != 1.0}
    flags = {key: 1 for key, value in (("transA", trans_a), ("transB", trans_b)) if value}
    return c.op("Gemm", a, b, *addend, **numbers, **flags)


def _mm(c: Call) -> str:
    return _gemm(c, "self", "mat2")


def _addmm(c: Call) -> str:
    return _gemm(c, "mat1", "mat2", c.operand("self"), alpha=float(c["alpha"]), beta=float(c["beta"]))


def _bmm(c: Call) -> str:
    return c.op("MatMul", c.operand("self"), c.operand("mat2"))


def _per_axis(values: list[int], rank: int) -> list[int]:
    """One value per spatial dimension; torch lets a single one stand for all."""
    return list(values) * rank if len(values) == 1 else list(values)


def _convolution(c: Call) -> str:
    rank = len(c.shape) - 2
    stride, padding, dilation = (_per_axis(c[name], rank) for name in ("stride", "padding", "dilation"))
    inputs = [c.operand("input"), c.operand("weight")]
    if isinstance(c["bias"], fx.Node):
        inputs.append(c.operand("bias"))
    attributes = {
        "kernel_shape": c.shape_of("weight")[2:],
        "strides": stride,
        "dilations": dilation,
        "pads": padding * 2,
        "group": c["groups"],
    }
    if c["transposed"]:
        return c.op("ConvTranspose", *inputs, output_padding=_per_axis(c["output_padding"], rank), **attributes)
    return c.op("Conv", *inputs, **attributes)


def _determinant(c: Call) -> list[str | None]:
    """Its factors, which only a gradient needs, are not written."""
    return [c.op("Det", c.operand("A")), None, None]


OPERATORS = {"_linalg_det": _determinant, "mm": _mm, "addmm": _addmm, "bmm": _bmm, "convolution": _convolution}
