"""drop-empty: tensors without elements disappear, because no place on the chip can be given to nothing.

before:  %y = linalg.generic ins(%x : tensor<0x3xf32>) outs(%init) {iterator_types = ["reduction", "parallel"]}
after:   %init in place of %y; a result without elements becomes a `tensor.empty`, and so does a view of one
"""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir, linalg, tensor
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.lowering.linalg_to_spmd.reading import is_tensor, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import RESHAPES, padding_value


def is_empty(value: Any) -> bool:
    """Whether a value is a tensor without elements."""
    return is_tensor(value) and 0 in shape_of(value)


def touches_empty(op: Any) -> bool:
    """Whether an operand or a result has no elements."""
    return any(is_empty(value) for value in (*op.operands, *op.results))


VIEWS = *RESHAPES, "tensor.extract_slice"


def _is_unwritten(value: Any) -> bool:
    """Whether nothing has been written to a tensor yet: whatever writes to a view of it takes its shape only."""
    return not isinstance(value.owner, ir.Block) and value.owner.name == "tensor.empty"


def _empty(type_: Any) -> Any:
    return tensor.EmptyOp(list(type_.shape), type_.element_type).result


def _without_empty_pieces(op: Any) -> Any:
    kept = [value for value in op.operands if not is_empty(value)]
    if len(kept) == 1:
        return kept[0]
    return tensor.ConcatOp(op.results[0].type, ir.IntegerAttr(op.attributes["dim"]).value, kept).result


def _replacement(op: Any) -> Any | None:
    """What stands for the only result of `op`; None where nothing has to change."""
    result = op.results[0]
    if is_empty(result):
        return None if op.name == "tensor.empty" else _empty(ir.RankedTensorType(result.type))
    if op.name in VIEWS and _is_unwritten(op.operands[0]):
        return _empty(ir.RankedTensorType(result.type))
    if not any(is_empty(value) for value in op.operands):
        return None
    if op.name == "linalg.generic":
        return list(op.operands)[-1]
    if op.name == "tensor.concat":
        return _without_empty_pieces(op)
    if op.name == "tensor.insert_slice":
        return op.operands[1]
    if op.name == "tensor.pad":
        type_ = ir.RankedTensorType(result.type)
        return linalg.fill(padding_value(op), outs=[_empty(type_)])
    return None


@dataclass(frozen=True)
class DropEmpty(Pass):
    """Replace operations on tensors without elements by what they leave."""

    name = "drop-empty"

    def run(self, module: Any) -> None:
        """Rewrite every function of the module."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                for view in list(function.operation.regions[0].blocks[0].operations):
                    op = view.operation
                    if len(op.results) != 1:
                        continue
                    with ir.InsertionPoint(op), op.location:
                        value = _replacement(op)
                    if value is not None:
                        op.results[0].replace_all_uses_with(value)
                        op.erase()
