"""Proof of an export: the exported graph against torch, on random data.

The same translation is written twice. With DOUBLE in place of FLOAT it must equal torch in double precision to
`DOUBLE_BOUND`: rounding hides nothing there, and a wrong factor, sign or epsilon shows. What an optimizer makes of
gradients is compared for the same gradients, for it may magnify their rounding at will. The graph that is returned must
then be as near to that result as torch in single precision is, times `SINGLE_RATIO`: what torch itself loses
measures how much the network magnifies rounding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from mnc.core.diagnostics import CompileError, InternalError
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.torch.convolutions import FASTER

Arrays = Mapping[str, np.ndarray]

DOUBLE_BOUND = 8 * 2.0**-24
"""Relative to the largest element. Some functions hold constants rounded to single precision even where they compute
in double: 1/6 in torch's hard sigmoid, the error function of the ONNX reference."""
MIXED_BOUND = 1e-5
"""The same where the module converts to float32 by itself, so that there is no run in double precision."""
SINGLE_RATIO = 16.0
SINGLE_FLOOR = 64 * float(np.finfo(np.float32).eps)
"""Relative to the largest element: where torch happens to round to the exact value."""
NOISE_FLOOR = 1e-3
"""Share of the bound that is taken of the largest element of all gradients (or parameters): a gradient that is zero
but for rounding, as that of a bias before a batch normalisation, has no size of its own to be compared with."""

_HINT = "forward and loss must depend on their inputs only; if they do, this is a mistake of mnc.torch"
_OPEN_LENGTHS = (
    "sequences are packed whose lengths are inputs, and something else than a recurrent network reads the rows of a "
    "PackedSequence, which are more in the graph than in torch"
)
_PADDED = (
    "compute it of what pad_packed_sequence gives, with a mask; or write the lengths down in forward, as numbers"
)


@dataclass(frozen=True)
class Deviation:
    """Largest difference of one tensor in one step, and what is allowed. `scale` is its largest element."""

    name: str
    step: int
    error: float
    bound: float
    scale: float

    @property
    def passed(self) -> bool:
        """False for NaN, too, which is the difference between a number and none."""
        return self.error <= self.bound


@dataclass(frozen=True)
class Proof:
    """Every comparison that was made, all passed."""

    double: tuple[Deviation, ...]
    single: tuple[Deviation, ...]

    def summary(self) -> str:
        """One line for people."""
        worst = {
            kind: max((d.error / d.bound for d in found if d.error), default=0.0)
            for kind, found in (("double", self.double), ("single", self.single))
        }
        parts = ", ".join(f"{value:.1e} in {kind} precision" for kind, value in worst.items())
        return f"{len(self.double) + len(self.single)} tensors equal torch's; largest share of the bound: {parts}"


class Runner:
    """An exported model on the operators of the ONNX reference evaluator.

    Unlike the evaluator itself it drops every value behind its last reader: all of them together take several
    gigabytes for a training step of ResNet-18.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        made = evaluator(model, FASTER)
        self._nodes, self._constants = made.rt_nodes_, made.rt_inits_
        self._types = {
            value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            for value in model.graph.input
        }
        self._outputs = [value.name for value in model.graph.output]
        last = {name: i for i, node in enumerate(self._nodes) for name in (*node.input, *node.output)}
        self._dead: list[list[str]] = [[] for _ in self._nodes]
        for name, i in last.items():
            if name and name not in self._outputs:
                self._dead[i].append(name)

    def run(self, values: Arrays) -> dict[str, np.ndarray]:
        """Outputs by name; inputs are converted to the model's types, surplus ones are left out."""
        results: dict[str, Any] = {"": None, **self._constants}
        for name, kind in self._types.items():
            results[name] = np.asarray(values[name]).astype(kind, copy=False)
        with np.errstate(all="ignore"):
            for node, dead in zip(self._nodes, self._dead, strict=True):
                found = node.run(*(results[name] for name in node.input))
                results.update(zip(node.output, found, strict=False))
                for name in dead:
                    del results[name]
        return {name: np.asarray(results[name]) for name in self._outputs}


_KINDS = (
    "gradient", "exp_avg", "exp_avg_sq", "square_avg", "grad_avg", "sum", "exp_inf", "acc_delta", "prev", "step_size",
)  # fmt: skip


def _kind(name: str) -> str:
    """Tensors whose sizes are comparable."""
    kind = name.removesuffix(".updated").rsplit(".", 1)[-1]
    return kind if kind in _KINDS else "value"


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    if a.shape != b.shape:
        return float("inf")
    with np.errstate(invalid="ignore"):
        wide = np.abs(a.astype(np.float64) - b.astype(np.float64))
    same = (a == b) | ((a != a) & (b != b))  # equal infinities differ by NaN, as what is none in both does
    return float(np.where(same, 0.0, wide).max(initial=0.0))


def _scales(values: Arrays) -> tuple[dict[str, float], dict[str, float]]:
    """Largest finite element of every tensor, and of all tensors of a kind."""
    own = {
        name: float(np.abs(np.where(np.isfinite(value), value, 0)).max(initial=0.0)) for name, value in values.items()
    }
    kinds: dict[str, float] = {}
    for name, scale in own.items():
        kinds[_kind(name)] = max(kinds.get(_kind(name), 0.0), scale)
    return own, kinds


def compare_double(exact: Arrays, found: Arrays, step: int, bound: float = DOUBLE_BOUND) -> list[Deviation]:
    """Outputs of the double graph against torch in double precision."""
    own, kinds = _scales({name: exact[name] for name in found})
    result = []
    for name, value in found.items():
        allowed = bound * (own[name] + NOISE_FLOOR * kinds[_kind(name)])
        result.append(Deviation(name, step, _difference(exact[name], value), allowed, own[name]))
    return result


def compare_single(exact: Arrays, single: Arrays, found: Arrays, step: int) -> list[Deviation]:
    """Outputs of the exported graph against torch in double precision, measured by torch in single precision."""
    own, kinds = _scales({name: exact[name] for name in found})
    result = []
    for name, value in found.items():
        decided = np.isnan(exact[name]) == np.isnan(single[name])  # else rounding decides whether it is a number
        true, rounded = exact[name][decided], single[name][decided]
        floor = SINGLE_FLOOR * (own[name] + NOISE_FLOOR * kinds[_kind(name)])
        bound = SINGLE_RATIO * _difference(true, rounded) + floor
        error = _difference(true, value[decided]) if value.shape == decided.shape else float("inf")
        result.append(Deviation(name, step, error, bound, own[name]))
    return result


def require(deviations: list[Deviation], precision: str, has_open_lengths: bool) -> None:
    """All must have passed.

    Args:
        has_open_lengths: whether the graph packs sequences whose lengths are inputs, with rows that torch leaves out.

    Raises:
        CompileError: a tensor deviates, and the graph does that.
        InternalError: a tensor deviates otherwise; names the first one.
    """
    wrong = next((deviation for deviation in deviations if not deviation.passed), None)
    if wrong is None:
        return
    message = (
        f"the exported graph disagrees with torch: '{wrong.name}' differs by {wrong.error:.3g} in step {wrong.step} "
        f"({precision} precision, allowed {wrong.bound:.3g}, largest element {wrong.scale:.3g})"
    )
    if has_open_lengths:
        raise CompileError(f"{_OPEN_LENGTHS}: {message}", hint=_PADDED)
    raise InternalError(f"{message}; {_HINT}")
