"""What a computation rounds: one table per precision mode of the machine, and one for the reference.

Unit: the last place of a result. Derivation, with the numbers of the machine's description (SDM) that the emulator
implements:

- Moving, comparing and selecting are exact. So is arithmetic of integers.
- Additions and products of the MAU round once (half a unit). A single product also replaces the product of the 5 low
  bits of both factors by a constant: less than 2^-14 of the last place.
- Elementary functions: the worst measured error.
- A sum of n terms rounds n - 1 times at most, in whatever order; each stage of the reduction network that joins partial
  sums rounds the terms to 3 bits below the last place and the sum once: at most `STAGES` more.
- Factors of the matrix unit become block floating point with M bits: an element is off by at most 2^(E + 1 - M), where
  2^E is the power of two below the largest element of its block, and the block lies within what is contracted together.
  To halves it is rounded twice, first to 10 bits of its own, and below 2^-30 it becomes zero. A block has 8 elements
  from one place and 8 from another of what is contracted; where halves gain nothing, products are pseudo-single.
  Products and their sum within a block are exact (mode f: but for 2^-36 of the product of the block exponents, from the
  5 low bits); adding a block to the accumulator rounds once.
- A result below the smallest normal number becomes zero. In float16 it is rounded to a grid instead.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.graph.contraction import PRECISION

STAGES = 5  # of a sum across PEs: MABs twice, L1Bs once, L2Bs twice
SMALLEST_NORMAL = 2.0**-126
HALF_BITS, HALF_GRID = 11, 2.0**-24
"""Of float16: bits of a normal number, and the distance of subnormal ones, which its computations have."""
EXACT, ONCE = 0.0, 0.5


MEASURED: Mapping[str, float] = {
    "exp": 0.87, "log": 0.83, "log1p": 1.41, "sqrt": 0.50, "reciprocal": 0.5002, "divf": 1.38,
    "tanh": 2.46, "logistic": 2.40, "erf": 1.05, "sin": 2.31, "cos": 2.34, "powf": 1.52,
}  # fmt: skip
"""Worst error of each elementary function in units of the last place, over all ranges of docs/transcendentals.md."""


def _functions() -> dict[str, float]:
    """Units of the last place of every function of the graph, from the kernels that compute it."""
    m = MEASURED
    names = {"exp": "exp", "log": "log", "sqrt": "sqrt", "reciprocal": "reciprocal", "tanh": "tanh", "erf": "erf",
             "sin": "sin", "cos": "cos", "pow": "powf", "div": "divf"}  # fmt: skip
    table = {name: m[kernel] for name, kernel in names.items()}
    # The logistic function by its own kernel, or as 1 / (1 + e^-x) where the pattern was broken up.
    table["sigmoid"] = max(m["logistic"], m["exp"] + ONCE + m["divf"])
    # max(x, 0) + log1p(e^-|x|): both terms are positive.
    table["softplus"] = m["exp"] + m["log1p"] + ONCE
    return table


def underflow(bits: int) -> float:
    """Largest error of a result that is smaller than the normal numbers of a type of so many bits."""
    return HALF_GRID / 2 if bits == HALF_BITS else SMALLEST_NORMAL


@dataclass(frozen=True)
class Rounding:
    """One way of computing.

    significand: bits of a result, the hidden one included; by element type where that matters.
    functions: units of the last place of the elementary functions.
    conversion_bits: M of the conversion to block floating point, None without conversion.
    block: elements that the matrix unit sums exactly.
    is_apart: blocks have elements from two places of what is contracted, wherever these are.
    flushed: factors below this become zero.
    """

    functions: Mapping[str, float]
    conversion_bits: float | None = None
    block: int = 1
    is_apart: bool = False
    flushed: float = 0.0
    stages: int = 0
    significands: Mapping[str, int] = field(default_factory=dict)

    def unit(self, element: ir.Type) -> float:
        """Half a unit of the last place, relative to the value, for results of an element type."""
        return 2.0 ** -self.significands.get(str(element), 24)

    def underflow(self, element: ir.Type) -> float:
        """Largest error of results of an element type that are smaller than its normal numbers."""
        return underflow(self.significands.get(str(element), 24))

    def accumulating_unit(self, element: ir.Type, products: bool) -> float:
        """The same for the sums on the way to a result: numpy adds halves in single, and bfloat16 in products only."""
        single = str(element) == "f16" or (str(element) == "bf16" and products)
        return 2.0**-24 if single else self.unit(element)


_HALF_BITS = 9 - math.log2(1 + 0.25)
"""Bits that are left of a factor that becomes a half, of 10 bits, and then part of a block, of 9."""
_SMALLEST_HALF = 2.0**-30

MACHINE = {
    "single": Rounding(_functions(), conversion_bits=23, block=4, stages=STAGES),
    "pseudo-single": Rounding(_functions(), conversion_bits=18, block=8, stages=STAGES),
    "half": Rounding(
        _functions(), conversion_bits=_HALF_BITS, block=8, is_apart=True, flushed=_SMALLEST_HALF, stages=STAGES
    ),
}
"""Every float type is computed in single."""


def of_operation(op: Any, how: Rounding) -> Rounding:
    """How the machine computes one operation, whose precision the model or the compiler may have chosen."""
    chosen = op.operation.attributes
    if how.conversion_bits is None or PRECISION not in chosen:
        return how
    return MACHINE[ir.StringAttr(chosen[PRECISION]).value]


REFERENCE = Rounding(dict.fromkeys(_functions(), 4.0), significands={"f16": HALF_BITS, "bf16": 8, "f32": 24, "f64": 53})
"""What made the expected values: numpy in the element type, whose functions stay within 4 units of the last place."""
