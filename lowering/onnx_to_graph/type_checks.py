"""Integers and booleans where ONNX defines an operator for floats only.

Neither ONNX's checker nor its shape inference looks at them, and converters write such nodes where the operator that
they translate takes integers. Factors such as 1/9 of a mean would become integers here, and the result zero.
"""

import functools
from collections.abc import Callable

import onnx

from mnc.core.diagnostics import CompileError

_T = onnx.TensorProto
_INTEGERS = frozenset([_T.INT8, _T.INT16, _T.INT32, _T.INT64, _T.UINT8, _T.UINT16, _T.UINT32, _T.UINT64])

EXACT = {
    "integers": frozenset([
        "CausalConvWithState", "Conv", "ConvTranspose", "Dropout", "GlobalMaxPool", "Hardmax", "MaxPool", "MaxUnpool",
        "Sum",
    ]),
    "booleans": frozenset([
        "ArgMax", "ArgMin", "Dropout", "GlobalMaxPool", "Greater", "GreaterOrEqual", "Hardmax", "Less", "LessOrEqual",
        "Max", "MaxUnpool", "Min",
    ]),
}  # fmt: skip
"""Operators that are taken all the same: those of integers choose, add and multiply, those of booleans choose."""


def check_types(node: onnx.NodeProto, version: int, type_of: Callable[[str], int], file_name: str, name: str) -> None:
    """Raise CompileError where an operand holds integers or booleans of which ONNX has no definition, nor we.

    Args:
        node: of the standard domain.
        version: of its operator.
        type_of: gives the ONNX element type of a value, UNDEFINED where nobody knows it.
        name: what the node is called in messages.
    """
    for index, operand in enumerate(node.input):
        found = type_of(operand) if operand else _T.UNDEFINED
        kind = "integers" if found in _INTEGERS else "booleans" if found == _T.BOOL else ""
        if not kind or node.op_type in EXACT[kind]:
            continue
        allowed = _allowed(node.op_type, version, index)
        if allowed and kind not in allowed:
            element = _T.DataType.Name(found).lower()
            message = f"input {index} ('{operand}') holds {element}, which {node.op_type} is not defined for"
            hint = "cast it to float in front of the node, and the result back"
            raise CompileError(message, name, node.op_type, hint, file_name)


@functools.cache
def _allowed(op_type: str, version: int, index: int) -> frozenset[str]:
    """What an operand may hold by this version of the operator, or by the newest; nothing where there is no schema."""
    found: set[str] = set()
    for opset in (version, onnx.defs.onnx_opset_version()):
        if not onnx.defs.has(op_type, opset, ""):
            continue
        schema = onnx.defs.get_schema(op_type, opset, "")
        if not schema.inputs:
            continue
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        for text in formal.types:
            element = text.removeprefix("optional(").removeprefix("seq(").removeprefix("tensor(").rstrip(")")
            found.add("booleans" if element == "bool" else "integers" if "int" in element else "others")
    return frozenset(found)
