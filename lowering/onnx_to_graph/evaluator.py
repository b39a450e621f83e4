"""The ONNX reference evaluator, with operators that it gets wrong put right.

- BatchNormalization before operator set 14: a node with one output is inference, the reference trains.
- Softmax, LogSoftmax, Hardmax before operator set 13: the tensor is taken as a matrix, cut at `axis`, 1 by default.
- LogSoftmax: the reference takes the logarithm of what has become 0.
- ConvTranspose with groups: the reference drops most channels of a group. With output_shape, which pads follow from, it
  takes those that are given, none.
- LRN: the reference normalizes as many channels as the batch has images, and takes four dimensions only.
- MaxPool, AveragePool, LpPool, GlobalMaxPool, GlobalLpPool: see `reference_pooling`.
- LpNormalization: the reference forgets the absolute value for p=1, and divides by 0.
- CumSum: the reference wants an axis of rank 0; PyTorch exports one of rank 1.
- Mean: the reference adds in place, which a first operand that is broadcast does not allow.
- OneHot: the reference raises for a depth that is a tensor of one element, as PyTorch exports it, and for booleans.
- DequantizeLinear before operator set 19, Scatter: see `reference_early_versions`.
- Pad: the reference raises for negative pads, which cut.
- Range: the reference adds up a difference of floats that is rounded.
- MatMulInteger: the reference does not know zero points of rows that are a vector.
- Resize of operator set 10: it is Upsample. Later ones: see `reference_resampling`.
- Loop: see `reference_loop`. Scan: see `reference_scan`.
- RNN, GRU, LSTM: see `reference_recurrent`.
- Upsample, GridSample: see `reference_resampling`.
- Sparse initializers and constants: the reference does not read them.
- NonMaxSuppression, Unique: see `reference_counted_rows`.
- NegativeLogLikelihoodLoss: see `reference_loss`.
- Optional, OptionalGetElement, OptionalHasElement, SequenceMap: see `reference_sequences`.
- Operators of ai.onnx.ml: see `reference_ml`.
- GatherElements with 32 and more indices along the axis: the reference takes the first ones only.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_batch_normalization import _batchnorm_test_mode
from onnx.reference.ops.op_conv_transpose import ConvTranspose
from onnx.reference.ops.op_cum_sum import CumSum
from onnx.reference.ops.op_hardmax import Hardmax
from onnx.reference.ops.op_log_softmax import LogSoftmax
from onnx.reference.ops.op_one_hot import OneHot
from onnx.reference.ops.op_softmax import Softmax

from mnc.lowering.onnx_to_graph.local_functions import without_functions
from mnc.lowering.onnx_to_graph.reference_counted_rows import NonMaxSuppression, Unique
from mnc.lowering.onnx_to_graph.reference_early_versions import DequantizeLinear, Scatter
from mnc.lowering.onnx_to_graph.reference_loop import Loop
from mnc.lowering.onnx_to_graph.reference_loss import NegativeLogLikelihoodLoss
from mnc.lowering.onnx_to_graph.reference_ml import CORRECTED_ML
from mnc.lowering.onnx_to_graph.reference_pooling import (
    AveragePool,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
)
from mnc.lowering.onnx_to_graph.reference_recurrent import GRU, LSTM, RNN
from mnc.lowering.onnx_to_graph.reference_resampling import FirstResize, GridSample, Resize, Upsample
from mnc.lowering.onnx_to_graph.reference_scan import Scan
from mnc.lowering.onnx_to_graph.reference_sequences import (
    Optional,
    OptionalGetElement,
    OptionalHasElement,
    SequenceMap,
)
from mnc.lowering.onnx_to_graph.sparse_tensors import without_sparse_tensors
from mnc.lowering.onnx_to_graph.unknown_attributes import unknown_attributes

AXIS_OF_MATRIX = 1
"""Default of `axis` where softmax and its kin take a matrix."""
ALONG_ONE_DIMENSION = 13
"""Operator set from which softmax and its kin work along one dimension."""
PADS_ARE_AN_INPUT = 11
"""Operator set from which the pads of Pad are an operand."""
RESIZE_IS_UPSAMPLE = 10
"""Operator set whose Resize has scales only."""
SCAN_WITHOUT_BATCHES = 9
"""Operator set from which Scan has no batches."""
SMALL_FLOATS = 19
"""Operator set from which DequantizeLinear takes floats of 8 bits, and the reference has it."""
TRAINING_MODE = 14
"""Operator set from which an attribute says whether batch normalization trains."""


class GroupedConvTranspose(ConvTranspose):
    """Transposed convolution whose groups are computed one after the other."""

    def _run(self, X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, **attributes: Any) -> Any:
        groups = attributes.pop("group", 1) or 1
        own = np.split(W, groups)
        wanted = list(attributes.pop("output_shape", None) or [])[2 - X.ndim :]
        if wanted:
            attributes.update(auto_pad="NOTSET", pads=_pads_for(wanted, X.shape[2:], W.shape[2:], attributes))
        results = [
            super(GroupedConvTranspose, self)._run(x, w, group=1, **attributes)[0]
            for x, w in zip(np.split(X, groups, axis=1), own, strict=True)
        ]
        result = np.concatenate(results, axis=1)
        missing = [n - have for n, have in zip(wanted, result.shape[2:], strict=True)] if wanted else [0] * (X.ndim - 2)
        result = np.pad(result, [(0, 0), (0, 0), *((0, n) for n in missing)])
        bias = 0 if B is None else B.reshape(-1, *[1] * (X.ndim - 2))
        return ((result + bias).astype(X.dtype),)


def _pads_for(
    wanted: Sequence[int], data: Sequence[int], kernel: Sequence[int], given: Mapping[str, Any]
) -> list[int]:
    """Pads with which a transposed convolution gives no more than the extents `wanted`: what is too much is cut, the
    larger half in front but for SAME_UPPER."""
    rank = len(kernel)
    strides, dilations = (given.get(name) or [1] * rank for name in ("strides", "dilations"))
    extra = given.get("output_padding") or [0] * rank
    whole = [s * (n - 1) + e + (k - 1) * d + 1
             for s, n, e, k, d in zip(strides, data, extra, kernel, dilations, strict=True)]  # fmt: skip
    total = [max(have - want, 0) for have, want in zip(whole, wanted, strict=True)]
    less = [t // 2 for t in total]
    more = [t - half for t, half in zip(total, less, strict=True)]
    return less + more if given.get("auto_pad") == "SAME_UPPER" else more + less


class DirectLogSoftmax(LogSoftmax):
    """Logarithm of softmax without the softmax, which underflows where the logarithm is still a number."""

    def _run(self, x: np.ndarray, axis: int | None = None) -> Any:
        along = self.axis if axis is None else axis  # pyright: ignore[reportAttributeAccessIssue]
        if x.size == 0:
            return (x,)
        below = x - x.max(axis=along, keepdims=True)
        return ((below - np.log(np.exp(below).sum(axis=along, keepdims=True))).astype(x.dtype),)


class EveryChannelLRN(OpRun):
    """Local response normalization of all channels, for any number of dimensions."""

    def _run(self, x: np.ndarray, alpha: float, beta: float, bias: float, size: int) -> Any:
        low = (size - 1) // 2
        pads = [(0, 0), (low, size - 1 - low), *[(0, 0)] * (x.ndim - 2)]
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(x * x, pads), size, axis=1)
        return ((x / (bias + alpha / size * windows.sum(-1)) ** beta).astype(x.dtype),)


class InferredBatchNormalization(OpRun):
    """Batch normalization by the given mean and variance, which outputs more than the result do not go with."""

    def _run(self, x: Any, scale: Any, bias: Any, mean: Any, var: Any, **attributes: Any) -> Any:
        if len(self.onnx_node.output) > 1:
            raise NotImplementedError("BatchNormalization that trains before operator set 14")
        return (_batchnorm_test_mode(x, scale, bias, mean, var, epsilon=attributes["epsilon"]),)


class WholeGatherElements(OpRun):
    """Elements along an axis by indices, whose other extents may be smaller than those of the data."""

    def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0, **_: Any) -> Any:
        axis %= data.ndim
        region = tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(indices.shape))
        return (np.take_along_axis(data[region], indices, axis),)


class AbsoluteLpNormalization(OpRun):
    """Division by the norm of order 1 or 2; a zero vector stays zero."""

    def _run(self, x: np.ndarray, axis: int = -1, p: int = 2) -> Any:
        norm = np.abs(x).sum(axis=axis, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis=axis, keepdims=True))
        return ((x / np.where(norm == 0, 1, norm)).astype(x.dtype),)


class BroadcastMean(OpRun):
    """The mean of operands that broadcast."""

    def _run(self, *operands: np.ndarray) -> Any:
        return ((functools.reduce(np.add, operands) / len(operands)).astype(operands[0].dtype),)


class DirectRange(OpRun):
    """start + i * delta, rounded to the type; NumPy adds up what the first two elements differ by."""

    def _run(self, start: np.ndarray, limit: np.ndarray, delta: np.ndarray, **_: Any) -> Any:
        count = max(0, int(np.ceil((limit.item() - start.item()) / delta.item())))
        steps = np.arange(count).astype(start.dtype) * np.asarray(delta).reshape(())
        return ((np.asarray(start).reshape(()) + steps).astype(start.dtype),)


class RowwiseMatMulInteger(OpRun):
    """The product of integers less their zero points; those of the rows may be a vector."""

    def _run(self, a: np.ndarray, b: np.ndarray, a_zero: Any = None, b_zero: Any = None) -> Any:
        left, right = a.astype(np.int32), b.astype(np.int32)
        if a_zero is not None:
            left = left - (a_zero.reshape(-1, 1) if a_zero.ndim == 1 and a.ndim > 1 else a_zero)
        return (left @ (right if b_zero is None else right - b_zero),)


class ScalarCumSum(CumSum):
    """Running sums along an axis that is a scalar or a tensor of one element."""

    def _run(self, x: np.ndarray, axis: np.ndarray, exclusive: int | None = None, reverse: int | None = None) -> Any:
        return super()._run(x, np.asarray(axis).reshape(()), exclusive=exclusive, reverse=reverse)


class FlatOneHot(OneHot):
    """One-hot vectors whose length is a scalar or a tensor of one element."""

    def _run(self, indices: np.ndarray, depth: np.ndarray, values: np.ndarray, axis: int | None = None) -> Any:
        (is_on,) = super()._run(indices, np.asarray(depth).reshape(()), np.array([0, 1]), axis=axis)
        return (np.where(is_on, values[1], values[0]).astype(values.dtype),)


class CuttingPad(OpRun):
    """Padding whose negative amounts cut, since operator set 11."""

    def _run(self, data: np.ndarray, pads: np.ndarray, constant_value: Any = None, axes: Any = None,
             mode: str = "constant") -> Any:  # fmt: skip
        named = [int(axis) % data.ndim for axis in (range(data.ndim) if axes is None else axes)]
        amounts = [(0, 0)] * data.ndim
        for i, axis in enumerate(named):
            amounts[axis] = (int(pads[i]), int(pads[len(named) + i]))
        kept = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(amounts, data.shape, strict=True))
        grown = [(max(a, 0), max(b, 0)) for a, b in amounts]
        if mode != "constant":
            return (np.pad(data[kept], grown, mode=mode),)  # pyright: ignore[reportCallIssue, reportArgumentType]
        value = 0 if constant_value is None else np.asarray(constant_value).reshape(())
        return (np.pad(data[kept], grown, constant_values=value).astype(data.dtype),)


def _along_rows(operator: type[Softmax] | type[LogSoftmax] | type[Hardmax]) -> type[OpRun]:
    """An operator along one dimension as one on the rows of a matrix."""

    class AlongRows(operator):  # pyright: ignore[reportGeneralTypeIssues]
        def _run(self, x: np.ndarray, **_: Any) -> Any:  # the axis that is passed may be the default of today
            given = [attribute.i for attribute in self.onnx_node.attribute if attribute.name == "axis"]
            axis = given[0] if given else AXIS_OF_MATRIX
            first = axis % x.ndim if axis < x.ndim else x.ndim
            matrix = x.reshape(int(np.prod(x.shape[:first])), -1)
            return (super()._run(matrix, axis=1)[0].reshape(x.shape),)

    AlongRows.__name__ = operator.__name__
    return AlongRows


GroupedConvTranspose.__name__ = "ConvTranspose"  # the evaluator knows operators by their names
EveryChannelLRN.__name__ = "LRN"
InferredBatchNormalization.__name__ = "BatchNormalization"
DirectLogSoftmax.__name__ = "LogSoftmax"
WholeGatherElements.__name__ = "GatherElements"
AbsoluteLpNormalization.__name__ = "LpNormalization"
BroadcastMean.__name__ = "Mean"
DirectRange.__name__ = "Range"
FlatOneHot.__name__ = "OneHot"
ScalarCumSum.__name__ = "CumSum"
RowwiseMatMulInteger.__name__ = "MatMulInteger"
CuttingPad.__name__ = "Pad"
FirstResize.__name__ = "Resize"

_CORRECTED: list[type[OpRun]] = [
    GroupedConvTranspose, EveryChannelLRN, WholeGatherElements, DirectLogSoftmax, AbsoluteLpNormalization,
    BroadcastMean, FlatOneHot, Loop, MaxPool, AveragePool, LpPool, GlobalMaxPool, GlobalLpPool, RNN, GRU, LSTM,
    Upsample, GridSample, Scatter, DirectRange, RowwiseMatMulInteger, ScalarCumSum, NonMaxSuppression, Unique,
    Optional, OptionalGetElement, OptionalHasElement, SequenceMap, NegativeLogLikelihoodLoss, *CORRECTED_ML,
]  # fmt: skip


def corrected_operators(model: onnx.ModelProto) -> list[str]:
    """Operators of the model that are evaluated by what is defined here."""
    here = {(operator.op_domain, operator.__name__) for operator in _operators(_version(model))}
    nodes = [("" if node.domain == "ai.onnx" else node.domain, node.op_type) for node in model.graph.node]
    return sorted({op_type for domain, op_type in nodes if (domain, op_type) in here})


def _version(model: onnx.ModelProto) -> int:
    return max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)


def _operators(version: int) -> list[type[OpRun]]:
    corrected = list(_CORRECTED)
    if version < TRAINING_MODE:
        corrected.append(InferredBatchNormalization)
    if version < ALONG_ONE_DIMENSION:
        corrected += [_along_rows(operator) for operator in (Softmax, DirectLogSoftmax, Hardmax)]
    if version < SMALL_FLOATS:
        corrected.append(DequantizeLinear)
    if version >= PADS_ARE_AN_INPUT:
        corrected.append(CuttingPad)
    if version >= SCAN_WITHOUT_BATCHES:
        corrected.append(Scan)
    if version == RESIZE_IS_UPSAMPLE:
        corrected.append(FirstResize)
    elif version > RESIZE_IS_UPSAMPLE:
        corrected.append(Resize)
    return list({operator.__name__: operator for operator in corrected}.values())  # ONNX takes the first of a name


def evaluator(model: onnx.ModelProto, faster: Sequence[type[OpRun]] = ()) -> ReferenceEvaluator:
    """An evaluator of the model, which ignores attributes that an operator does not have. `faster` are operators that
    give the same in less time, by their names."""
    version = _version(model)
    names = {operator.__name__ for operator in faster}
    used = [*(operator for operator in _operators(version) if operator.__name__ not in names), *faster]
    known = _with_known_attributes(without_sparse_tensors(without_functions(model)), version)
    return ReferenceEvaluator(known, new_ops=used)


def _with_known_attributes(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """The model, or a copy of it without the attributes that made the reference refuse it."""
    if not any(unknown_attributes(node, opset) for node in model.graph.node):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in copy.graph.node:
        for attribute in unknown_attributes(node, opset):
            node.attribute.remove(attribute)
    return copy
