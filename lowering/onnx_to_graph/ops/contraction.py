"""Matrix products and convolutions."""

from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, shape_of

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def matmul(node: Node) -> Any:
    """MatMul."""
    return graph.MatMul.build(node.operand(0), node.operand(1)).result


def gemm(node: Node) -> Any:
    """Gemm; C is optional since version 11."""
    return graph.Gemm.build(
        *node.operands(),
        alpha=float(node.attribute("alpha", 1.0)),
        beta=float(node.attribute("beta", 1.0)),
        transA=bool(node.attribute("transA", 0)),
        transB=bool(node.attribute("transB", 0)),
    ).result


def padding_mode(node: Node) -> str:
    """The value of auto_pad; raises CompileError for one that the operator does not have."""
    mode = node.attribute("auto_pad", "NOTSET")
    if mode not in AUTO_PADS:
        raise node.error(f"attribute auto_pad is '{mode}'", f"it may be {', '.join(AUTO_PADS)}")
    return mode


def window_attributes(node: Node, extents: list[int], kernel: list[int]) -> dict[str, list[int]]:
    """Strides, dilations and pads with their defaults; auto_pad is resolved into pads."""
    rank = len(kernel)
    strides = node.attribute("strides") or [1] * rank
    dilations = node.attribute("dilations") or [1] * rank
    pads = node.attribute("pads") or [0] * (2 * rank)
    auto = padding_mode(node)
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        low, high = [], []
        for extent, size, stride, dilation in zip(extents, kernel, strides, dilations, strict=True):
            total = max((-(-extent // stride) - 1) * stride + (size - 1) * dilation + 1 - extent, 0)
            small = total // 2
            low.append(small if auto == "SAME_UPPER" else total - small)
            high.append(total - low[-1])
        pads = low + high
    elif auto == "VALID":
        pads = [0] * (2 * rank)
    return {"strides": strides, "pads": pads, "dilations": dilations}


def conv(node: Node) -> Any:
    """Conv of any number of spatial dimensions."""
    operands = node.operands()
    data, kernel = shape_of(operands[0])[2:], shape_of(operands[1])[2:]
    window = window_attributes(node, data, kernel)
    return graph.Conv.build(*operands, **window, group=node.attribute("group", 1)).result


def conv_transpose(node: Node) -> Any:
    """ConvTranspose; output_shape and auto_pad are resolved into pads."""
    operands = node.operands()
    data, kernel = shape_of(operands[0])[2:], shape_of(operands[1])[2:]
    rank = len(kernel)
    strides = node.attribute("strides") or [1] * rank
    dilations = node.attribute("dilations") or [1] * rank
    extra = node.attribute("output_padding") or [0] * rank
    pads = node.attribute("pads") or [0] * (2 * rank)
    auto, wanted = padding_mode(node), node.attribute("output_shape")
    if wanted is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [extent * stride for extent, stride in zip(data, strides, strict=True)]
    if wanted is not None:
        total = [
            strides[i] * (data[i] - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - wanted[-rank:][i]
            for i in range(rank)
        ]
        # A negative total means that more is wanted than there is: it is added at the high side.
        extra = [extra[i] + max(-total[i], 0) for i in range(rank)]
        total = [max(t, 0) for t in total]
        half = [t // 2 for t in total]
        rest = [t - h for t, h in zip(total, half, strict=True)]
        pads = half + rest if auto == "SAME_UPPER" else rest + half
    return graph.ConvTranspose.build(
        *operands,
        strides=strides,
        pads=pads,
        dilations=dilations,
        output_padding=extra,
        group=node.attribute("group", 1),
    ).result
