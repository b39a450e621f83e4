"""What a handler sees of an ONNX node."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.element_types import held, held_type

WITHOUT_COUNTS = (
    "keep shapes constant and select by a mask: Where in place of NonZero, in PyTorch torch.where(mask, a, b) in place "
    "of x[mask]"
)
"""What to do about shapes that depend on values."""


class Node:
    """One ONNX node: its operands as MLIR values, its attributes as Python values.

    Args:
        version: the version of the operator, that is, the opset in which its definition last changed.
        operands: fetches the MLIR value of a name.
        known: fetches the value of a name if it does not depend on the model's inputs.
        onnx_type: fetches the ONNX element type of a name, UNDEFINED where nobody knows it.

    Attributes:
        given: of every input, the extents that a run finds (`run_time_extents`).
        found: the same of outputs, by their numbers, where the operator finds any.
        lengths: of every input that is the shape of a value with such extents, its elements: numbers and counts.
        measured: the same of the first output.
        sources: fetches the inputs of the model that a name depends on.
    """

    def __init__(
        self,
        proto: onnx.NodeProto,
        name: str,
        version: int,
        file_name: str,
        operands: Callable[[str], ir.Value],
        known: Callable[[str], np.ndarray | None],
        onnx_type: Callable[[str], int],
    ) -> None:
        self.proto = proto
        self.name = name
        self.op_type = proto.op_type
        self.version = version
        self.file_name = file_name
        self._operands = operands
        self._known = known
        self._onnx_type = onnx_type
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self._replaced: dict[int, Any] = {}
        self.given: list[Mapping[int, Any]] = [{} for _ in proto.input]
        self.found: dict[int, Mapping[int, Any]] = {}
        self.lengths: list[Sequence[Any] | None] = [None for _ in proto.input]
        self.measured: Sequence[Any] | None = None
        self.sources: Callable[[str], list[str]] = lambda _: []

    def error(self, message: str, hint: str | None = None) -> CompileError:
        """An error about this node, for the caller to raise."""
        return CompileError(message, self.name, self.op_type, hint, self.file_name)

    def has(self, index: int) -> bool:
        """True if input `index` is present."""
        return index < len(self.proto.input) and bool(self.proto.input[index])

    def operand(self, index: int) -> Any:
        """MLIR value of input `index`."""
        if not self.has(index):
            raise self.error(f"input {index} is missing")
        if index in self._replaced:
            return self._replaced[index]
        return self._operands(self.proto.input[index])

    def replace(self, index: int, value: Any) -> None:
        """Take another value of the same type for input `index`."""
        self._replaced[index] = value

    def extents(self, index: int) -> Mapping[int, Any]:
        """Extents of input `index` that a run finds: dimension -> count."""
        return self.given[index] if index < len(self.given) else {}

    def operands(self, start: int = 0) -> list[Any]:
        """MLIR values of all present inputs from `start` on."""
        return [self.operand(i) for i in range(start, len(self.proto.input)) if self.has(i)]

    def known(self, index: int) -> np.ndarray | None:
        """Value of input `index` if it is present and does not depend on the model's inputs."""
        return self._known(self.proto.input[index]) if self.has(index) else None

    def onnx_type(self, index: int) -> int:
        """ONNX element type of input `index`, which several have in common with the type that holds their values."""
        return self._onnx_type(self.proto.input[index])

    def constant(self, index: int, what: str) -> np.ndarray:
        """Value of input `index`; raises CompileError if it depends on the model's inputs."""
        value = self.known(index)
        if value is not None:
            return value
        lengths = self.lengths[index] if self.has(index) else None
        if lengths is not None and all(isinstance(length, int) for length in lengths):
            return np.array(lengths, np.int64)
        message = f"its {what} (input {index}) must be known at compile time"
        if lengths is not None:
            raise self.error(f"{message}, and a run finds it", hint=WITHOUT_COUNTS)
        name = self.proto.input[index] if self.has(index) else ""
        sources = [f"'{source}'" for source in self.sources(name)]
        if not sources:
            hint = f"make '{what}' an initializer or a Constant; what depends on values of tensors is no constant: "
            raise self.error(message, hint=hint + WITHOUT_COUNTS)
        message += f", but depends on {'input' if len(sources) == 1 else 'inputs'} {', '.join(sources)}"
        hint = f"an initializer of the same name fixes an input: add one for {' and '.join(sources)}"
        raise self.error(message, hint=f"{hint}; or {WITHOUT_COUNTS}")

    def shape_ints(self, index: int, what: str) -> list[int]:
        """Like `constant_ints`; where a run finds an extent, the most that it may be."""
        if (lengths := self.lengths[index]) is not None:
            return [length if isinstance(length, int) else length.most for length in lengths]
        return self.constant_ints(index, what)

    def constant_ints(self, index: int, what: str) -> list[int]:
        """Like `constant`, flattened to integers."""
        return [int(value) for value in self.constant(index, what).reshape(-1)]

    def attribute(self, name: str, default: Any = None) -> Any:
        """Python value of an attribute: int, float, str, list, or array; `default` if it is absent."""
        attribute = self._attributes.get(name)
        if attribute is None:
            return default
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode("utf-8")
        if isinstance(value, onnx.TensorProto):
            return held(onnx.numpy_helper.to_array(value))
        if attribute.type in _LISTS:
            return [item.decode("utf-8") if isinstance(item, bytes) else item for item in value]
        return value

    def wants(self, output: int) -> bool:
        """True if output `output` has a name."""
        return output < len(self.proto.output) and bool(self.proto.output[output])

    def axis(self, axis: int, rank: int) -> int:
        """Normalise a possibly negative axis."""
        if not -rank <= axis < rank:
            raise self.error(f"axis {axis} is out of range for a tensor of rank {rank}")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> list[int]:
        """Normalise axes: not negative, ascending, each once."""
        out = sorted(self.axis(axis, rank) for axis in axes)
        if len(set(out)) != len(out):
            raise self.error(f"axes {list(axes)} name a dimension twice")
        return out

    def element_type(self, onnx_type: int) -> Any:
        """MLIR element type that holds values of an ONNX one."""
        name = onnx.TensorProto.DataType.Name(onnx_type)
        if onnx_type == onnx.TensorProto.STRING:
            raise self.error("element type STRING is not supported", hint="map strings to numbers outside the model")
        try:
            return held_type(onnx_type)
        except (ValueError, KeyError):
            raise self.error(f"element type {name} is not supported", hint="cast to FLOAT instead") from None


