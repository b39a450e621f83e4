"""Where tensor elements live on the chip: one algebra for placement and for data movement."""

from mnc.mncore_backend.layout.algebra import (
    canonical,
    compose,
    equivalent,
    merge,
    permute,
    reshape,
    restrict,
    split,
    split_digits,
    with_dims,
)
from mnc.mncore_backend.layout.build import distributed, elementwise, replicated
from mnc.mncore_backend.layout.layout import HARDWARE_AXES, Axis, Digit, Field, Layout, LayoutError
from mnc.mncore_backend.layout.placement import (
    PlaceCode,
    addresses_in_use,
    locate,
    pack,
    place,
    place_codes,
    unpack,
)
from mnc.mncore_backend.layout.text import parse

__all__ = [
    "HARDWARE_AXES",
    "Axis",
    "Digit",
    "Field",
    "Layout",
    "LayoutError",
    "PlaceCode",
    "addresses_in_use",
    "canonical",
    "compose",
    "distributed",
    "elementwise",
    "equivalent",
    "locate",
    "merge",
    "pack",
    "parse",
    "permute",
    "place",
    "place_codes",
    "replicated",
    "reshape",
    "restrict",
    "split",
    "split_digits",
    "unpack",
    "with_dims",
]
