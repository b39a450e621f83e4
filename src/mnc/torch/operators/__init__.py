"""The table of ATen operators that are written as ONNX nodes, one file per family.

A trace holds only these: everything else is taken apart before (`mnc.torch.decompositions`).
"""

from collections.abc import Callable

import torch
from torch import fx

from mnc.core.diagnostics import CompileError
from mnc.torch.call import Call, Result
from mnc.torch.module_paths import described
from mnc.torch.operators import contraction, elementwise, reduction, scattering, shape, windows
from mnc.torch.operators.hints import hint_for

Handler = Callable[[Call], Result]

OPERATORS: dict[str, Handler] = {
    **elementwise.OPERATORS,
    **contraction.OPERATORS,
    **reduction.OPERATORS,
    **scattering.OPERATORS,
    **shape.OPERATORS,
    **windows.OPERATORS,
}
"""Name of an ATen operator without its overload -> handler."""

def operator_name(node: fx.Node) -> str:
    """``aten.add.Tensor`` -> ``add``."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name.split("::")[1]
    return getattr(target, "__name__", str(target))


def find_handler(node: fx.Node) -> Handler:
    """Handler of a call; raises CompileError, naming the module it comes from, if there is none."""
    name = operator_name(node)
    if name in OPERATORS:
        return OPERATORS[name]
    message = f"this operator is not supported{described(node)}"
    raise CompileError(message, op_type=str(node.target), hint=hint_for(name))
