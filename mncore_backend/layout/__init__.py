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
from mnc.mncore_backend.layout.layout import HARDWARE_AXES, Axis, Digit, Field, Layout, LayoutError, place_of
from mnc.mncore_backend.layout.parts import Part, layout_of, part, strided_part
from mnc.mncore_backend.layout.placement import (
    PlaceCode,
    addresses_in_use,
    locate,
    pack,
    place,
    place_codes,
    unpack,
)
from mnc.mncore_backend.layout.rows import of_rows, row_longs, without_spare_places
from mnc.mncore_backend.layout.text import parse

__all__ = [
    "HARDWARE_AXES",
    "Axis",
    "Digit",
    "Field",
    "Layout",
    "LayoutError",
    "Part",
    "PlaceCode",
    "addresses_in_use",
    "canonical",
    "compose",
    "distributed",
    "elementwise",
    "equivalent",
    "layout_of",
    "locate",
    "merge",
    "of_rows",
    "pack",
    "parse",
    "part",
    "permute",
    "place",
    "place_codes",
    "place_of",
    "replicated",
    "reshape",
    "restrict",
    "row_longs",
    "split",
    "split_digits",
    "strided_part",
    "unpack",
    "with_dims",
    "without_spare_places",
]
