"""The table of ATen operators that are written as ONNX nodes, one file per family.

A trace holds only these: everything else is taken apart before (`mnc.torch.decompositions`).
"""

import difflib
from collections.abc import Callable

import torch
from torch import fx

from mnc.core.diagnostics import CompileError
from mnc.torch.call import Call, Result
from mnc.torch.module_paths import described
from mnc.torch.operators import contraction, elementwise, reduction, scattering, shape, windows

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

_HINTS = {
    "native_dropout": "set the dropout probability to 0: a compiled program draws no random numbers",
    "bernoulli": "set the dropout probability to 0: a compiled program draws no random numbers",
    "bernoulli_": "set the dropout probability to 0: a compiled program draws no random numbers",
    "rand_like": "a compiled program draws no random numbers; pass them as an input",
    "randn_like": "a compiled program draws no random numbers; pass them as an input",
    "index_put": "use torch.gather, an embedding or a mask instead of indexing with tensors",
    "_local_scalar_dense": "forward and loss must not read values of tensors, as item(), float() and bool() do",
    "nonzero": "its result has a dynamic shape; use torch.where with a mask instead",
    "index": "use torch.where with the mask",
    **dict.fromkeys(("__lshift__", "__rshift__", "bitwise_left_shift", "bitwise_right_shift"),
                    "integers have 32 bits: shift by 0 to 30"),
    "_linalg_svd": "a gradient of a determinant of more than 4 rows takes singular values",
    "embedding_renorm": "leave max_norm of the embedding out",
    "_sparse_coo_tensor_with_dims_and_tensors": "use sparse=False",
}  # fmt: skip


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
    close = difflib.get_close_matches(name, OPERATORS, 1)
    hint = _HINTS.get(name) or (f"the nearest supported operator is {close[0]}; " if close else "") + (
        "docs/torch.md lists the supported operators"
    )
    raise CompileError(f"this operator is not supported{described(node)}", op_type=str(node.target), hint=hint)
