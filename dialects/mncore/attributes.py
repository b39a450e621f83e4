"""Where a buffer lives, and how a tensor spreads over the processing elements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.mncore.base import Mncore
from mnc.mncore_backend.layout import Axis, Layout, parse
from mnc.mncore_backend.target import cached_per_machine, chip

MEMORIES = (
    "DRAM", "PDM", "L2BM", "L1BM", "LM", "LM0", "LM1", "GRF0", "GRF1", "T", "MATRIX_X", "MATRIX_Y", "MASK",
)  # fmt: skip
"""Names of the memories; ``LM`` is either local memory, chosen by allocation."""


@cached_per_machine()
def _capacities() -> dict[str, int]:
    """Long words in one copy of each memory. ``LM`` is left to allocation, which reports what does not fit."""
    return {facts.memory.name: facts.longs for facts in chip().memories.values() if facts.memory.name in MEMORIES}


class Memory(Mncore.Attribute, name="memory"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Memory space of a buffer that has no layout: ``#mncore.memory<"DRAM">``."""

    space: ir.StringAttr


class Placed(Mncore.Attribute, name="placed"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Memory space of a per-PE share: ``#mncore.placed<"LM", "256x10", "((...), (...))">``.

    The memref's own shape is [long words per PE, 2 words]; the attribute says which element of the tensor of the given
    shape each word of each PE holds.
    """

    space: ir.StringAttr
    tensor_shape: ir.StringAttr
    layout: ir.StringAttr


class LayoutAttribute(Mncore.Attribute, name="layout"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Where the elements of a tensor live, in a decision about it: ``#mncore.layout<"((8_L2B:1, 4:1), (2_W:1))">``."""

    digits: ir.StringAttr


@dataclass(frozen=True)
class Placement:
    """A `Placed` attribute as plain data."""

    memory: str
    layout: Layout


def shape_text(shape: tuple[int, ...]) -> str:
    """``256x10``; a scalar is ``scalar``."""
    return "x".join(str(extent) for extent in shape) or "scalar"


def parse_shape(text: str) -> tuple[int, ...]:
    """Inverse of `shape_text`; raises ValueError."""
    return () if text == "scalar" else tuple(int(part) for part in text.split("x"))


def memory_attribute(name: str) -> ir.Attribute:
    """``#mncore.memory<"name">`` in the current context."""
    return ir.Attribute.parse(f'#mncore.memory<"{name}">')


def placed_attribute(memory: str, layout: Layout) -> ir.Attribute:
    """``#mncore.placed<...>`` in the current context."""
    return ir.Attribute.parse(f'#mncore.placed<"{memory}", "{shape_text(layout.shape)}", "{layout}">')


def placed_type(layout: Layout, element: Any) -> ir.MemRefType:
    """The type of the share that a PE has of a tensor of this layout and type of elements, in either local memory."""
    words = chip().axis_size[Axis.W]
    return ir.MemRefType.get([layout.local_size, words], element, memory_space=placed_attribute("LM", layout))


def layout_attribute(layout: Layout) -> ir.Attribute:
    """``#mncore.layout<...>`` in the current context."""
    return ir.Attribute.parse(f'#mncore.layout<"{layout}">')


def layout_in(attribute: Any, shape: Sequence[int] | None = None) -> Layout:
    """The layout of a ``#mncore.layout`` for a tensor of this shape; raises ValueError for anything else, and where it
    has another number of dimensions or too few places. Without a shape every dimension is as large as its digits allow.
    """
    if not isinstance(attribute, LayoutAttribute):
        raise ValueError(f"needs a #mncore.layout, found {attribute}")
    return _parsed(ir.StringAttr(attribute.digits).value, None if shape is None else tuple(shape))


@cached_per_machine(4096)
def _parsed(digits: str, shape: tuple[int, ...] | None) -> Layout:
    return parse(digits, shape)


@cached_per_machine(4096)
def _parse_placement(memory: str, shape: str, layout: str) -> Placement:
    if memory not in MEMORIES:
        raise ValueError(f"there is no memory '{memory}'; there are {', '.join(MEMORIES)}")
    return Placement(memory, parse(layout, parse_shape(shape)))


def placement_of(type_: Any) -> Placement:
    """Placement of a memref type; raises ValueError when its memory space is no valid ``#mncore.placed``."""
    attribute = type_.memory_space if isinstance(type_, ir.MemRefType) else None
    if not isinstance(attribute, Placed):
        raise ValueError(f"needs a buffer with a #mncore.placed memory space, found {type_}")
    return placement_in(attribute)


def placement_in(attribute: Any) -> Placement:
    """A ``#mncore.placed`` as plain data; raises ValueError for anything else."""
    if not isinstance(attribute, Placed):
        raise ValueError(f"needs a #mncore.placed, found {attribute}")
    texts = [ir.StringAttr(part).value for part in (attribute.space, attribute.tensor_shape, attribute.layout)]
    return _parse_placement(*texts)


def memory_of(type_: Any) -> str:
    """Name of the memory of a memref type; raises ValueError when it has none of ours."""
    attribute = type_.memory_space if isinstance(type_, ir.MemRefType) else None
    if isinstance(attribute, Placed):
        return placement_of(type_).memory
    if isinstance(attribute, Memory):
        name = ir.StringAttr(attribute.space).value
        if name in MEMORIES:
            return name
    raise ValueError(f"needs a buffer in a memory of the machine, found {type_}")


def check_placed_buffer(value: Any) -> Placement:
    """`check_placed_type` of a buffer."""
    return check_placed_type(value.type)


def check_placed_type(type_: Any) -> Placement:
    """Check a per-PE share: shape [long words, 2] that the layout fills, inside the memory's capacity. Raises
    ValueError."""
    placement = placement_of(type_)
    shape = list(type_.shape)
    if shape != [placement.layout.local_size, 2]:
        raise ValueError(f"layout {placement.layout} fills {placement.layout.local_size}x2 words per PE, not {shape}")
    capacity = _capacities().get(placement.memory)
    if capacity is not None and placement.layout.local_size > capacity:
        size = placement.layout.local_size
        raise ValueError(f"{size} long words do not fit {placement.memory}, which has {capacity}")
    return placement
