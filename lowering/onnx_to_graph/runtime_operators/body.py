"""The body of standard operators that takes the place of one operator of ONNX Runtime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from mnc.core.diagnostics import CompileError

_AXES_ARE_AN_INPUT = {"ReduceMean": 18, "ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13}
"""Operator set since which axes are an operand."""
_SIZES_ARE_AN_INPUT, _COUNT_IS_NEEDED = 13, 18
"""Operator sets since which Split takes its sizes as an operand, and needs the number of its parts."""
_CAST_LIKE = 15


class Body:
    """Collects nodes under names of their own; `function` makes a function of them.

    Args:
        node: the operator of ONNX Runtime.
        opset: version of the standard operator set that the nodes are written for.
        kinds: element types of values, as far as they are known.
    """

    def __init__(self, node: onnx.NodeProto, opset: int, kinds: dict[str, int], file_name: str) -> None:
        self.opset = opset
        self._node, self._file_name = node, file_name
        self._attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        self._kinds = [kinds.get(name, onnx.TensorProto.UNDEFINED) for name in node.input]
        self._nodes: list[onnx.NodeProto] = []
        self._results: list[str] = []
        self._count = 0

    def has(self, index: int) -> bool:
        """Whether the node has this operand."""
        return index < len(self._node.input) and bool(self._node.input[index])

    def operand(self, index: int) -> str:
        """An operand by its number; empty if it is left out."""
        return f"operand{index}" if self.has(index) else ""

    def operands(self) -> list[str]:
        """All operands."""
        return [self.operand(i) for i in range(len(self._node.input))]

    def kind(self, index: int) -> int:
        """Element type of an operand, UNDEFINED if it is not known."""
        return self._kinds[index] if self.has(index) else onnx.TensorProto.UNDEFINED

    def attribute(self, name: str, default: Any) -> Any:
        """Value of an attribute; texts are strings."""
        value = self._attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def given(self, *but: str) -> dict[str, Any]:
        """The attributes that the node has, all but some."""
        return {name: self.attribute(name, None) for name in self._attributes if name not in but}

    def wants(self, index: int) -> bool:
        """Whether this result of the node is read."""
        return index < len(self._node.output) and bool(self._node.output[index])

    def refuse(self, reason: str, hint: str) -> CompileError:
        """The refusal of this form of the operator."""
        name = self._node.name or next(iter(self._node.output), None)
        return CompileError(reason, name, self._node.op_type, hint, self._file_name)

    def several(self, op_type: str, *operands: str, results: int, **attributes: Any) -> list[str]:
        """Results of a node of the body."""
        self._count += 1  # names of branches, too, must differ from all others
        names = [f"{op_type}{self._count}_{i}" for i in range(results)]
        name = f"{self._node.name or self._node.op_type}/{op_type}"
        self._nodes.append(onnx.helper.make_node(op_type, list(operands), names, name, **attributes))
        return names

    def op(self, op_type: str, *operands: str, **attributes: Any) -> str:
        """The result of a node of the body."""
        return self.several(op_type, *operands, results=1, **attributes)[0]

    def constant(self, value: Any, dtype: Any) -> str:
        """A constant of this type."""
        return self.op("Constant", value=onnx.numpy_helper.from_array(np.asarray(value, dtype)))

    def integers(self, *values: int) -> str:
        """A vector of integers: a shape, axes, sizes."""
        return self.constant(values, np.int64)

    def number(self, value: float, like: str) -> str:
        """A float of the type of another value."""
        if self.opset >= _CAST_LIKE:
            return self.op("CastLike", self.constant(value, np.float32), like)
        half = onnx.TensorProto.FLOAT16 in self._kinds
        return self.constant(value, np.float16 if half else np.float32)

    def reciprocal_root(self, extent: str, like: str) -> str:
        """1 / sqrt of an extent, of the type of another value."""
        root = self.op("Reciprocal", self.op("Sqrt", self.op("Cast", extent, to=onnx.TensorProto.FLOAT)))
        if self.opset >= _CAST_LIKE:
            return self.op("CastLike", root, like)
        half = onnx.TensorProto.FLOAT16 in self._kinds
        return self.op("Cast", root, to=onnx.TensorProto.FLOAT16) if half else root

    def along(self, op_type: str, x: str, *axes: int, **attributes: Any) -> str:
        """An operator whose axes are an operand or, in older operator sets, an attribute."""
        if self.opset >= _AXES_ARE_AN_INPUT[op_type]:
            return self.op(op_type, x, self.integers(*axes), **attributes)
        return self.op(op_type, x, axes=axes, **attributes)

    def split(self, x: str, axis: int, parts: int, sizes: Sequence[int] = ()) -> list[str]:
        """Parts along an axis; equal ones without `sizes`."""
        if sizes and self.opset >= _SIZES_ARE_AN_INPUT:
            return self.several("Split", x, self.integers(*sizes), results=parts, axis=axis)
        how: dict[str, Any] = {"split": list(sizes)} if sizes else {}
        if not sizes and self.opset >= _COUNT_IS_NEEDED:
            how = {"num_outputs": parts}
        return self.several("Split", x, results=parts, axis=axis, **how)

    def reshape(self, x: str, *shape: int) -> str:
        """As ONNX has it: 0 keeps an extent, -1 is what is left."""
        return self.op("Reshape", x, self.integers(*shape))

    def extent(self, x: str, axis: int) -> str:
        """A vector of one element: an extent of a value."""
        return self.op("Gather", self.op("Shape", x), self.integers(axis))

    def numbered(self, count: str) -> str:
        """0, 1, ... below a count, which is a vector of one element."""
        return self.op("Range", self.constant(0, np.int64), self.along("Squeeze", count, 0), self.constant(1, np.int64))

    def like(self, value: str, other: str) -> str:
        """A value of the type of another one, where the operator set can say so; otherwise as it is."""
        return self.op("CastLike", value, other) if self.opset >= _CAST_LIKE else value

    def with_rank(self, x: str, ways: dict[int, Any]) -> str:
        """What the way of the rank of `x` gives, a callable without arguments; what has another rank is taken as the
        last one. The rank is known when compiling, though perhaps not yet."""
        (rank, way), *others = ways.items()
        if not others:
            return way()
        own = self.op("Size", self.op("Shape", x))
        is_it = self.op("Equal", own, self.constant(rank, np.int64))
        return self.either(is_it, way, lambda: self.with_rank(x, dict(others)))

    def either(self, condition: str, then: Any, otherwise: Any) -> str:
        """What one of two callables gives; the condition, a scalar, is known when compiling, though perhaps not yet."""
        branches = [self._branch(then), self._branch(otherwise)]
        return self.op("If", condition, then_branch=branches[0], else_branch=branches[1])

    def _branch(self, way: Any) -> onnx.GraphProto:
        outside, self._nodes = self._nodes, []
        result = way()
        graph = onnx.helper.make_graph(self._nodes, "branch", [], [onnx.ValueInfoProto(name=result)])
        self._nodes = outside
        return graph

    def give(self, *results: str) -> None:
        """The results of the node, in order; an empty name is one that cannot be read."""
        self._results = list(results)

    def function(self, domain: str, name: str, imports: Sequence[onnx.OperatorSetIdProto]) -> onnx.FunctionProto:
        """The body as a function of the operands that are there, and of the results that are read."""
        wanted = [i for i, output in enumerate(self._node.output) if output]
        for i in wanted:
            if i >= len(self._results) or not self._results[i]:
                reason = f"its output '{self._node.output[i]}' is not supported"
                raise self.refuse(reason, "use the other outputs, which inference needs")
        return onnx.helper.make_function(
            domain, name, [name for name in self.operands() if name], [self._results[i] for i in wanted], self._nodes,
            list(imports),
        )  # fmt: skip
