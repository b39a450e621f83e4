"""Where each tensor of the function is while it is rewritten, and bringing it to where an operation needs it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import ir, memref
from mnc.dialects.mncore import Dl, FillPadding, Gather, Relayout
from mnc.dialects.mncore.attributes import placed_attribute, placed_type
from mnc.lowering.linalg_to_spmd.words import word_type
from mnc.mncore_backend.layout import Layout, LayoutError, equivalent
from mnc.mncore_backend.placement.candidates import Access, Tiled, default_digits, project, same_places
from mnc.mncore_backend.placement.cost.movements import Movement, Movements
from mnc.mncore_backend.pricing import arrival

NOTABLE = 100
"""Steps of a movement above which it is compared with another load from DRAM."""
AGAIN = 0.2
"""Part of the steps of a movement that another load may take at most: prices are rough, and DRAM may be busy."""


def takes_much_longer(movement: Movement) -> bool:
    """Whether a movement takes much longer than a load of what it makes. Its rough price may be several times too low;
    so it is planned where it takes longer than a load by that, but not much."""
    load, rough = arrival(movement.target).total, movement.rough.total
    if rough < NOTABLE or load > rough:
        return False
    if load <= AGAIN * rough:
        return True
    movements = Movements()
    movements.learn([movement])
    return load <= AGAIN * movements.steps(movement)


@dataclass(frozen=True)
class Local:
    """On the chip. `root` is the buffer that owns the memory: views have a type of their own but share it.

    Tiles that are read through windows have `strides` (see `Buffered`) and say which iteration dimension each dimension
    of their layout follows.
    """

    buffer: Any
    layout: Layout
    root: Any
    strides: Mapping[int, Sequence[int]] | None = None
    access: Access | None = None


@dataclass(frozen=True)
class Splat:
    """The same scalar everywhere."""

    value: Any


@dataclass(frozen=True)
class Dram:
    """Still in DRAM. What a run finds where the run before left it (`kept`) has anything in its padding."""

    buffer: Any
    kept: bool = False


@dataclass(frozen=True)
class View:
    """Another tensor under other dimensions: nothing moves if a layout can be carried over. `order`: that of the
    dimensions of a transposition, None for others. `is_part`: a slice, which no layout can be carried over to."""

    source: Any
    forward: Callable[[Layout], Layout]
    backward: Callable[[Layout], Layout]
    index_map: NDArray[np.int64]
    order: Sequence[int] | None = None
    is_part: bool = False


State = Local | Splat | Dram | View


def default_layout(shape: tuple[int, ...]) -> Layout:
    """Layout of a tensor that nobody has an opinion about."""
    return project(shape, default_digits(shape), tuple(range(len(shape))))


def allocate(layout: Layout, element: Any) -> Any:
    """A new buffer for the per-PE share of a tensor, in either local memory."""
    return memref.AllocOp(placed_type(layout, element), [], []).result


def make_local(layout: Layout, element: Any) -> Local:
    """A tensor in a new buffer of its own."""
    buffer = allocate(layout, element)
    return Local(buffer, layout, buffer)


def integer(value: int) -> Any:
    """A word as a 32-bit attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def gather(
    source: Local,
    target: Local,
    index_map: NDArray[np.int64],
    padding: int = 0,
    *,
    onto: bool = False,
    fills: bool = False,
) -> None:
    """Emit target[i] = source[index_map[i]]; `padding` are the bits of a word where the map is -1, and if it `fills`
    also of those that pad the target. With `onto` the target keeps what it holds there."""
    made = Gather(source.buffer, target.buffer, flat_map(index_map), integer(padding))
    for name, is_so in (("onto", onto), ("fills_padding", fills)):
        if is_so:
            made.operation.attributes[name] = ir.UnitAttr.get()


def gather_as_loaded(source: Any, load: Any) -> None:
    """Emit what a load with an arrangement does, from a buffer on the chip, whatever pads its target included."""
    made = Gather(source, load.operands[1], load.attributes["index_map"], load.attributes["padding"])
    made.operation.attributes["fills_padding"] = ir.UnitAttr.get()


def load_arranged(source: Dram, target: Local, index_map: NDArray[np.int64], padding: int) -> None:
    """Emit target[i] = source[index_map[i]] as a load of elements that the host has arranged so."""
    load = Dl(source.buffer, target.buffer)
    load.operation.attributes["index_map"] = flat_map(index_map)
    load.operation.attributes["padding"] = integer(padding)


