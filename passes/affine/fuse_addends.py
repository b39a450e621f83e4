"""The pass `fuse-addends`: what is added to a matrix product becomes what its sums start from."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir, memref
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.core.rewrite import attributes_of
from mnc.passes.affine.linear_nest import buffers_of, innermost_operations
from mnc.passes.affine.reading import outer_loops


@dataclass(frozen=True)
class FuseAddends(Pass):
    """Let the sums of a matrix product start from what would be added to it.

    before: ``matmul(%x, %w, %y); %out = %y + f(%b)``; after: ``%out = f(%b); matmul(%x, %w, %out, %out)``

    The multiply-add of the matrix unit has its third operand for nothing else: one addition less stands between the
    product and its users, and what is added may be computed long before.
    """

    name: ClassVar[str] = "fuse-addends"

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        with module.context, ir.Location.unknown():
            for op in functions_of(module):
                for product in _products(op.operation):
                    _fuse(product)


def _products(function: Any) -> list[Any]:
    """Products whose sums start from zero."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    return [op for op in operations if op.name == "mncore.matmul" and len(op.operands) == 3]


def _fuse(product: Any) -> None:
    result = product.operands[2]
    users = [op for op in _users(result) if op != product]
    if len(users) == 1 and users[0].name == "memref.memory_space_cast":
        result = users[0].results[0]
        users = _users(result)
    if len(users) != 1 or users[0].name != "affine.for":
        return
    nest = users[0]
    found = _addition(nest, result)
    if found is None or not _nothing_between(product, nest):
        return
    store, total, load = found
    store.operands[0] = next(value for value in total.operands if value != load.results[0])
    total.erase()
    load.erase()
    _start_from(product, nest, store.operands[1])


def _users(value: Any) -> list[Any]:
    """Operations of the outermost block that use a value."""
    found = []
    for use in value.uses:
        op = use.owner.operation
        while op.parent.name != "func.func":
            op = op.parent
        if op not in found:
            found.append(op)
    return found


def _addition(nest: Any, result: Any) -> tuple[Any, Any, Any] | None:
    """The store, the addition and the load of a nest that does nothing but add to every element of `result`."""
    body = list(innermost_operations(nest))
    stores = [op for op in body if op.name == "affine.store"]
    loads = [op for op in body if op.name == "affine.load" and op.operands[0] == result]
    if len(stores) != 1 or len(loads) != 1:
        return None
    store, load = stores[0], loads[0]
    if _points(store) != _size(result) or any(op.parent != store.parent for op in body):
        return None
    if isinstance(store.operands[0].owner, ir.Block):
        return None
    total = store.operands[0].owner.operation
    same_place = load.attributes["map"] == store.attributes["map"] and _indices(load, 1) == _indices(store, 2)
    alone = len(list(load.results[0].uses)) == 1 and len(list(total.results[0].uses)) == 1
    if total.name != "arith.addf" or load.results[0] not in list(total.operands) or not (same_place and alone):
        return None
    target = store.operands[1]
    own = isinstance(target.owner, ir.Block) or target.owner.operation.name != "memref.alloc"
    fits = list(target.type.shape) == list(result.type.shape) and target not in buffers_of(nest)[0]
    return (store, total, load) if fits and not own else None


def _indices(op: Any, first: int) -> list[Any]:
    return list(op.operands)[first:]


def _points(store: Any) -> int:
    """Iterations of the loops around an operation, all from 0 with step 1; 0 for others."""
    loops = outer_loops(store)
    return 0 if None in loops else math.prod(loop.trips for loop in loops if loop is not None)


def _size(value: Any) -> int:
    return math.prod(value.type.shape)


def _nothing_between(product: Any, nest: Any) -> bool:
    """Whether nothing between the two writes what the product reads."""
    block = [op.operation for op in product.parent.regions[0].blocks[0].operations]
    read = list(product.operands)[:2]
    for op in block[block.index(product) + 1 : block.index(nest)]:
        written = buffers_of(op)[1] if op.name == "affine.for" else list(op.operands)[1:]
        if any(buffer in written for buffer in read):
            return False
    return True


def _start_from(product: Any, nest: Any, target: Any) -> None:
    """The product behind the nest, its sums started from `target` and left there."""
    x, w, y = product.operands
    attributes = attributes_of(product)
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1, 1, 1])
    with ir.InsertionPoint.after(nest), product.location:
        if target.type != y.type:
            target = memref.MemorySpaceCastOp(y.type, target).result
        made = ir.Operation.create("mncore.matmul", [], [x, w, target, target], attributes)
    product.erase()
    _add_in_place(nest, made)


def _add_in_place(nest: Any, product: Any) -> None:
    """Without the copy from which the sums of a product start, where nobody reads the original again."""
    body = list(innermost_operations(nest))
    if [op.name for op in body] != ["affine.load", "affine.store"]:
        return
    load, store = body
    source, target = load.operands[0], store.operands[1]
    alike = load.attributes["map"] == store.attributes["map"] and _indices(load, 1) == _indices(store, 2)
    if not alike or source.type != target.type or _allocation(source) is None:
        return
    users = [op for op in _users(source) if op != nest]
    if not all(op.is_before_in_block(nest) and op.name != "memref.memory_space_cast" for op in users):
        return
    if not all(op == nest or product == op or product.is_before_in_block(op) for op in _users(target)):
        return  # something else is stored there, too
    allocation = _allocation(target)
    nest.erase()
    target.replace_all_uses_with(source)
    if allocation is not None:
        allocation.erase()


def _allocation(buffer: Any) -> Any | None:
    """The operation that makes room for a buffer; None where it is an argument or another name for one."""
    if isinstance(buffer.owner, ir.Block) or buffer.owner.operation.name != "memref.alloc":
        return None
    return buffer.owner.operation
