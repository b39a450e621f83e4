"""The table of supported ONNX operators; docs/supported-ops.md is made from it.

Operators outside the table are still accepted where ONNX itself defines them by a function body
made of other operators, or where all their operands are known at compile time.
"""

from collections.abc import Mapping
from typing import Any

import onnx

from mnc.core.sequences import HostSequence
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.control_flow import resolve_control_flow
from mnc.lowering.onnx_to_graph.function_bodies import expand_bodies
from mnc.lowering.onnx_to_graph.ml_operators import ML_OPERATORS
from mnc.lowering.onnx_to_graph.ml_types import ML_DOMAIN
from mnc.lowering.onnx_to_graph.operator_entry import Operator
from mnc.lowering.onnx_to_graph.ops import (
    bits,
    contraction,
    conversion,
    determinant,
    einsum,
    elementwise,
    inverse_trigonometry,
    loss,
    ngrams,
    non_zero,
    normalization,
    optimizer,
    pooling,
    quantization,
    ranking,
    recurrent,
    reduction,
    resize,
    scatter,
    selection,
    shape,
    spectral,
    top_k,
    trigonometry,
)
from mnc.lowering.onnx_to_graph.ops.deform_conv import deform_conv
from mnc.lowering.onnx_to_graph.ops.elementwise import binary, unary, variadic, with_floats
from mnc.lowering.onnx_to_graph.ops.grid_sample import grid_sample
from mnc.lowering.onnx_to_graph.ops.max_unpool import max_unpool
from mnc.lowering.onnx_to_graph.ops.non_max_suppression import non_max_suppression
from mnc.lowering.onnx_to_graph.ops.reduction import arg_reduce, global_pool, reduce, softmax
from mnc.lowering.onnx_to_graph.ops.roi_align import roi_align
from mnc.lowering.onnx_to_graph.ops.tensor_scatter import tensor_scatter
from mnc.lowering.onnx_to_graph.ops.unique import unique
from mnc.lowering.onnx_to_graph.sequences import resolve_sequences
from mnc.lowering.onnx_to_graph.unsupported_hints import RANDOM

_STRUCTURAL = (21, 23, 24, 25)
"""Versions that only added element types to the operators that move data."""

