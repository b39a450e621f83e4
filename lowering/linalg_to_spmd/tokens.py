"""Operations as tokens: equal where they do the same, whatever their names, weights and operands are."""

from typing import Any

from mnc.core.bindings import ir
from mnc.lowering.linalg_to_spmd.reading import is_tensor, splat_value
from mnc.lowering.linalg_to_spmd.sequences import row_taken

LEAVES = ("arith.constant", "tensor.empty", "linalg.fill")
"""Operations that belong to those that use them: each piece of a function that is taken apart gets its own."""
_NAMES = ("onnx.name",)


def is_leaf(value: Any) -> bool:
    """Whether a value depends on nothing that the function computes or is given."""
    return not isinstance(value.owner, ir.Block) and value.owner.name in LEAVES


def is_weight(value: Any) -> bool:
    """Whether a value is a constant tensor of single precision whose elements differ."""
    if not is_tensor(value) or not is_leaf(value) or value.owner.name != "arith.constant":
        return False
    return splat_value(value) is None and isinstance(value.type.element_type, ir.F32Type)


def token(op: Any) -> str | None:
    """What an operation does, as text; None if that depends on values that are neither operands nor constants."""
    operands = [_operand(value) for value in op.operands]
    bodies = [_body(region) for region in op.regions]
    if any(body is None for body in bodies):
        return None
    types = [str(result.type) for result in op.results]
    return "\n".join([op.name, *_attributes(op), *operands, *types, *map(str, bodies)])


def _attributes(op: Any) -> list[str]:
    """What an operation says of itself; of one that takes a row of a tensor not which."""
    left_out = (*_NAMES, "static_offsets") if row_taken(op) is not None else _NAMES
    return sorted(f"{name}={op.attributes[name]}" for name in op.attributes if name not in left_out)


def _operand(value: Any) -> str:
    """An operand: any tensor of its type, a weight of any elements, or this very constant."""
    if not is_leaf(value):
        return f"value {value.type}"
    if is_weight(value):
        return f"weight {value.type}"
    return f"{value.owner.name} {value.type} {_content(value.owner)}"


def _content(op: Any) -> str:
    if op.name == "linalg.fill":
        return _operand(op.operands[0])
    if op.name == "tensor.empty":
        return ""
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        return str(attribute.get_splat_value())
    return str(attribute) if not is_tensor(op.results[0]) else f"{hash(attribute)}"  # attributes are unique


def _body(region: Any) -> str | None:
    """The operations of a region, with values numbered in order; None if it uses a tensor from outside."""
    numbers: dict[Any, int] = {}
    lines = []
    for block in region.blocks:
        for argument in block.arguments:
            numbers[argument] = len(numbers)
        for view in block.operations:
            inner = view.operation
            operands = [_inner_operand(value, numbers) for value in inner.operands]
            if None in operands or len(inner.regions):
                return None
            lines.append(" ".join([inner.name, *_attributes(inner), *map(str, operands)]))
            for result in inner.results:
                numbers[result] = len(numbers)
                lines.append(str(result.type))
    return "\n".join(lines)


def _inner_operand(value: Any, numbers: dict[Any, int]) -> str | None:
    if value in numbers:
        return f"%{numbers[value]}"
    return _operand(value) if is_leaf(value) and not is_tensor(value) else None
