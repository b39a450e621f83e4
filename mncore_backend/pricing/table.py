"""The fitted laws, as `scripts/fit_prices.py` writes them to `fitted.json`. They were fitted to plans for MN-Core 2;
other machines take them as they are, as a rule of thumb: a wrong price makes a longer program, not a wrong one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import Any

from mnc.mncore_backend.pricing.crossing import FEATURES, Crossing
from mnc.mncore_backend.pricing.facts import IN_ADDRESS
from mnc.mncore_backend.pricing.resources import Resources

FITTED = Path(__file__).with_name("fitted.json")
CLASSES = ("across L2Bs", "across L1Bs", "across MABs", "inside MABs", "inside PEs")
FEATURES_OF = {
    "relayout": FEATURES, "joining": (*FEATURES, "masked"), "slicing": FEATURES, "reshaping": FEATURES,
    "tiling": (*FEATURES, "halo", "inner part"),
}  # fmt: skip
"""What the price of a kind of movement is a product of powers of: amounts, and 2 for everything else."""


def class_of(crossing: Crossing) -> int:
    """The number of the class of a movement in `CLASSES`."""
    return crossing.level if crossing.level < 3 else 3 + (crossing.level == IN_ADDRESS)


@dataclass(frozen=True, slots=True)
class Law:
    """Steps as a product of powers, and the shares that the units have in them.

    Attributes:
        exponents: of the features of a movement, in their order.
        shares: part of a step by unit.
    """

    exponents: tuple[float, ...]
    shares: Resources

    def price(self, crossing: Crossing) -> Resources:
        """The price of a movement with these features, which are logarithms to the base of 2."""
        return self.shares * 2.0 ** sum(map(mul, self.exponents, crossing.features))


def price(kind: str, crossing: Crossing) -> Resources:
    """The price of a movement of one of the kinds of `FEATURES_OF`."""
    return laws()[kind][class_of(crossing)].price(crossing)


@lru_cache
def laws() -> dict[str, tuple[Law, ...]]:
    """The laws by kind and class."""
    found = json.loads(FITTED.read_text(encoding="utf-8"))["laws"]
    return {kind: tuple(_law(own[name], kind) for name in CLASSES) for kind, own in found.items()}


def _law(own: Mapping[str, Any], kind: str) -> Law:
    exponents = tuple(own["exponents"].get(name, 0.0) for name in FEATURES_OF[kind])
    return Law(exponents, Resources(**own["shares"]))
