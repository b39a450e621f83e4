"""keep-resident: what every run would load again stays in local memory from one run of the program to the next.

before:  mncore.dl %weight, %w ... mncore.ul %new, %updated
after:   %w = mncore.resident {onnx.name = "weight", mnc.updated = "updated"} ... mncore.relayout %new, %w

Whoever starts the program fills these buffers first and may read them afterwards, by programs that are made from the
same operations. Of constants as many stay as find room in ``percent`` of the local memories, those first that save the
most traffic for the room they take; the others are loaded in every run. With ``batch`` the other inputs are
double-buffered: a run computes with what the run before it loaded, and what it is given itself is for the next one, so
that its load hides behind the work.
"""

from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

from mnc.core.bindings import ir, memref
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.dialects.mncore import Dl, Relayout, Resident
from mnc.dialects.mncore.attributes import placed_type, placement_of
from mnc.dialects.mncore.movement import ENCODING
from mnc.dialects.mncore.trips import SLICE, read_slice
from mnc.dialects.mncore.written_attributes import check_names
from mnc.lowering.linalg_to_spmd.homes import KEPT
from mnc.lowering.linalg_to_spmd.in_place import root_of, update_in_place
from mnc.lowering.linalg_to_spmd.placed import allocate, default_layout, gather_as_loaded
from mnc.mncore_backend.layout import without_spare_places
from mnc.mncore_backend.placement.solve.room import FOR_CONSTANTS, room_for_constants

NAME, UPDATED, VALUE = "onnx.name", "mnc.updated", "value"
ARRANGEMENT = ("index_map", "padding")


def _string(attributes: dict[str, Any], name: str) -> str | None:
    return ir.StringAttr(attributes[name]).value if name in attributes else None


@dataclass
class _Argument:
    """An argument of the distributed function: its attributes, and the transfers that read or write it."""

    value: Any
    attributes: dict[str, Any]
    transfers: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str | None:
        return _string(self.attributes, NAME)


