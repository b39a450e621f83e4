"""One price list for placing tensors: what movements and work take, in steps, before anything is planned.

Loads, stores and sums are counted as the planner makes them (`traffic`, `reduction`). Movements on the chip are what a
search of the planner finds; their prices are products of powers of the amounts that travel (`relayout`, `tiling`),
fitted to plans by `scripts/fit_prices.py`. `test/unit/pricing` compares all prices with plans.
"""

from mnc.mncore_backend.pricing.joining import joining
from mnc.mncore_backend.pricing.reduction import reduction
from mnc.mncore_backend.pricing.relayout import relayout
from mnc.mncore_backend.pricing.reshaping import reshaping
from mnc.mncore_backend.pricing.resources import NOTHING, UNITS, Resources
from mnc.mncore_backend.pricing.tiling import tiling
from mnc.mncore_backend.pricing.traffic import arrival, store

__all__ = [
    "NOTHING",
    "UNITS",
    "Resources",
    "arrival",
    "joining",
    "reduction",
    "relayout",
    "reshaping",
    "store",
    "tiling",
]