def flat_map(index_map: NDArray[np.int64]) -> Any:
    """An index map as an attribute."""
    return ir.DenseElementsAttr.get(np.ascontiguousarray(index_map.reshape(-1), dtype=np.int32))


def retyped(local: Local, layout: Layout) -> Local:
    """The same buffer under another name of its layout."""
    old = ir.MemRefType(local.buffer.type)
    type_ = ir.MemRefType.get(old.shape, old.element_type, memory_space=placed_attribute("LM", layout))
    return Local(memref.MemorySpaceCastOp(type_, local.buffer).result, layout, local.root)


def moved(local: Local, layout: Layout) -> Local:
    """A tensor in another layout: the same buffer if only the digits are written otherwise, else a copy."""
    if equivalent(local.layout, layout):
        return retyped(local, layout)
    copy = make_local(layout, local.buffer.type.element_type)
    Relayout(local.buffer, copy.buffer)
    return copy


class Values:
    """State of every tensor value, and the copies made of it."""

    def __init__(self) -> None:
        self.states: dict[Any, State] = {}
        self._copies: dict[tuple[Any, str], Local] = {}
        self._views: dict[Any, View] = {}  # what values on the chip are views of
        self._origins: dict[Any, Dram] = {}  # where values on the chip came from, and still are
        self._padding: dict[Any, int] = {}  # root buffer -> bits that all its padding is known to hold
        self._filled: dict[Any, tuple[Any, int, frozenset[int]]] = {}  # root -> view, bits, dimensions padded with them

    def bring(self, value: Any, layout: Layout) -> Local:
        """The tensor in `layout`, up to the order of addresses; emits what is needed to get it there."""
        state = self.states[value]
        if isinstance(state, View):
            state = self._resolve_view(value, state, layout)
        if isinstance(state, Dram):
            local = self.load(state.buffer, layout, kept=state.kept)
            if not state.kept:
                self._origins[value] = state
            self.states[value] = local
            return local
        if isinstance(state, Splat):
            raise TypeError("a splat has no buffer")
        if same_places(state.layout, layout):
            return state
        key = (value, str(layout))
        if key not in self._copies:
            again = self._loaded_again(value, layout, Movement(state.layout, layout))
            self._copies[key] = again or moved(state, layout)
        return self._copies[key]

    def _loaded_again(self, value: Any, layout: Layout, movement: Movement) -> Local | None:
        """A tensor that came from DRAM, or a view of one, from there once more, if the `movement` to the layout that is
        wanted takes much longer than that; None otherwise."""
        if self._in_dram(value, again=True) is None or not takes_much_longer(movement):
            return None
        every = np.arange(int(np.prod(ir.RankedTensorType(value.type).shape)))
        return self.load_elements(value, layout, every, again=True)

    def load(self, memory: Any, layout: Layout, *, kept: bool = False) -> Local:
        """A tensor in DRAM, brought to a new buffer."""
        local = make_local(layout, word_type(memory.type.element_type))
        Dl(memory, local.buffer)
        if not kept:
            self._padding[local.root] = 0  # the host fills the image with zeros
        return local

    def tiles(self, source: Any, tiled: Tiled, places: Layout | None, padding: int) -> Local:
        """The tiles of a tensor, with the word `padding` around it. A tensor on the chip goes to `places` first,
        from where only halos travel."""
        key = (source, f"{tiled.layout} {padding} {hash(tiled.index_map.tobytes())}")
        if key not in self._copies:
            if self._has_padding(source, padding):
                made = self.load_elements(source, tiled.layout, tiled.index_map, padding)
            else:
                local = self.anywhere(source)
                if places is not None:
                    local = self.bring(source, places)
                made = make_local(tiled.layout, local.buffer.type.element_type)
                gather(local, made, tiled.index_map, padding, fills=True)
            self._padding[made.root] = padding
            self._copies[key] = made
        made = self._copies[key]
        return Local(made.buffer, made.layout, made.root, tiled.strides, tiled.access)

    def is_in_dram(self, value: Any) -> bool:
        """Whether a tensor, or what it is a view of, has yet to come, in any arrangement."""
        behind = self._in_dram(value)
        return behind is not None and not behind[0].kept

    def _has_padding(self, value: Any, padding: int) -> bool:
        """Whether a tensor is in DRAM, and has no zeros around it that are to be another word."""
        behind = self._in_dram(value)
        return behind is not None and (padding == 0 or bool((behind[1] >= 0).all()))

    def load_elements(
        self, value: Any, layout: Layout, index_map: NDArray[np.int64], padding: int = 0, *, again: bool = False
    ) -> Local:
        """Elements of a tensor in DRAM, -1 for the word `padding`, as the host arranges them. `again`: the tensor, or
        what it is a view of, is on the chip by now."""
        behind = self._in_dram(value, again=again)
        assert behind is not None  # the caller has asked
        state, elements = behind
        made = make_local(layout, word_type(state.buffer.type.element_type))
        load_arranged(state, made, np.append(elements, -1)[index_map], padding)
        self._padding[made.root] = padding
        return made

    def anywhere(self, value: Any) -> Local:
        """The tensor wherever it is; one that is still in DRAM arrives in its default layout."""
        layout = default_layout(tuple(ir.RankedTensorType(value.type).shape))
        state = self.states[value]
        if isinstance(state, View):
            state = self._resolve_view(value, state, layout)
        return state if isinstance(state, Local) else self.bring(value, layout)

    def _resolve_view(self, value: Any, view: View, wanted: Layout) -> Local:
        self._views[value] = view
        behind = self.states[view.source]
        if view.is_part and (local := self._load_arranged(value, wanted)) is not None:
            self.states[value] = local
            return local
        if not isinstance(behind, Local):  # a free choice of where it arrives; nothing moves for it
            try:
                place = view.backward(wanted)
                if isinstance(behind, View):
                    self._resolve_view(view.source, behind, place)
                else:
                    self.bring(view.source, place)
            except LayoutError:
                if (local := self._load_arranged(value, wanted)) is not None:
                    self.states[value] = local
                    return local
        source = self.anywhere(view.source)
        try:
            layout = view.forward(source.layout)
        except LayoutError:
            local = self._loaded_again(value, wanted, Movement(source.layout, wanted))
            if local is None:
                local = make_local(wanted, source.buffer.type.element_type)
                gather(source, local, view.index_map)
        else:
            local = retyped(source, layout)
        self.states[value] = local
        return local

    def _in_dram(self, value: Any, *, again: bool = False) -> tuple[Dram, NDArray[np.int64]] | None:
        """The tensor in DRAM that a value is, or is a view of, and which of its elements the value has; None if it is
        elsewhere. Parts that got no place on the chip come from DRAM again where the whole is on the chip, and with
        `again` all that came from there."""
        is_part, elements = again, np.arange(int(np.prod(ir.RankedTensorType(value.type).shape)))
        while (view := self._view(value, again=again)) is not None:
            value = view.source
            if view.is_part:
                is_part = True
                elements = np.append(view.index_map, -1)[elements]
            elif view.order is not None:
                shape = ir.RankedTensorType(value.type).shape
                numbers = np.arange(int(np.prod(shape))).reshape(shape).transpose(view.order)
                elements = np.append(numbers.reshape(-1), -1)[elements]
        state = self.states[value]
        found = state if isinstance(state, Dram) else self._origins.get(value) if is_part else None
        return None if found is None else (found, elements)

    def _view(self, value: Any, *, again: bool) -> View | None:
        """The view that a value is, also if it is on the chip by now (`again`)."""
        state = self.states[value]
        return state if isinstance(state, View) else self._views.get(value) if again else None

    def _load_arranged(self, value: Any, layout: Layout) -> Local | None:
        """A view of a tensor in DRAM, in a layout that the tensor itself cannot have: the host arranges its elements.
        None if it is elsewhere."""
        elements = np.arange(int(np.prod(ir.RankedTensorType(value.type).shape)))
        return self.load_elements(value, layout, elements) if self.is_in_dram(value) else None

    def fill_padding(self, local: Local, bits: int, dims: Iterable[int]) -> None:
        """Make sure that the padding of these dimensions holds this word; it never matters to anybody else, so it is
        done in place."""
        pairs = list(zip(local.layout.shape, local.layout.padded_shape, strict=True))
        padded = frozenset(d for d, (extent, whole) in enumerate(pairs) if extent != whole)
        wanted = padded.intersection(dims)
        if not wanted or self._padding.get(local.root) == bits:
            return
        if (before := self._filled.get(local.root)) is not None:
            view, known, filled = before
            if view == local.buffer and known == bits and wanted <= filled:
                return
        made = FillPadding(local.buffer, integer(bits))
        self._padding.pop(local.root, None)
        if wanted == padded:
            self._padding[local.root] = bits
        else:
            made.operation.attributes["dims"] = ir.DenseI64ArrayAttr.get(sorted(wanted))
        self._filled[local.root] = local.buffer, bits, wanted