OPERATORS: dict[str, Operator] = {
    "Abs": Operator(unary(graph.Abs), (6, 13)),
    "Acos": Operator(inverse_trigonometry.acos, (7, 22)),
    "Acosh": Operator(trigonometry.acosh, (9, 22)),
    "Add": Operator(binary(graph.Add), (7, 13, 14)),
    "And": Operator(binary(graph.And), (7,)),
    "ArgMax": Operator(arg_reduce("max"), (1, 11, 12, 13)),
    "ArgMin": Operator(arg_reduce("min"), (1, 11, 12, 13)),
    "Asin": Operator(inverse_trigonometry.asin, (7, 22)),
    "Asinh": Operator(trigonometry.asinh, (9, 22)),
    "Atan": Operator(inverse_trigonometry.atan, (7, 22)),
    "Atanh": Operator(trigonometry.atanh, (9, 22)),
    "AveragePool": Operator(pooling.pool("average"), (7, 10, 11, 19, 22)),
    "BatchNormalization": Operator(normalization.batch_norm, (7, 9, 14, 15)),
    "BitCast": Operator(conversion.bit_cast, (26,), "equal bits in the words of the machine"),
    "BitShift": Operator(bits.bit_shift, (11, 28)),
    "BitwiseAnd": Operator(binary(graph.BitwiseAnd), (18,)),
    "BitwiseNot": Operator(bits.bitwise_not, (18,)),
    "BitwiseOr": Operator(binary(graph.BitwiseOr), (18,)),
    "BitwiseXor": Operator(binary(graph.BitwiseXor), (18,)),
    "Cast": Operator(conversion.cast_to, (6, 9, 13, 19, 21, 23, 24, 25, 28)),
    "CastLike": Operator(conversion.cast_like, (15, 19, *_STRUCTURAL)),
    "Ceil": Operator(unary(graph.Ceil), (6, 13)),
    "CenterCropPad": Operator(selection.center_crop_pad, (18,), "shape known at compile time"),
    "Celu": Operator(elementwise.celu, (12, 28)),
    "Clip": Operator(elementwise.clip, (6, 11, 12, 13)),
    "Col2Im": Operator(spectral.col2im, (18,), "shapes known at compile time"),
    "Compress": Operator(non_zero.compress, (9, 11, 28)),
    "Concat": Operator(shape.concat, (4, 11, 13)),
    "Constant": Operator(shape.constant, (1, 9, 11, 12, 13, 19, *_STRUCTURAL), "dense numbers"),
    "ConstantOfShape": Operator(shape.constant_of_shape, (9, 20, *_STRUCTURAL), "shape known at compile time"),
    "Conv": Operator(contraction.conv, (1, 11, 22)),
    "ConvInteger": Operator(quantization.conv_integer, (10,)),
    "ConvTranspose": Operator(contraction.conv_transpose, (1, 11, 22)),
    "Cos": Operator(unary(graph.Cos), (7, 22)),
    "CumProd": Operator(ranking.cum_prod, (26,), "axis known at compile time"),
    "CumSum": Operator(reduction.cumsum, (11, 14), "axis known at compile time"),
    "Cosh": Operator(trigonometry.cosh, (9, 22)),
    "DFT": Operator(spectral.dft, (17, 20), "axis and length known at compile time"),
    "DeformConv": Operator(deform_conv, (19, 22)),
    "DepthToSpace": Operator(shape.depth_to_space, (1, 11, 13, 28)),
    "DequantizeLinear": Operator(quantization.dequantize_linear, (10, 13, 19, 21, 23, 24, 25, 28)),
    "Det": Operator(determinant.det, (11, 22), "of up to 6 rows"),
    "Div": Operator(binary(graph.Div), (7, 13, 14)),
    "Dropout": Operator(elementwise.dropout, (7, 10, 12, 13, 22), "training mode with a seed"),
    "Einsum": Operator(einsum.einsum, (12, 28)),
    "Elu": Operator(with_floats(graph.Elu, alpha=1.0), (6, 22)),
    "Equal": Operator(binary(graph.Equal), (7, 11, 13, 19)),
    "Erf": Operator(unary(graph.Erf), (9, 13)),
    "EyeLike": Operator(ranking.eye_like, (9, 22)),
    "Exp": Operator(unary(graph.Exp), (6, 13)),
    "Expand": Operator(shape.expand, (8, 13), "shape known at compile time"),
    "Flatten": Operator(shape.flatten, (1, 9, 11, 13, *_STRUCTURAL)),
    "Floor": Operator(unary(graph.Floor), (6, 13)),
    "GRU": Operator(recurrent.recurrent, (7, 14, 22), "unrolled"),
    "Gather": Operator(selection.gather, (1, 11, 13)),
    "GatherElements": Operator(selection.gather_elements, (11, 13)),
    "Gelu": Operator(elementwise.gelu, (20,)),
    "Gemm": Operator(contraction.gemm, (7, 9, 11, 13)),
    "GlobalAveragePool": Operator(global_pool("mean"), (1, 22)),
    "GlobalLpPool": Operator(pooling.global_norm, (2, 22)),
    "GlobalMaxPool": Operator(global_pool("max"), (1, 22)),
    "Greater": Operator(binary(graph.Greater), (7, 9, 13)),
    "GreaterOrEqual": Operator(binary(graph.GreaterOrEqual), (12, 16)),
    "GridSample": Operator(grid_sample, (16, 20, 22)),
    "GroupNormalization": Operator(normalization.group_norm, (18, 21)),
    "GatherND": Operator(scatter.gather_nd, (11, 12, 13)),
    "HardSigmoid": Operator(with_floats(graph.HardSigmoid, alpha=0.2, beta=0.5), (6, 22)),
    "HardSwish": Operator(unary(graph.HardSwish), (14, 22)),
    "Hardmax": Operator(ranking.hardmax, (1, 11, 13)),
    "Identity": Operator(elementwise.identity, (1, 13, 14, 16, 19, *_STRUCTURAL)),
    "InstanceNormalization": Operator(normalization.instance_norm, (6, 22)),
    "IsInf": Operator(ranking.is_infinite, (10, 20)),
    "IsNaN": Operator(unary(graph.IsNan), (9, 13, 20)),
    "LSTM": Operator(recurrent.recurrent, (7, 14, 22), "unrolled"),
    "LRN": Operator(normalization.lrn, (1, 13)),
    "LayerNormalization": Operator(normalization.layer_norm, (17,)),
    "LeakyRelu": Operator(with_floats(graph.LeakyRelu, alpha=0.01), (6, 16)),
    "Less": Operator(binary(graph.Less), (7, 9, 13)),
    "LessOrEqual": Operator(binary(graph.LessOrEqual), (12, 16)),
    "Log": Operator(unary(graph.Log), (6, 13)),
    "LogSoftmax": Operator(softmax(graph.LogSoftmax), (1, 11, 13)),
    "LpNormalization": Operator(normalization.lp_norm, (1, 22)),
    "LpPool": Operator(pooling.pool("lp"), (2, 11, 18, 22)),
    "MatMul": Operator(contraction.matmul, (1, 9, 13)),
    "MatMulInteger": Operator(quantization.matmul_integer, (10,)),
    "Max": Operator(variadic(graph.Max), (6, 8, 12, 13)),
    "MaxPool": Operator(pooling.pool("max"), (1, 8, 10, 11, 12, 22)),
    "MaxUnpool": Operator(max_unpool, (9, 11, 22), "output_shape known at compile time"),
    "Mean": Operator(elementwise.mean, (6, 8, 13)),
    "Min": Operator(variadic(graph.Min), (6, 8, 12, 13)),
    "Mish": Operator(unary(graph.Mish), (18, 22)),
    "Mod": Operator(elementwise.modulo, (10, 13, 28)),
    "Mul": Operator(binary(graph.Mul), (7, 13, 14)),
    "Neg": Operator(unary(graph.Neg), (6, 13)),
    "NegativeLogLikelihoodLoss": Operator(loss.negative_log_likelihood, (12, 13, 22)),
    "NonMaxSuppression": Operator(
        non_max_suppression, (10, 11), "max_output_boxes_per_class known at compile time"
    ),
    "NonZero": Operator(non_zero.non_zero, (9, 13)),
    "Not": Operator(unary(graph.Not), (1,)),
    "OneHot": Operator(selection.one_hot, (9, 11, 28), "depth known at compile time"),
    "Or": Operator(binary(graph.Or), (7,)),
    "PRelu": Operator(elementwise.prelu, (7, 9, 16)),
    "Pad": Operator(selection.pad, (2, 11, 13, 18, 19, *_STRUCTURAL), "pads known at compile time"),
    "Pow": Operator(elementwise.power, (7, 12, 13, 15)),
    "QLinearConv": Operator(quantization.qlinear_conv, (10,)),
    "QLinearMatMul": Operator(quantization.qlinear_matmul, (10, 21)),
    "QuantizeLinear": Operator(quantization.quantize_linear, (10, 13, 19, 21, 23, 24, 25, 28), "to 2 to 16 bits"),
    "RMSNormalization": Operator(normalization.rms_norm, (23,)),
    "RNN": Operator(recurrent.recurrent, (7, 14, 22), "unrolled"),
    "Range": Operator(selection.range_, (11, 27), "bounds known at compile time"),
    "Reciprocal": Operator(unary(graph.Reciprocal), (6, 13)),
    "ReduceL1": Operator(reduce("l1"), (1, 11, 13, 18)),
    "ReduceL2": Operator(reduce("l2"), (1, 11, 13, 18)),
    "ReduceLogSum": Operator(reduce("log_sum"), (1, 11, 13, 18, 28)),
    "ReduceLogSumExp": Operator(reduce("log_sum_exp"), (1, 11, 13, 18, 28)),
    "ReduceMax": Operator(reduce("max"), (1, 11, 12, 13, 18, 20)),
    "ReduceMean": Operator(reduce("mean"), (1, 11, 13, 18)),
    "ReduceMin": Operator(reduce("min"), (1, 11, 12, 13, 18, 20)),
    "ReduceProd": Operator(reduce("prod"), (1, 11, 13, 18)),
    "ReduceSum": Operator(reduce("sum", axes_input_since=13), (1, 11, 13)),
    "ReduceSumSquare": Operator(reduce("sum_square"), (1, 11, 13, 18)),
    "Relu": Operator(unary(graph.Relu), (6, 13, 14)),
    "Reshape": Operator(shape.reshape_to, (5, 13, 14, 19, *_STRUCTURAL), "shape known at compile time"),
    "Resize": Operator(resize.resize, (10, 11, 13, 18, 19), "scales, sizes and region known at compile time"),
    "ReverseSequence": Operator(selection.reverse_sequence, (10, 28)),
    "RoiAlign": Operator(roi_align, (10, 16, 22), "sampling_ratio of 1 and more"),
    "Round": Operator(unary(graph.Round), (11, 22)),
    "STFT": Operator(spectral.stft, (17,), "frame step and length known at compile time"),
    "Scatter": Operator(scatter.scatter_elements, (9, 11)),
    "ScatterElements": Operator(scatter.scatter_elements, (11, 13, 16, 18)),
    "ScatterND": Operator(scatter.scatter_nd, (11, 13, 16, 18)),
    "Selu": Operator(with_floats(graph.Selu, alpha=1.6732632423543772, gamma=1.0507009873554805), (6, 22)),
    "Shape": Operator(selection.shape_of_operand, (1, 13, 15, 19, *_STRUCTURAL)),
    "Shrink": Operator(elementwise.shrink, (9,)),
    "Sigmoid": Operator(unary(graph.Sigmoid), (6, 13)),
    "Sign": Operator(unary(graph.Sign), (9, 13)),
    "Sinh": Operator(trigonometry.sinh, (9, 22)),
    "Sin": Operator(unary(graph.Sin), (7, 22)),
    "Size": Operator(selection.size_of_operand, (1, 13, 19, *_STRUCTURAL)),
    "Slice": Operator(selection.slice_, (1, 10, 11, 13), "ranges known at compile time"),
    "Softmax": Operator(softmax(graph.Softmax), (1, 11, 13)),
    "SoftmaxCrossEntropyLoss": Operator(loss.softmax_cross_entropy, (12, 13)),
    "Softplus": Operator(unary(graph.Softplus), (1, 22)),
    "SpaceToDepth": Operator(shape.space_to_depth, (1, 13, 28)),
    "Split": Operator(selection.split, (2, 11, 13, 18), "sizes known at compile time"),
    "Sqrt": Operator(unary(graph.Sqrt), (6, 13)),
    "Squeeze": Operator(shape.squeeze, (1, 11, 13, *_STRUCTURAL)),
    "Sub": Operator(binary(graph.Sub), (7, 13, 14)),
    "Sum": Operator(variadic(graph.Add), (6, 8, 13)),
    "Tan": Operator(trigonometry.tan, (7, 22)),
    "Tanh": Operator(unary(graph.Tanh), (6, 13)),
    "TensorScatter": Operator(tensor_scatter, (24,)),
    "TfIdfVectorizer": Operator(ngrams.tf_idf, (9,), "of integers"),
    "ThresholdedRelu": Operator(elementwise.thresholded_relu, (10, 22)),
    "Tile": Operator(shape.tile, (6, 13), "repeats known at compile time"),
    "TopK": Operator(top_k.top_k, (1, 10, 11, 24), "k known at compile time"),
    "Transpose": Operator(shape.transpose, (1, 13, *_STRUCTURAL)),
    "Trilu": Operator(selection.trilu, (14,)),
    "Unique": Operator(unique, (11, 28)),
    "Unsqueeze": Operator(shape.unsqueeze, (1, 11, 13, *_STRUCTURAL)),
    "Upsample": Operator(resize.resize, (7, 9, 10), "scales known at compile time"),
    "Where": Operator(elementwise.where, (9, 16)),
    "Xor": Operator(binary(graph.Xor), (7,)),
}

