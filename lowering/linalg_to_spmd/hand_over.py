"""hand-over: arguments and results that another program keeps in local memory are taken from there and put there.

before:  func.func @main(%carried {mncore.homes = [{type = memref<...>, memory = "LM0", base = 0}]}) {
           mncore.dl %carried, %a
after:   %home = mncore.resident {memory = "LM0", base = 0}; mncore.relayout %home, %a
"""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir, memref
from mnc.core.context import error_at
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.dialects.mncore import Constant, Dl, Relayout, Resident
from mnc.dialects.mncore.attributes import memory_attribute
from mnc.dialects.mncore.trips import RESERVED, TABLES
from mnc.lowering.linalg_to_spmd.homes import HOMES
from mnc.lowering.linalg_to_spmd.keep_resident import NAME
from mnc.lowering.linalg_to_spmd.placed import gather_as_loaded


@dataclass(frozen=True)
class HandOver(Pass):
    """Take from local memory, and leave there, what other programs find and expect there."""

    name = "hand-over"

    def run(self, module: Any) -> None:
        """Rewrite every distributed function of the module; raises CompileError for results that come in pieces."""
        with module.context, ir.Location.unknown():
            for view in functions_of(module):
                _hand_over(view.operation)


def _hand_over(function: Any) -> None:
    block = function.regions[0].blocks[0]
    entries = function.attributes.get("arg_attrs", [])
    for argument, entry in list(zip(block.arguments, map(ir.DictAttr, entries), strict=False)):
        if HOMES not in entry:
            continue
        operations = [op.operation for op in block.operations]
        loads = [op for op in operations if op.name == "mncore.dl" and op.operands[0] == argument]
        stores = [op for op in operations if op.name == "mncore.ul" and op.operands[1] == argument]
        homes = [_home(block, ir.DictAttr(home), entry[NAME]) for home in ir.ArrayAttr(entry[HOMES])]
        for load in loads:
            _take(load, homes)
        if len(stores) > 1 or any("index_map" in store.attributes for store in stores):
            raise error_at(stores[0], "comes in pieces", hint="another program expects it as a whole")
        for store in stores:
            _leave(store, homes)
    if TABLES in function.attributes:
        for table in map(ir.DictAttr, function.attributes[TABLES]):
            _fill(block, table)
        del function.attributes[TABLES]
    if RESERVED in function.attributes:
        for entry in map(ir.DictAttr, function.attributes[RESERVED]):
            _home(block, entry, entry[NAME])
        del function.attributes[RESERVED]


def _home(block: Any, home: Any, name: Any) -> Any:
    """The buffer of the other program."""
    with ir.InsertionPoint.at_block_begin(block):
        made = Resident(ir.TypeAttr(home["type"]).value)
    for key, value in ((NAME, name), ("memory", home["memory"]), ("base", home["base"])):
        made.operation.attributes[key] = value
    return made.operation.results[0]


def _take(load: Any, homes: list[Any]) -> None:
    target = load.operands[1]
    same = next((home for home in homes if home.type == target.type), None)
    with ir.InsertionPoint(load), load.location:
        if "index_map" in load.attributes:
            gather_as_loaded(_copied(homes[0]), load)
        else:
            Relayout(_copied(homes[0]) if same is None else same, target)
    load.erase()


def _copied(home: Any) -> Any:
    """A copy that may lie in any memory. A home has its memory, which what moves it may need for itself."""
    made = memref.AllocOp(home.type, [], []).result
    Relayout(home, made)
    return made


def _leave(store: Any, homes: list[Any]) -> None:
    with ir.InsertionPoint(store), store.location:
        for home in homes:
            value = store.operands[0]
            if value.type != home.type:  # moved to a place of its own first, for the same reason
                value = memref.AllocOp(home.type, [], []).result
                Relayout(store.operands[0], value)
            Relayout(value, home)
    store.erase()


def _fill(block: Any, table: Any) -> None:
    home = _home(block, table, table[NAME])
    value = table["value"]
    type_ = ir.MemRefType(home.type)
    outside = ir.MemRefType.get(
        ir.ShapedType(value.type).shape, type_.element_type, memory_space=memory_attribute("DRAM")
    )
    with ir.InsertionPoint(list(block.operations)[-1]):
        constant = Constant(outside, value)
        constant.operation.attributes[NAME] = table[NAME]
        Dl(constant.operation.results[0], home)