_LISTS = (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS, onnx.AttributeProto.STRINGS)


def shape_of(value: Any) -> list[int]:
    """Static shape of an MLIR tensor value."""
    return list(ir.RankedTensorType(value.type).shape)


def element_type_of(value: Any) -> Any:
    """Element type of an MLIR tensor value."""
    return ir.RankedTensorType(value.type).element_type


def reshape(value: Any, shape: Sequence[int]) -> Any:
    """`graph.reshape`, or `value` itself when the shape does not change."""
    if shape_of(value) == list(shape):
        return value
    return graph.Reshape.build(value, result_type=graph.tensor(shape, element_type_of(value))).result


def constant(array: np.ndarray | float, like: Any = None) -> Any:
    """`graph.constant`; with `like`, converted to the element type of that value."""
    dtype = graph.numpy_dtype(element_type_of(like)) if like is not None else None
    return graph.Constant.build(value=np.asarray(array, dtype)).result


def cast(value: Any, element_type: Any) -> Any:
    """`graph.cast`, or `value` itself when the type does not change."""
    if element_type_of(value) == element_type:
        return value
    return graph.Cast.build(value, result_type=graph.tensor(shape_of(value), element_type)).result


def broadcast_to(value: Any, shape: Sequence[int]) -> Any:
    """`graph.broadcast_to`, or `value` itself when the shape does not change."""
    if shape_of(value) == list(shape):
        return value
    return graph.BroadcastTo.build(value, result_type=graph.tensor(shape, element_type_of(value))).result
