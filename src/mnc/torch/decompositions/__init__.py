"""How ATen operators are taken apart before they are written: torch's own definitions, and ours where those scatter,
mutate or stay whole. Each of ours is plain torch code, tested against the operator itself.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from mnc.torch.decompositions import (
    adaptive_pooling,
    bits,
    contraction,
    distance,
    embedding,
    factorization,
    frequencies,
    gamma,
    indexing,
    loss,
    margin,
    normalization,
    ordering,
    orthogonal,
    padding,
    pointwise,
    pooling,
    resampling,
    scanning,
    shape,
    special,
)
from mnc.torch.operators import OPERATORS

Table = dict[Any, Callable[..., Any]]

_OWN: Table = {
    **adaptive_pooling.DECOMPOSITIONS,
    **bits.DECOMPOSITIONS,
    **contraction.DECOMPOSITIONS,
    **distance.DECOMPOSITIONS,
    **embedding.DECOMPOSITIONS,
    **factorization.DECOMPOSITIONS,
    **frequencies.DECOMPOSITIONS,
    **gamma.DECOMPOSITIONS,
    **indexing.DECOMPOSITIONS,
    **loss.DECOMPOSITIONS,
    **margin.DECOMPOSITIONS,
    **normalization.DECOMPOSITIONS,
    **ordering.DECOMPOSITIONS,
    **orthogonal.DECOMPOSITIONS,
    **padding.DECOMPOSITIONS,
    **pointwise.DECOMPOSITIONS,
    **pooling.DECOMPOSITIONS,
    **resampling.DECOMPOSITIONS,
    **scanning.DECOMPOSITIONS,
    **shape.DECOMPOSITIONS,
    **special.DECOMPOSITIONS,
}

_aten = torch.ops.aten
_MORE = [
    _aten.gelu_backward, _aten.native_group_norm_backward, _aten.binary_cross_entropy,
    _aten.binary_cross_entropy_backward, _aten.mse_loss, _aten.mse_loss_backward, _aten.elu, _aten.leaky_relu,
    _aten.hardtanh, _aten._safe_softmax, _aten.sinh, _aten.cosh, _aten.tan,
    _aten.hardshrink, _aten.softshrink,
]  # fmt: skip
"""Operators that torch can take apart but does not by default."""


@functools.cache
def decompositions(training: bool) -> Table:
    """The whole table; operators that are written as they are stay. Inference keeps layer normalisations whole."""
    table: Table = {**core_aten_decompositions(), **get_decompositions(_MORE)}
    written = {op for op in table if getattr(op, "_schema", None) and op._schema.name.split("::")[1] in OPERATORS}
    chosen = {op: rule for op, rule in table.items() if op not in written} | _OWN
    if not training:
        del chosen[_aten.native_layer_norm.default]
    return chosen
