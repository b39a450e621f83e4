"""Operators of ONNX Runtime, of domain com.microsoft, become bodies of standard operators.

ONNX Runtime and the tools around it write them: its transformer optimizer, its quantizer, and optimized models that it
saves. What they mean says https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md. A few stand in
the standard domain, in versions where the standard does not have them.
"""

from collections.abc import Callable, Iterable

import onnx

from mnc.lowering.onnx_to_graph.runtime_operators import (
    activations,
    attention,
    grouped_query,
    normalization,
    quantized,
    rotary,
)
from mnc.lowering.onnx_to_graph.runtime_operators.body import Body
from mnc.lowering.onnx_to_graph.size_limits import every_node
from mnc.lowering.onnx_to_graph.types_left_out import value_types

RUNTIME_DOMAIN = "com.microsoft"
_BODIES_DOMAIN = "mnc.runtime"
_STANDARD = ("", "ai.onnx")

RUNTIME_OPERATORS: dict[str, tuple[Callable[[Body], None], str]] = {
    "Attention": (attention.attention, "no rotation"),
    "BiasAdd": (activations.bias_add, ""),
    "BiasGelu": (activations.gelu, ""),
    "BiasSplitGelu": (activations.split_gelu, ""),
    "CDist": (activations.distances, "euclidean, sqeuclidean"),
    "DequantizeLinear": (activations.renamed("DequantizeLinear"), "16 bits since operator set 21"),
    "DynamicQuantizeMatMul": (quantized.dynamic_product, ""),
    "EmbedLayerNormalization": (normalization.embed_layer, ""),
    "FastGelu": (activations.fast_gelu, ""),
    "FusedConv": (activations.fused_conv, ""),
    "FusedGemm": (activations.fused_gemm, ""),
    "FusedMatMul": (activations.fused_matmul, "no transposed batches"),
    "GatherBlockQuantized": (quantized.gathered, "2, 4 and 8 bits"),
    "Gelu": (activations.gelu, ""),
    "GroupNorm": (normalization.group, ""),
    "GroupQueryAttention": (grouped_query.grouped_query_attention, "total length known; caches of floats"),
    "MatMulIntegerToFloat": (quantized.integer_product_as_float, ""),
    "MatMulNBits": (quantized.blocked_product, "2, 4 and 8 bits"),
    "MultiHeadAttention": (attention.multi_head_attention, "no cache_indirection"),
    "QAttention": (attention.quantized_attention, "no shared buffer, no rotation"),
    "QEmbedLayerNormalization": (normalization.quantized_embed_layer, ""),
    "QGemm": (quantized.gemm, ""),
    "QLinearAdd": (quantized.add, ""),
    "QLinearAveragePool": (quantized.average_pool, "channels first"),
    "QLinearConcat": (quantized.concat, ""),
    "QLinearGlobalAveragePool": (quantized.global_average_pool, "channels first"),
    "QLinearLeakyRelu": (quantized.leaky_relu, ""),
    "QLinearMul": (quantized.multiply, ""),
    "QLinearSigmoid": (quantized.sigmoid, ""),
    "QLinearSoftmax": (quantized.softmax, "along one axis"),
    "QLinearWhere": (quantized.selected, ""),
    "QuantizeLinear": (activations.renamed("QuantizeLinear"), "16 bits since operator set 21"),
    "QuickGelu": (activations.quick_gelu, ""),
    "RotaryEmbedding": (rotary.rotary_embedding, "no scale, no packed batches"),
    "SkipGroupNorm": (normalization.skip_group, ""),
    "SkipLayerNormalization": (normalization.skip_layer, ""),
    "SkipSimplifiedLayerNormalization": (normalization.skip_simplified_layer, ""),
    "Trilu": (activations.renamed("Trilu"), ""),
}
"""Operator -> what writes its body, and a note on what of it is supported."""

_IN_STANDARD_DOMAIN: dict[str, Callable[[Body], None]] = {
    "LayerNormalization": normalization.early_layer,
    "SimplifiedLayerNormalization": normalization.simplified_layer,
}


def _handler(node: onnx.NodeProto, opset: int) -> Callable[[Body], None] | None:
    if node.domain == RUNTIME_DOMAIN:
        return RUNTIME_OPERATORS.get(node.op_type, (None, ""))[0]
    if node.domain in _STANDARD and not onnx.defs.has(node.op_type, opset, ""):
        return _IN_STANDARD_DOMAIN.get(node.op_type)
    return None


def is_runtime_operator(node: onnx.NodeProto, opset: int) -> bool:
    """Whether a node has a body here."""
    return _handler(node, opset) is not None


def with_runtime_bodies(model: onnx.ModelProto, file_name: str = "<model>") -> onnx.ModelProto:
    """A copy of the model in which operators of ONNX Runtime are calls of functions that it has, too; the model itself
    if it has none. Operators without a body stay, and are refused by whoever meets them.

    Raises:
        CompileError: a form of such an operator is not supported.
    """
    opset = max((entry.version for entry in model.opset_import if entry.domain in _STANDARD), default=0)
    if not any(_handler(node, opset) for node in _nodes(model)):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if not opset:
        opset = onnx.defs.onnx_opset_version()
        copy.opset_import.add(domain="", version=opset)
    kinds = {name: type_.tensor_type.elem_type for name, type_ in value_types(copy.graph).items()}
    functions = []
    for number, node in enumerate(_nodes(copy)):
        if (write := _handler(node, opset)) is None:
            continue
        body = Body(node, opset, kinds, file_name)
        write(body)
        functions.append(body.function(_BODIES_DOMAIN, f"{node.op_type}_{number}", copy.opset_import))
        _call(node, functions[-1])
    copy.functions.extend(functions)
    copy.opset_import.add(domain=_BODIES_DOMAIN, version=1)
    for function in copy.functions:
        function.opset_import.add(domain=_BODIES_DOMAIN, version=1)
    return copy


def _nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """All nodes, those of graphs inside of nodes and of functions included."""
    lists: list[Iterable[onnx.NodeProto]] = [model.graph.node, *(function.node for function in model.functions)]
    return [node for nodes in lists for node in every_node(nodes)]


def _call(node: onnx.NodeProto, function: onnx.FunctionProto) -> None:
    node.domain, node.op_type = function.domain, function.name
    del node.attribute[:]
    node.input[:] = [name for name in node.input if name]
    node.output[:] = [name for name in node.output if name]
