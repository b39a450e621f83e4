"""add-companions: beside a program that keeps buffers in local memory, the programs that fill and read them.

before:  func.func @main() { mncore.kept ...; mncore.statement ... }
after:   module @main { func.func @main() { mncore.kept ...; mncore.statement ... } }
         module @initialise { func.func @main() { mncore.statement ... } }
         module @read_back { func.func @main() { mncore.statement ... } }

`initialise` runs before the first run and fills all buffers from DRAM. `read_back` brings those to DRAM that runs
update; where no run does, there is none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import func, ir
from mnc.core.context import error_at
from mnc.core.modules import put_part, wrap
from mnc.core.nesting_pass import run_nested
from mnc.core.pass_base import Pass
from mnc.core.recording import unrecorded
from mnc.dialects.mncore import Constant, Dl, Resident, Ul
from mnc.dialects.mncore.attributes import memory_attribute, placement_of
from mnc.dialects.mncore.movement import ENCODING, constant_shape
from mnc.lowering.linalg_to_spmd.keep_resident import ARRANGEMENT, NAME, UPDATED, VALUE
from mnc.mncore_backend.codegen.allocate_buffers import AllocateBuffers
from mnc.mncore_backend.codegen.coalesce_copies import CoalesceCopies
from mnc.mncore_backend.codegen.host_ir import Kept, read_kept
from mnc.mncore_backend.codegen.load_again import LoadAgain
from mnc.mncore_backend.codegen.name_transfers import NameTransfers
from mnc.mncore_backend.codegen.order_operations import OrderOperations
from mnc.mncore_backend.codegen.schedule import Schedule
from mnc.mncore_backend.codegen.selection.select import SelectInstructions
from mnc.mncore_backend.codegen.split_transfers import SplitTransfers
from mnc.mncore_backend.codegen.verify_schedule import VerifySchedule

MAIN, INITIALISE, READ_BACK = "main", "initialise", "read_back"
"""Names of the modules."""
COMPILED = (
    SelectInstructions(), OrderOperations(), CoalesceCopies(), LoadAgain(), NameTransfers(), SplitTransfers(),
    AllocateBuffers(), Schedule(), VerifySchedule(),
)  # fmt: skip
"""What makes statements of the moves of a companion."""


@dataclass(frozen=True)
class AddCompanions(Pass):
    """Add the programs that fill and read what a scheduled program keeps in local memory from run to run."""

    name = "add-companions"

    def run(self, module: Any) -> None:
        """Put the program and its companions side by side; a module that keeps nothing stays as it is. Raises
        CompileError where buffers have no addresses yet."""
        kept = read_kept(module)
        if not kept:
            return
        if any(entry.buffer.memory is None for entry in kept):
            message = "keeps buffers that have no addresses yet"
            raise error_at(module.operation, message, hint="run allocate-buffers and schedule first")
        made = _companions(module, kept)
        for companion in made.values():
            with unrecorded():
                run_nested(COMPILED, companion)
        wrap(module, MAIN)
        for name, companion in made.items():
            put_part(module, name, companion)


def _companions(module: Any, kept: Sequence[Kept]) -> dict[str, Any]:
    """The companions, ready for instructions."""
    made = {INITIALISE: _module(module, kept, kept, _fill)}
    if read := [entry for entry in _first_of_each(kept) if UPDATED in entry.attributes]:
        made[READ_BACK] = _module(module, kept, read, _empty)
    return made


def _first_of_each(kept: Sequence[Kept]) -> list[Kept]:
    """One buffer of each tensor; a tensor may be kept in several layouts."""
    return list({ir.StringAttr(entry.attributes[NAME]).value: entry for entry in reversed(kept)}.values())


def _dram_type(entry: Kept) -> Any:
    """The tensor of a kept buffer in DRAM, or what it is arranged from."""
    shape = placement_of(entry.type).layout.shape
    if VALUE in entry.attributes:
        shape = constant_shape(entry.attributes)
    elif "index_map" in entry.attributes:
        shape = tuple(ir.DenseI64ArrayAttr(entry.attributes["source_shape"]))
    return ir.MemRefType.get(shape, entry.type.element_type, memory_space=memory_attribute("DRAM"))


def _resident(entry: Kept) -> Any:
    made = Resident(entry.type)
    assert entry.buffer.memory is not None  # as `run` has seen
    added = {
        NAME: entry.attributes[NAME],
        "memory": ir.StringAttr.get(entry.buffer.memory.name),
        "base": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), entry.buffer.base),
    }
    for name, attribute in added.items():
        made.operation.attributes[name] = attribute
    return made.operation.results[0]


def _module(module: Any, kept: Sequence[Kept], moved: Sequence[Kept], move: Callable[..., None]) -> Any:
    """A module in the form that `distribute` leaves: all kept buffers at their addresses, and `move` for some."""
    with module.context, ir.Location.unknown():
        made = ir.Module.create()
        role, key = ("input", NAME) if move is _fill else ("output", UPDATED)
        outside = {entry.attributes[key]: _dram_type(entry) for entry in moved if VALUE not in entry.attributes}
        with ir.InsertionPoint(made.body):
            function = func.FuncOp("main", ir.FunctionType.get(list(outside.values()), []), visibility=None)
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [ir.DictAttr.get({NAME: name, "mncore.role": ir.StringAttr.get(role)}) for name in outside]
            )
            entry_block = function.add_entry_block()
        arguments = dict(zip(outside, entry_block.arguments, strict=True))
        with ir.InsertionPoint(entry_block):
            buffers = {entry.buffer.name: _resident(entry) for entry in kept}
            for entry in moved:
                with ir.Location.name(ir.StringAttr(entry.attributes[NAME]).value):
                    move(entry, buffers[entry.buffer.name], arguments.get(entry.attributes[key]))
            func.ReturnOp([])
        return made


def _fill(entry: Kept, buffer: Any, source: Any) -> None:
    if VALUE in entry.attributes:
        constant = Constant(_dram_type(entry), entry.attributes[VALUE])
        constant.operation.attributes[NAME] = entry.attributes[NAME]
        if ENCODING in entry.attributes:
            constant.operation.attributes[ENCODING] = entry.attributes[ENCODING]
        source = constant.operation.results[0]
    load = Dl(source, buffer)
    for name in ARRANGEMENT:
        if name in entry.attributes:
            load.operation.attributes[name] = entry.attributes[name]


def _empty(entry: Kept, buffer: Any, target: Any) -> None:
    Ul(buffer, target)
