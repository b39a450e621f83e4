"""Contents of memory for people: as ``d get`` prints them, and as a tensor through its layout."""

import re
from dataclasses import replace

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.debug_lines import DTYPES, debug_operand
from mnc.mncore_backend.assembly.errors import TokenError
from mnc.mncore_backend.assembly.records import DebugGet, DebugOperand, Memory
from mnc.mncore_backend.checker.debug_rules import address_reports
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.emulator.debug import get_lines
from mnc.mncore_backend.layout.layout import Axis, LayoutError
from mnc.mncore_backend.layout.placement import locate
from mnc.mncore_backend.layout.text import parse

_LOCAL = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
_SHARED = (Memory.L1BM, Memory.L2BM, Memory.DRAM)
_TYPES = {"f": np.float32, "i": np.int32, "u": np.uint32}


def operand(text: str) -> DebugOperand:
    """The place that a text such as ``$lr8n0c0b0m0p0`` names. Raises CompileError, also for what does not exist."""
    found = _parsed(text)
    _check_address(found)
    return found


def _parsed(text: str) -> DebugOperand:
    try:
        return debug_operand(text)
    except TokenError:
        hint = "write $lm0n0c0b0m0p0; levels: n group, c L2B, b L1B, m MAB, p PE; left out: all"
        raise CompileError(f"'{text}' is not a place in memory", hint=hint) from None


def _check_address(place: DebugOperand) -> None:
    """Addresses behind the end of a memory come round in the emulator: what is shown would be that of elsewhere."""
    for report in address_reports(place):
        raise CompileError(report.message, hint=report.hint)


def shown(machine: Machine, place: str, count: int = 1, dtype: str = "") -> list[str]:
    """The lines that ``d get`` would print. Raises CompileError."""
    if dtype not in DTYPES:
        known = ", ".join(name for name in DTYPES if name)
        raise CompileError(f"'{dtype}' is not a type of 'mem'", hint=f"types: {known}; without one: bits and a double")
    machine.engine.flush()
    first = operand(place)
    try:
        lines = get_lines(machine.engine.state, DebugGet(dtype, first, count))
    except ValueError as error:
        raise CompileError(str(error), hint="name one place, such as $lr0n0c0b0m0p0") from None
    if first.memory in (*_LOCAL, *_SHARED):
        apart = first.width if first.memory in _LOCAL else 1
        _check_address(replace(first, address=first.address + (count - 1) * apart))
    return [line.removeprefix("DEBUG-").split(" #")[0] for line in lines]


def through_layout(machine: Machine, text: str) -> np.ndarray:
    """A tensor in local memory: ``LAYOUT PLACE [f|i|u]``, PLACE being where it begins, without a scope.

    Elements have 32 bits; replicated coordinates are read at 0. Raises CompileError.
    """
    match = re.fullmatch(r"\s*(\(.*\))\s+(\$\S+)(?:\s+([fiu]))?\s*", text)
    if match is None:
        raise CompileError(f"cannot read '{text.strip()}'", hint="layout ((4_PE:1, 2_W:1)) $lm0 f")
    base = _parsed(match[2])
    if base.memory not in _LOCAL or base.address % 2 or any(level is not None for level in base.scope):
        raise CompileError(f"{match[2]} is not where a tensor begins", hint="a PE memory, an even address, no scope")
    try:
        layout = parse(match[1])
    except LayoutError as error:
        raise CompileError(str(error), hint="sizes, axes (L2B, L1B, MAB, PE, W) and strides: (8_L2B:1, 4:2)") from None
    longs = machine.longs(base.memory)
    at = locate(layout) if layout.size <= 2 * longs.size else None
    if at is None or base.address // 2 + at[Axis.ADDRESS].max(initial=0) >= longs.shape[-1]:
        message = f"the tensor does not end inside of {base.memory.name}"
        raise CompileError(message, hint=f"a PE has {longs.shape[-1]} long words of it")
    address = base.address // 2 + at[Axis.ADDRESS]
    found = longs[at[Axis.L2B], at[Axis.L1B], at[Axis.MAB], at[Axis.PE], address]
    words = np.where(at[Axis.W] == 0, found >> np.uint64(32), found & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    return words.view(_TYPES[match[3] or "f"]).reshape(layout.shape)