TRAINING_DOMAIN = "ai.onnx.preview.training"
TRAINING_OPERATORS: dict[str, Operator] = {
    "Adagrad": Operator(optimizer.adagrad, (1,)),
    "Adam": Operator(optimizer.adam, (1,)),
    "Momentum": Operator(optimizer.momentum, (1,)),
}
"""The operators of the training domain, whose versions are counted by themselves."""

OTHER_DOMAINS: dict[str, dict[str, Operator]] = {TRAINING_DOMAIN: TRAINING_OPERATORS, ML_DOMAIN: ML_OPERATORS}


def find_operator(node: onnx.NodeProto) -> Operator | None:
    """Row of the tables for this node, or None."""
    table = OPERATORS if node.domain in ("", "ai.onnx") else OTHER_DOMAINS.get(node.domain, {})
    return table.get(node.op_type)


def operator_version(node: onnx.NodeProto, opsets: Mapping[str, int]) -> int:
    """Version of its domain in which the definition of the node's operator last changed, or 0 if there is none.

    Args:
        opsets: domain -> version that the model imports; the standard domain is "".
    """
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = opsets.get(domain, 1)
    if domain not in ("", *OTHER_DOMAINS) or not onnx.defs.has(node.op_type, version, domain):
        return 0
    schema = onnx.defs.get_schema(node.op_type, version, domain)
    return schema.since_version