class _Keeper:
    """Rewrites one distributed function."""

    def __init__(self, function: Any) -> None:
        self.block = function.regions[0].blocks[0]
        self.arguments = self._arguments(function)
        self.stores: list[tuple[Any, list[Any]]] = []  # what unloads a new value, the buffers that take it instead
        self.coming: list[tuple[Any, Any]] = []  # what a load for the next run fills, the buffer that takes it

    def _arguments(self, function: Any) -> list[_Argument]:
        entries = function.attributes.get("arg_attrs", [])
        found = {
            value: _Argument(value, {item.name: item.attr for item in ir.DictAttr(entry)})
            for value, entry in zip(self.block.arguments, entries, strict=True)
        }
        for op in self._operations():
            if op.name in ("mncore.dl", "mncore.ul"):
                outside = op.operands[0 if op.name == "mncore.dl" else 1]
                if outside in found:
                    found[outside].transfers.append(op)
        return list(found.values())

    def _operations(self) -> list[Any]:
        return [op.operation for op in self.block.operations]

    def with_role(self, role: str) -> list[_Argument]:
        return [a for a in self.arguments if _string(a.attributes, "mncore.role") == role]

    def updates(self) -> None:
        """Inputs that a result updates, and those of which it is said."""
        results = {argument.name: argument for argument in self.with_role("output")}
        for argument in self.with_role("input"):
            updated = _string(argument.attributes, UPDATED)
            result = None if updated is None else results.get(updated)  # results without names are under None
            if result is None or not argument.transfers or not result.transfers:
                continue
            kept = {NAME: argument.attributes[NAME], UPDATED: argument.attributes[UPDATED]}
            self.stores.append((result.transfers[0], self._plain(argument.transfers, kept)))
        for argument in self.with_role("input"):
            if KEPT in argument.attributes:
                self._plain(argument.transfers, self._named(argument))
        for result in self.with_role("output"):
            if KEPT in result.attributes:
                self.stores += [(store, [self._kept_result(store, result)]) for store in result.transfers]

    def _kept_result(self, store: Any, result: _Argument) -> Any:
        """The buffer that keeps a result. Where it is a row of a tensor, all copies of that have it: who reads the
        tensor may take any."""
        value, part = store.operands[0], read_slice(result.attributes)
        type_ = value.type
        if part is not None:
            row = placement_of(type_).layout
            type_ = placed_type(without_spare_places(row, part.row_dim(row.shape)), type_.element_type)
        return self._resident_of(type_, value.owner.location, self._named(result))

    @staticmethod
    def _named(argument: _Argument) -> dict[str, Any]:
        """What is said of the buffer that keeps an argument or a result, or the part of it that a trip has."""
        return {name: argument.attributes[name] for name in (NAME, SLICE) if name in argument.attributes}

    def _plain(self, loads: list[Any], kept: dict[str, Any]) -> list[Any]:
        """Buffers with all elements in their own arrangement; others are gathered from the first of them."""
        arranged = [load for load in loads if "index_map" in load.attributes]
        buffers = [self._keep(load, kept) for load in loads if load not in arranged]
        if arranged and not buffers:
            source = arranged[0].operands[0].type
            layout = default_layout(tuple(source.shape))
            with ir.InsertionPoint.at_block_begin(self.block), arranged[0].location:
                made = allocate(layout, source.element_type)
                buffers.append(self._resident(made, kept))
        for load in arranged:
            with ir.InsertionPoint(load), load.location:
                gather_as_loaded(buffers[0], load)
            load.erase()
        return buffers

    def constants(self, room: int) -> None:
        """What the host would load into every run, as far as there is room: long words of a PE, of which updated inputs
        take their part. What several loads bring to the same places is there once."""
        loaded = sorted(self._loads_of_constants(), key=_room_for_traffic)
        room -= sum(_longs(op.results[0]) for op in self._operations() if op.name == "mncore.resident")
        for loads in loaded:
            if (longs := _longs(loads[0].operands[1])) > room:
                continue
            room -= longs
            constant = loads[0].operands[0].owner
            kept = self._chosen(constant, NAME, VALUE, ENCODING)
            made = self._keep(loads[0], {**kept, **self._chosen(loads[0], *ARRANGEMENT)})
            for load in loads[1:]:
                buffer = load.operands[1]
                load.erase()
                buffer.replace_all_uses_with(made)
                buffer.owner.erase()
        nameless = [op for op in self._operations() if op.name == "mncore.resident" and NAME not in op.attributes]
        for number, op in enumerate(nameless):
            op.attributes[NAME] = ir.StringAttr.get(f"constant {number}")

    def _loads_of_constants(self) -> list[list[Any]]:
        """Loads of constants, together those of the same elements to the same places."""
        found: dict[tuple[Any, ...], list[Any]] = {}
        for op in self._operations():
            if op.name == "mncore.dl" and getattr(op.operands[0].owner, "name", "") == "mncore.constant":
                arrangement = self._chosen(op, *ARRANGEMENT)
                key = op.operands[0], op.operands[1].type, *(arrangement.get(name) for name in ARRANGEMENT)
                found.setdefault(key, []).append(op)
        return list(found.values())

    @staticmethod
    def _chosen(op: Any, *names: str) -> dict[str, Any]:
        return {name: op.attributes[name] for name in names if name in op.attributes}

    def batch(self) -> None:
        """The other inputs: loaded for the next run."""
        for argument in reversed(self.with_role("input")):  # each is put in front of those before
            if _string(argument.attributes, UPDATED) is not None:
                continue
            for load in reversed(argument.transfers):
                arrangement = self._chosen(load, *ARRANGEMENT)
                kept = {NAME: argument.attributes[NAME], **arrangement}
                if arrangement:
                    kept["source_shape"] = ir.DenseI64ArrayAttr.get(argument.value.type.shape)
                source, location = load.operands[0], load.location
                buffer = self._keep(load, kept)
                # In front, so that nothing else takes the memories on their way: they fill the gaps of the work.
                with ir.InsertionPoint.at_block_begin(self.block), location:
                    coming = memref.AllocOp(buffer.type, [], [])
                    again = Dl(source, coming.result)
                for name, attribute in arrangement.items():
                    again.operation.attributes[name] = attribute
                self.coming.append((coming.result, buffer))

    def _keep(self, load: Any, attributes: dict[str, Any]) -> Any:
        """Put a resident buffer in the place of what `load` fills."""
        made = self._resident(load.operands[1], attributes)
        load.erase()
        return made

    def _resident(self, old: Any, attributes: dict[str, Any]) -> Any:
        made = self._resident_of(old.type, old.owner.location, attributes)
        old.replace_all_uses_with(made)
        old.owner.erase()
        return made

    def _resident_of(self, type_: Any, location: Any, attributes: dict[str, Any]) -> Any:
        with ir.InsertionPoint.at_block_begin(self.block), location:
            made = Resident(type_)
        for name, attribute in attributes.items():
            made.operation.attributes[name] = attribute
        return made.operation.results[0]

    def finish(self) -> None:
        """Write the updates behind everything that reads the old values."""
        updates = [(store.operands[0], buffer) for store, buffers in self.stores for buffer in buffers] + self.coming
        for store, _ in self.stores:
            store.erase()
        update_in_place(self.block, updates)
        pending = [(value, buffer) for value, buffer in updates if value != buffer]
        overwritten = {buffer for _, buffer in pending}
        with ir.InsertionPoint(list(self.block.operations)[-1]):
            saved = [self._copy(value) if root_of(value) in overwritten else value for value, _ in pending]
            for value, (_, buffer) in zip(saved, pending, strict=True):
                with value.owner.location:
                    Relayout(value, buffer)

    @staticmethod
    def _copy(value: Any) -> Any:
        """A value that would be gone when its turn comes."""
        with value.owner.location:
            copy = memref.AllocOp(value.type, [], []).result
            Relayout(value, copy)
        return copy


def _longs(buffer: Any) -> int:
    """Long words of a PE."""
    return placement_of(buffer.type).layout.local_size


def _room_for_traffic(loads: list[Any]) -> float:
    """Long words of a PE for each word that is not loaded in every run."""
    return _longs(loads[0].operands[1]) / (len(loads) * prod(loads[0].operands[0].type.shape))


@dataclass(frozen=True)
class KeepResident(Pass):
    """Keep what every run would load again in local memory between runs, of constants what fits into ``percent`` of
    it."""

    name = "keep-resident"
    what: Literal["nothing", "updates", "state", "batch"] = "nothing"
    percent: int = at_least(0, FOR_CONSTANTS)

    @property
    def keeps_constants(self) -> bool:
        """Whether constants stay, as many as there is room for."""
        return self.what in ("state", "batch") and self.percent > 0

    def run(self, module: Any) -> None:
        """Rewrite every distributed function of the module."""
        if self.what == "nothing":
            return
        with module.context, ir.Location.unknown():
            for op in functions_of(module):
                check_names(op.operation, (UPDATED,))
                keeper = _Keeper(op.operation)
                keeper.updates()
                if self.keeps_constants:
                    keeper.constants(room_for_constants(self.percent))
                if self.what == "batch":
                    keeper.batch()
                keeper.finish()
