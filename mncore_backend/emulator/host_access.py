"""What the host hands to a `Machine`, checked: numbers that it has, runs of addresses inside of a memory, integers for
bits. Without a word, numpy would cut a run short that leaves a memory, and round floats to integers."""

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory, Statement
from mnc.mncore_backend.emulator.errors import HostAccessError
from mnc.mncore_backend.emulator.snapshot import Snapshot
from mnc.mncore_backend.emulator.state import PE_STORED, PLANES
from mnc.mncore_backend.target import Machine, named

_STATEMENTS = get_args(Statement)
_VIEWED = (*PE_STORED, *PLANES, Memory.T, Memory.L1BM, Memory.L2BM, Memory.PDM)
_BITS = {
    64: "the bits of doubles are .view(numpy.uint64), those of pairs of singles .astype('>f4').view('>u8')",
    32: "the bits of singles are .view(numpy.uint32)",
}


def whole(what: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number from `least` to `most`. Raises HostAccessError."""
    text = f"from {least} on" if most is None else f"from {least} to {most}"
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        raise HostAccessError(f"the {what} is {value!r}", hint=f"give a whole number {text}")
    return int(value)


def address_of(value: Any) -> int:
    """A long-word address of DRAM, which wraps. Raises HostAccessError."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise HostAccessError(f"the address is {value!r}", hint="give a whole number, which counts long words")
    return int(value)


def check_run(memory: str, unit: str, address: Any, count: Any, size: int) -> None:
    """Raise HostAccessError unless a memory of `size` units has a run of them."""
    first = whole(f"address in {memory}, in {unit}s,", address, 0, size)
    if whole(f"number of {unit}s", count, 0) > size - first:
        message = f"a run of {count} from {unit} {first} on leaves {memory}, which ends with {unit} {size - 1}"
        raise HostAccessError(message, hint="give a shorter run")


def _array(values: Any, bits: int) -> NDArray[np.generic]:
    try:
        array = np.asarray(values)
        mixed = array.dtype.kind == "f" and not hasattr(values, "dtype")  # as numpy makes of [-1, 1 << 63]
        return np.asarray(values, object) if mixed else array
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:  # what numpy and torch raise
        raise HostAccessError(f"the values are no array: {error}", hint=f"give integers of {bits} bits") from None


def integers(values: Any, bits: int) -> NDArray[Any]:
    """Values as unsigned words of 32 or 64 bits; negative integers have the bits of their two's complement.

    Raises:
        HostAccessError: they are no integers, or need more bits.
    """
    array, own = _array(values, bits), np.dtype(f"u{bits // 8}")
    if not array.size:
        return np.zeros(array.shape, own)
    kind = array.dtype.kind
    others = [value for value in array.flat if not isinstance(value, int | np.integer)] if kind == "O" else []
    if others or kind not in "iubO":
        found = f"of type {type(others[0]).__name__}" if others else str(array.dtype)
        raise HostAccessError(f"the values are {found}", hint=f"give integers; {_BITS[bits]}")
    if kind == "O" or array.dtype.itemsize > own.itemsize:
        least, most = int(array.min()), int(array.max())
        if least < -1 << bits - 1 or most >= 1 << bits:
            wrong = most if most >= 1 << bits else least
            raise HostAccessError(f"{wrong} has more than {bits} bits", hint=f"give integers of {bits} bits")
    if kind == "O":
        array = np.array([int(value) % (1 << bits) for value in array.flat], own).reshape(array.shape)
    return array.astype(own, copy=False)


def put(target: NDArray[np.uint64], data: NDArray[np.uint64], name: str) -> None:
    """Store an array that broadcasts against a view. Raises HostAccessError."""
    try:
        target[...] = data
    except ValueError:
        message = f"values of shape {list(data.shape)} do not fit {list(target.shape)} of {name}"
        raise HostAccessError(message, hint="give the last axis alone for all places, or all axes") from None


def check_memory(memory: Any) -> None:
    """Raise HostAccessError for what names no memory that has a view."""
    hint = "give one such as Memory.LM0 of mnc.mncore_backend.assembly.records"
    if not isinstance(memory, Memory):
        raise HostAccessError(f"{memory!r} is no memory", hint=hint)
    if memory not in _VIEWED:
        own = "use read_dram and write_dram" if memory is Memory.DRAM else hint
        raise HostAccessError(f"{memory.name} has no view as an array", hint=own)


def check_choices(mode: Any, threads: Any, output: Any, dirty: Any) -> None:
    """Raise HostAccessError for choices of a machine that it does not have."""
    if not isinstance(mode, str) or mode not in ("strict", "vendor"):
        raise HostAccessError(f"mode is 'strict' or 'vendor', not {mode!r}", hint="strict is the default")
    if dirty is not None and mode != "vendor":
        hint = "give mode='vendor'; strict mode follows the words that nobody wrote"
        raise HostAccessError("random words in memory are for vendor mode", hint=hint)
    if dirty is not None:
        whole("seed of random words", dirty, 0)
    if threads is not None:
        whole("number of threads", threads, 1)
    if output is not None and not callable(output):
        hint = "give a function that takes a line, such as print"
        raise HostAccessError(f"the output is a value of type {type(output).__name__}", hint=hint)


def target_of(given: Any) -> Machine:
    """A machine, or the one of a name. Raises HostAccessError."""
    if isinstance(given, Machine):
        return given
    if not isinstance(given, str):
        hint = "give a name, such as small, or what mnc.mncore_backend.target.named makes of it"
        raise HostAccessError(f"the target is a value of type {type(given).__name__}", hint=hint)
    try:
        return named(given)
    except ValueError as error:
        raise HostAccessError(str(error), hint="write it as small,LM0=1024") from None


def check_snapshot(snapshot: Any) -> None:
    """Raise HostAccessError for what is none."""
    if not isinstance(snapshot, Snapshot):
        hint = "give what the method snapshot returned"
        raise HostAccessError(f"a value of type {type(snapshot).__name__} is no snapshot", hint=hint)
    if not snapshot.fits:
        raise HostAccessError("the snapshot is of another machine", hint="give one that was taken of this machine")


def check_text(text: Any) -> None:
    """Raise HostAccessError for what is no text of a program."""
    if not isinstance(text, str):
        hint = "give its text, of a file path.read_text()"
        raise HostAccessError(f"a value of type {type(text).__name__} is no text of a program", hint=hint)


def check_statements(program: Any) -> Sequence[Statement]:
    """A program as a sequence of statements. Raises HostAccessError."""
    hint = "give the text of a program, or what mnc.mncore_backend.assembly.parse_program makes of it"
    try:
        found = program if isinstance(program, Sequence) else list(program)
    except TypeError:
        raise HostAccessError(f"a value of type {type(program).__name__} is no program", hint=hint) from None
    for statement in found:
        if not isinstance(statement, _STATEMENTS):
            raise HostAccessError(f"a value of type {type(statement).__name__} is no statement", hint=hint)
    return found


__all__ = [
    "address_of",
    "check_choices",
    "check_memory",
    "check_run",
    "check_snapshot",
    "check_statements",
    "check_text",
    "integers",
    "put",
    "target_of",
    "whole",
]
