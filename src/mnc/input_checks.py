"""What the user gives for a run: arrays that fit, numbers that the machine has."""

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.core.float_types import is_floating, is_integer
from mnc.mncore_backend.target import named

if TYPE_CHECKING:
    from mnc.executable import HostTensor


def check_seed(seed: Any) -> None:
    """Raise CompileError unless a generator of random numbers takes the seed."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise CompileError(f"the seed is {seed!r}", hint="give an integer from 0 on")


def check_mapping(inputs: Any, names: Iterable[str]) -> None:
    """Raise CompileError unless the inputs are a mapping."""
    if not isinstance(inputs, Mapping):
        hint = f"give a mapping of names to arrays; the inputs are: {', '.join(sorted(names)) or 'none'}"
        raise CompileError(f"the inputs are a value of type {type(inputs).__name__}", hint=hint)


def check_machine(machine: Any, name: str) -> None:
    """Raise CompileError unless it is a machine of the emulator, of the kind `name`."""
    target = getattr(machine, "target", None)
    if target is None:
        hint = "give a mnc.mncore_backend.emulator.Machine"
        raise CompileError(f"a value of type {type(machine).__name__} is no machine", hint=hint)
    if target is not named(name):
        message = f"the program is for the machine {name}, and this one is {target.name}"
        raise CompileError(message, hint="compile the model for the machine that it is to run on")


def refuse_nan(name: str, value: Any) -> None:
    """Raise CompileError if a value holds NaN, which arithmetic of the machine would take for infinity."""
    try:
        array = np.asarray(value)
        found = int(np.isnan(array).sum()) if is_floating(array.dtype) else 0
    except (ValueError, TypeError, RuntimeError):  # `check_input` says what it is
        return
    if found:
        hint = "replace them, for instance with numpy.nan_to_num, or in the model with IsNaN and Where"
        message = are_nan(found, f"input '{name}'") + ", which the machine does not have"
        raise CompileError(message, hint=hint)


def are_nan(count: int, of: str) -> str:
    """Says how many elements of something are NaN."""
    return f"{count} elements of {of} are NaN" if count != 1 else f"one element of {of} is NaN"


def subnormal_note(name: str, value: Any) -> str | None:
    """What to know of a value with subnormal numbers of single precision, which the machine reads as zero; None for
    others."""
    array = np.asarray(value)
    if not is_floating(array.dtype):
        return None
    sizes = np.abs(array.astype(np.float64))
    count = int(((sizes > 0) & (sizes < np.finfo(np.float32).smallest_normal)).sum())
    if not count:
        return None
    are = f"{count} elements of '{name}' are" if count != 1 else f"one element of '{name}' is"
    return f"{are} subnormal: zero for the machine, not for the reference"


def check_input(tensor: "HostTensor", value: Any) -> np.ndarray:
    """The input as an array of machine words; raises CompileError when shape or values do not fit."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:  # what numpy and torch raise
        hint = f"give numbers in the shape {list(tensor.shape)}"
        raise CompileError(f"input '{tensor.name}' is no array: {error}", hint=hint) from None
    if np.ma.is_masked(value):  # what lies under a mask is no value
        raise CompileError(f"input '{tensor.name}' has masked elements", hint="give numbers, as .filled(0) does")
    if array.shape != tensor.shape:
        message = f"input '{tensor.name}' has shape {list(array.shape)}, the program takes {list(tensor.shape)}"
        raise CompileError(message, hint="give an array of that shape, or compile the model for the other one")
    if tensor.dtype == "float32":
        if array.dtype.kind != "b" and not is_integer(array.dtype) and not is_floating(array.dtype):
            message = f"input '{tensor.name}' is {array.dtype}, the program takes float32"
            raise CompileError(message, hint="convert it with .astype(numpy.float32)")
        return _single(tensor.name, array)
    if array.dtype.kind != "b" and not is_integer(array.dtype):
        message = f"input '{tensor.name}' is {array.dtype}, the program takes {tensor.dtype}"
        raise CompileError(message, hint=f"convert it with .astype(numpy.{tensor.dtype})")
    array = array.astype(np.int8) if array.dtype.kind == "V" else array  # 2 or 4 bits
    taken = np.iinfo(np.uint32 if tensor.dtype == "uint32" else np.int32)
    # Programs compute with the words of booleans as they are.
    least, most = (0, 1) if tensor.dtype == "bool" else (taken.min, taken.max)
    if array.size and (int(array.max()) > most or int(array.min()) < least):
        hint = "convert it with .astype(bool)" if tensor.dtype == "bool" else "a word of the machine has 32 bits"
        raise CompileError(f"input '{tensor.name}' has values outside {least} to {most}", hint=hint)
    return array.astype(taken.dtype)


def _single(name: str, array: np.ndarray) -> np.ndarray:
    """In single precision; warns of numbers that only wider types have."""
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    if array.dtype.itemsize > single.dtype.itemsize and (count := int((np.isinf(single) & ~np.isinf(array)).sum())):
        are = f"{count} elements of input '{name}' are" if count != 1 else f"one element of input '{name}' is"
        warnings.warn(f"{are} too large for single precision: infinity for the machine", stacklevel=2)
    return single
