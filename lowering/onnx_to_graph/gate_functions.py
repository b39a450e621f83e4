"""Functions of the gates of RNN, GRU and LSTM, by the attributes of a node."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_DEFAULTS: dict[str, tuple[float, ...]] = {
    "Affine": (1.0, 0.0),
    "Elu": (1.0,),
    "HardSigmoid": (0.2, 0.5),
    "LeakyRelu": (0.01,),
    "ScaledTanh": (1.0, 1.0),
    "ThresholdedRelu": (1.0,),
}
"""alpha and beta of the functions that have them, where the node does not say."""


class GateFunction(NamedTuple):
    """The name of a function, and its alpha and beta, as far as it has them."""

    name: str
    floats: tuple[float, ...]


def gate_functions(
    attributes: Mapping[str, Any], default: Sequence[str], directions: int
) -> list[list[GateFunction]]:
    """Functions of every direction. The values of `activation_alpha` and `activation_beta` belong to those functions
    that have one, in the order of `activations`; where there are too few, the others keep their defaults."""
    names = [_text(name) for name in attributes.get("activations") or list(default) * directions]
    given = [iter(attributes.get(f"activation_{which}") or ()) for which in ("alpha", "beta")]
    found = []
    for name in names:
        usual = zip(given, _DEFAULTS.get(name, ()), strict=False)
        found.append(GateFunction(name, tuple(float(next(values, number)) for values, number in usual)))
    return [found[d * len(default) : (d + 1) * len(default)] for d in range(directions)]


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
