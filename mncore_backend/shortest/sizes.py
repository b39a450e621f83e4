"""How large a module is: its largest tensor, and how many operations it has."""

from math import prod
from typing import Any

from mnc.core.bindings import ir


def largest_tensor(module: Any) -> int:
    """Elements of the largest tensor that the operations of a module's functions take or make."""
    sizes = [0]
    for function in module.body.operations:
        for block in (block for region in function.operation.regions for block in region.blocks):
            values = [*block.arguments, *(value for op in block.operations for value in op.operation.results)]
            types = [value.type for value in values if isinstance(value.type, ir.RankedTensorType)]
            sizes += [prod(ir.RankedTensorType(type_).shape) for type_ in types]
    return max(sizes)


def operations(module: Any) -> int:
    """How many operations there are in a module's functions, without what is inside of those."""
    functions = (function.operation for function in module.body.operations)
    return sum(len(block.operations) for own in functions for region in own.regions for block in region.blocks)
