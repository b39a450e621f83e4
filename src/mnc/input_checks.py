"""What the user gives for a run: arrays that fit, numbers that the machine has."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.core.float_types import is_floating, is_integer

if TYPE_CHECKING:
    from mnc.executable import HostTensor


def check_seed(seed: Any) -> None:
    """Raise CompileError unless a generator of random numbers takes the seed."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise CompileError(f"the seed is {seed!r}", hint="give an integer from 0 on")


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
    if array.shape != tensor.shape:
        message = f"input '{tensor.name}' has shape {list(array.shape)}, the program takes {list(tensor.shape)}"
        raise CompileError(message, hint="give an array of that shape, or compile the model for the other one")
    if tensor.dtype == "float32":
        if array.dtype.kind != "b" and not is_integer(array.dtype) and not is_floating(array.dtype):
            message = f"input '{tensor.name}' is {array.dtype}, the program takes float32"
            raise CompileError(message, hint="convert it with .astype(numpy.float32)")
        return array.astype(np.float32)
    if array.dtype.kind != "b" and not is_integer(array.dtype):
        message = f"input '{tensor.name}' is {array.dtype}, the program takes {tensor.dtype}"
        raise CompileError(message, hint=f"convert it with .astype(numpy.{tensor.dtype})")
    array = array.astype(np.int8) if array.dtype.kind == "V" else array  # 2 or 4 bits
    taken = np.iinfo(np.uint32 if tensor.dtype == "uint32" else np.int32)
    if array.size and (int(array.max()) > taken.max or int(array.min()) < taken.min):
        raise CompileError(f"input '{tensor.name}' has values outside {taken.min} to {taken.max}")
    return array.astype(taken.dtype)
