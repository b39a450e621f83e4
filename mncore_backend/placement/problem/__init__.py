"""The problem of placement: tensors and operations as plain data, who reads what, and problems as files."""

from mnc.mncore_backend.placement.problem.problem import (
    Loops,
    Operation,
    Pinned,
    Problem,
    Product,
    Reader,
    Rearrangement,
    Reshape,
    Tensor,
    Transposition,
    Use,
)

__all__ = [
    "Loops",
    "Operation",
    "Pinned",
    "Problem",
    "Product",
    "Reader",
    "Rearrangement",
    "Reshape",
    "Tensor",
    "Transposition",
    "Use",
]
