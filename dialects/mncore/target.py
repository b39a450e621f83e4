"""The machine that a module is for: ``module attributes {mncore.machine = "small"}``.

Passes run for that machine (see `mncore_backend/target/context.py`). A module that names none is for the machine in
use, which is MN-Core 2 unless somebody says something else.
"""

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.surroundings import surround
from mnc.mncore_backend.target import MACHINES, MN_CORE_2, Machine, named, use

MACHINE = "mncore.machine"


def machine_of(module: Any) -> Machine | None:
    """The machine that a module names, None if it names none. Raises CompileError for one that does not exist."""
    op = module.operation
    if MACHINE not in op.attributes:
        return None
    attribute = op.attributes[MACHINE]
    if not isinstance(attribute, ir.StringAttr):
        message = f"has the attribute {MACHINE} = {attribute}"
        raise error_at(op, message, hint='write a machine in quotes, such as "small"')
    try:
        return named(attribute.value)
    except ValueError as error:
        raise error_at(op, f"has the attribute {MACHINE}: {error}", hint='write a machine such as "small"') from None


def machine_in(source: str | bytes) -> Machine | None:
    """The machine that the text or bytecode of a module seems to name, None if it names none: what is read is checked
    with its numbers, before anybody can ask the module."""
    text = source if isinstance(source, str) else source.decode("latin-1")
    if MACHINE not in text:
        return None
    written = re.search(rf'{re.escape(MACHINE)}"?\s*=\s*"([^"]*)"', text)
    found = written[1] if written else ""
    if not isinstance(source, str):  # strings of bytecode stand side by side, without what they belong to
        name = re.search(rf"(?:{'|'.join(map(re.escape, MACHINES))})(?:,\w+=\d+)*", text)
        found = name[0] if name else ""
    try:
        return named(found)
    except ValueError:
        return None  # which is refused once it has been read


def reading(source: str | bytes) -> AbstractContextManager[object]:
    """Work for the machine that a module names while it is read."""
    machine = machine_in(source)
    return nullcontext() if machine is None else use(machine)


def name_machine(module: Any, machine: Machine) -> None:
    """Let a module name its machine; MN-Core 2 goes without saying."""
    if machine is not MN_CORE_2:
        module.operation.attributes[MACHINE] = ir.StringAttr.get(machine.name, module.context)


def _entered(module: Any) -> AbstractContextManager[object]:
    machine = machine_of(module)
    return nullcontext() if machine is None else use(machine)


surround(_entered)
