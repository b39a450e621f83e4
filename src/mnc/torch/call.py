"""What a handler sees of one ATen call in a trace."""

from typing import Any

import torch
from torch import fx

from mnc.core.diagnostics import CompileError
from mnc.torch.module_paths import described
from mnc.torch.onnx_writer import OnnxWriter

_SINGLE = "use float32 modules and samples, and no torch.autocast: Options(precision=...) says how exact products are"

Result = str | list[str | None]
"""Name of the ONNX value, or names for a call with several results; None for a result that cannot be had."""


class Call:
    """One call: its arguments by the names of the operator's schema, with defaults filled in."""

    def __init__(self, node: fx.Node, writer: OnnxWriter, values: dict[fx.Node, Result]) -> None:
        self.node = node
        self.writer = writer
        self._values = values
        self._arguments = self._bind()

    def _bind(self) -> dict[str, Any]:
        target: Any = self.node.target
        schema = target._schema.arguments
        bound = {entry.name: entry.default_value for entry in schema}
        bound.update({entry.name: value for entry, value in zip(schema, self.node.args, strict=False)})
        bound.update(self.node.kwargs)
        return bound

    def __getitem__(self, name: str) -> Any:
        return self._arguments[name]

    @property
    def names(self) -> frozenset[str]:
        """Names of the operator's arguments, which differ between its overloads."""
        return frozenset(self._arguments)

    def error(self, message: str, hint: str | None = None) -> CompileError:
        """An error about this call, for the caller to raise."""
        return CompileError(f"{message}{described(self.node)}", op_type=str(self.node.target), hint=hint)

    @property
    def shape(self) -> list[int]:
        """Shape of the (first) result."""
        return self.shape_of(self.node)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the (first) result."""
        return _value(self.node).dtype

    def shape_of(self, value: fx.Node | str) -> list[int]:
        """Shape of an argument, given by name or as a node."""
        return list(_value(self._arguments[value] if isinstance(value, str) else value).shape)

    def dtype_of(self, name: str) -> torch.dtype:
        """Type of an argument that is a tensor."""
        return _value(self._arguments[name]).dtype

    def promoted(self, *names: str) -> torch.dtype:
        """Type in which torch combines these arguments."""
        values = [self._arguments[name] for name in names]
        samples = [_sample(value) if isinstance(value, fx.Node) else value for value in values]
        return torch.result_type(samples[0], samples[1])

    def operand(self, name: str, dtype: torch.dtype | None = None) -> str:
        """ONNX value of argument `name`, converted to `dtype`."""
        return self.value(self._arguments[name], dtype)

    def value(self, source: Any, dtype: torch.dtype | None = None) -> str:
        """ONNX value of a node or number, converted to `dtype`."""
        if not isinstance(source, fx.Node):
            return self.writer.constant(source, dtype or self.dtype)
        found = self._values[source]
        if not isinstance(found, str):
            raise self.error("a tuple is used as a tensor")
        return self.cast(found, _value(source).dtype, dtype)

    def cast(self, name: str, given: torch.dtype, wanted: torch.dtype | None) -> str:
        """`name`, of type `given`, as `wanted`."""
        if wanted is None or self.writer.element_type(given) == self.writer.element_type(wanted):
            return name
        return self.writer.op("Cast", name, to=self.element_type(wanted))

    def element_type(self, dtype: torch.dtype) -> int:
        """ONNX element type; raises CompileError for a type that cannot be exported."""
        element = self.writer.element_type(dtype)
        if element is None:
            raise self.error(f"element type {dtype} is not supported", _SINGLE)
        return element

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Write an ONNX node."""
        return self.writer.op(op_type, *inputs, **attributes)

    def reshape(self, name: str, shape: list[int]) -> str:
        """`name` in another shape."""
        return self.op("Reshape", name, self.writer.ints(shape))

    def axis(self, value: int, rank: int) -> int:
        """A dimension counted from the front."""
        return value % rank if rank else 0


def _value(node: fx.Node) -> torch.Tensor:
    """What the trace knows of the (first) result of a node."""
    value = node.meta["val"]
    return value[0] if isinstance(value, list | tuple) else value


def _sample(node: fx.Node) -> torch.Tensor:
    """A tensor of the node's type and rank class: torch promotes scalars otherwise than tensors."""
    value = _value(node)
    return torch.empty((1,) * min(value.dim(), 1), dtype=value.dtype)
