"""How iteration spaces spread over the chip: plain algorithms on extents and digits, without IR.

An iteration dimension gets a string of digits, like a dimension of a layout; the layout of an operand follows by
projecting the iteration space onto the dimensions that the operand is indexed with.
"""

from mnc.mncore_backend.placement.candidates.boxes import Box, place_of_box
from mnc.mncore_backend.placement.candidates.contraction import plan_contraction
from mnc.mncore_backend.placement.candidates.pointwise import choose_iteration, roomy_iteration
from mnc.mncore_backend.placement.candidates.policy import Policy, Preference, policy_of
from mnc.mncore_backend.placement.candidates.problem import Contraction, ContractionPlan, Operand
from mnc.mncore_backend.placement.candidates.space import (
    Access,
    Digits,
    default_digits,
    iteration_digits,
    matches,
    project,
    same_places,
    spread,
    with_addresses,
)
from mnc.mncore_backend.placement.candidates.streams import (
    Stages,
    TilePlan,
    plan_tiles,
    plan_whole,
    stages,
    tile_ranges,
)
from mnc.mncore_backend.placement.candidates.tiles import choose_tiles, tile_digits
from mnc.mncore_backend.placement.candidates.windows import (
    Tiled,
    Window,
    Windows,
    along_kernels,
    copied_layout,
    kernel_dims,
    oriented,
    sliding_dims,
    source_layout,
    tile,
)

__all__ = [
    "Access",
    "Box",
    "Contraction",
    "ContractionPlan",
    "Digits",
    "Operand",
    "Policy",
    "Preference",
    "Stages",
    "TilePlan",
    "Tiled",
    "Window",
    "Windows",
    "along_kernels",
    "choose_iteration",
    "choose_tiles",
    "copied_layout",
    "default_digits",
    "iteration_digits",
    "kernel_dims",
    "matches",
    "oriented",
    "place_of_box",
    "plan_contraction",
    "plan_tiles",
    "plan_whole",
    "policy_of",
    "project",
    "roomy_iteration",
    "same_places",
    "sliding_dims",
    "source_layout",
    "spread",
    "stages",
    "tile",
    "tile_digits",
    "tile_ranges",
    "with_addresses",
]
