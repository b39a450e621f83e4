"""Collects ONNX nodes and constants; equal nodes and constants are written once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
"""Has Gelu and Pad with axes; every operator written here exists in it, and the importer reads it."""
IR_VERSION = 9

_INTEGERS = {
    torch.int64: TensorProto.INT64,
    torch.int32: TensorProto.INT32,
    torch.uint8: TensorProto.UINT8,
    torch.int8: TensorProto.INT8,
    torch.bool: TensorProto.BOOL,
}
SINGLE_OR_DOUBLE = (torch.float32, torch.float64)


class OnnxWriter:
    """An ONNX graph under construction.

    Args:
        double: write every float32 of the trace as DOUBLE. Such a graph differs from torch in double precision only
            if the translation is wrong, which is how it is proven.
    """

    def __init__(self, double: bool = False) -> None:
        self.double = double
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self.prefix = ""  # of the names of nodes: the module they come from
        self._seen: dict[tuple[Any, ...], tuple[str, ...]] = {}
        self._used_names: set[str] = set()

    def element_type(self, dtype: torch.dtype) -> int | None:
        """ONNX element type, or None for a type that has no place here."""
        if dtype in SINGLE_OR_DOUBLE:
            return TensorProto.DOUBLE if self.double else TensorProto.FLOAT
        return _INTEGERS.get(dtype)

    def unique(self, name: str) -> str:
        """`name`, with a number if it is taken; the result is taken from now on."""
        candidate, number = name, 1
        while candidate in self._used_names:
            candidate, number = f"{name}_{number}", number + 1
        self._used_names.add(candidate)
        return candidate

    def constant(self, value: Any, dtype: torch.dtype, name: str | None = None) -> str:
        """Initializer with `value` (number, list, array) in the ONNX type of `dtype`, shared unless it has a name."""
        element = self.element_type(dtype)
        assert element is not None  # the caller asked for a type that values have
        array = np.asarray(value).astype(helper.tensor_dtype_to_np_dtype(element))
        key = ("constant", array.tobytes(), array.shape, array.dtype.str)
        if name is None and key in self._seen:
            return self._seen[key][0]
        label = name or self.unique("constant")
        self.initializers[label] = numpy_helper.from_array(array, label)
        if name is None:
            self._seen[key] = (label,)
        return label

    def ints(self, values: Sequence[int]) -> str:
        """A list of integers as an INT64 initializer, as shapes and axes are given."""
        return self.constant(np.asarray(list(values), np.int64), torch.int64)

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Write a node with one output; returns its name."""
        return self.ops(op_type, inputs, 1, **attributes)[0]

    def ops(self, op_type: str, inputs: Sequence[str], outputs: int, **attributes: Any) -> tuple[str, ...]:
        """Write a node with several outputs; returns their names."""
        key = (op_type, tuple(inputs), outputs, repr(sorted(attributes.items())))
        if key not in self._seen:
            label = self.unique(f"{self.prefix}/{op_type}" if self.prefix else op_type)
            names = (label, *(self.unique(f"{label}.{i}") for i in range(1, outputs)))
            self.nodes.append(helper.make_node(op_type, list(inputs), list(names), name=label, **attributes))
            self._seen[key] = names
        return self._seen[key]

    def model(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
    ) -> onnx.ModelProto:
        """The model; nodes and initializers that no output needs are left out.

        Raises:
            onnx.checker.ValidationError: what was written is no valid model.
        """
        needed = {value.name for value in outputs}
        nodes: list[onnx.NodeProto] = []
        for node in reversed(self.nodes):
            if needed.intersection(node.output):
                nodes.append(node)
                needed.update(node.input)
        kept = [tensor for key, tensor in self.initializers.items() if key in needed]
        graph = helper.make_graph(nodes[::-1], name, list(inputs), list(outputs), kept)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="mnc.torch"
        )
        onnx.checker.check_model(model, full_check=True)
        return model
