"""What a step of each kind counts: kinds of work overlap in time, some more than others.

The table was fitted to the nodes of compiled programs in good and bad layouts (layers of transformers, a U-Net, a small
ResNet, part of a MobileNet), where it is off by a factor of 1.8 in the root mean square, and rounded.
`scripts/fit_weights.py` does the same for other models.
"""

from collections.abc import Mapping
from typing import Literal

Kind = Literal[
    "kernel", "second", "sums", "exchanged", "arrival", "fetched", "held", "moves", "halos", "work", "rearranged",
    "stored",
]
"""kernel, second: the busier and the other of the units of a matrix kernel; sums: of parts over the chip, without what
passes between L2Bs; exchanged: that, MVs and their latencies; fetched: from DRAM to L2BM; arrival: from there to the
PEs; held: long words per PE of constants that stay on the chip, no steps; moves: on the chip, in joins and reshapes as
well; halos: tiles of windows; work: element-wise; rearranged: slices, and what is chosen by indices; stored: to
DRAM."""

Weights = Mapping[Kind, float]

WEIGHTS: Weights = {
    "kernel": 0.9,
    "second": 0.3,
    "sums": 0.75,
    "exchanged": 0.7,
    "arrival": 0.35,
    "fetched": 0.6,
    "held": 0.1,
    "moves": 0.6,
    "halos": 0.75,
    "work": 2.2,
    "rearranged": 0.1,
    "stored": 0.2,
}


def with_price_of_room(weights: Weights, price: float) -> Weights:
    """The same weights where a long word of a PE counts so many steps."""
    found = dict(weights)
    found["held"] = price
    return found


ALIKE: Weights = with_price_of_room(dict.fromkeys(WEIGHTS, 1.0), WEIGHTS["held"])
"""As if nothing overlapped."""
STILL: Weights = {**WEIGHTS, **{kind: 2 * WEIGHTS[kind] for kind in ("moves", "halos", "sums", "exchanged")}}
"""As if everything waited for movements."""
OTHERS: tuple[Weights, Weights] = ALIKE, STILL
"""What searches of short programs go by besides: no weights are right for all programs, and each finds other
solutions."""