def _schema_to_expand(node: onnx.NodeProto, opsets: dict[str, int]) -> Any:
    """Schema with the body that replaces the node, or None where the node stays."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    if domain == TRAINING_DOMAIN or not onnx.defs.has(node.op_type, opsets.get(domain, 0), domain):
        return None
    if node.op_type in RANDOM:  # the reference draws other numbers than the body would
        return None
    schema: Any = onnx.defs.get_schema(node.op_type, opsets[domain], domain)
    operator = find_operator(node)
    if operator is not None and schema.since_version in operator.versions:
        return None
    return schema if schema.has_function or schema.has_context_dependent_function else None


def has_body(node: onnx.NodeProto, opsets: dict[str, int]) -> bool:
    """Whether ONNX defines the operator by a body, at least for some types; `opsets`: versions by domain."""
    return _schema_to_expand(node, opsets) is not None


def expand_functions(
    model: onnx.ModelProto, opset: int, file_name: str
) -> tuple[onnx.ModelProto, list[HostSequence]]:
    """Replace operators without a handler by the bodies of the ONNX standard, control flow by what it does, and
    sequences by their elements; also where they are outputs, which are given as well."""
    opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    outputs: list[HostSequence] = []
    for _ in range(_EXPANSION_ROUNDS):
        expanded = expand_bodies(model, opset, file_name, lambda node: _schema_to_expand(node, opsets))
        resolved = resolve_control_flow(expanded or model, opset, file_name, select=False)
        listed = resolve_sequences(resolved or expanded or model, opset, file_name, outputs)
        if expanded is None and resolved is None and listed is None:
            resolved = resolve_control_flow(model, opset, file_name)  # also by selections, last of all
        if expanded is None and resolved is None and listed is None:
            break
        model = listed or resolved or expanded or model
    return model, outputs


_EXPANSION_ROUNDS = 16
"""Bodies may hold operators with bodies, and branches; the standard nests them two deep, and a selection takes two."""
