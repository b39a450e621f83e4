"""Options that several subcommands take."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.core.files import path_hint
from mnc.mncore_backend.placement.preferences import PLAIN, SHORTEST, Effort
from mnc.mncore_backend.target import PRECISIONS
from mnc.options import Preference, Resident
from mnc.tools.commands.machine_option import machine_option

NO_CACHE = "MNC_NO_CACHE"
PREFERENCES: tuple[Preference, ...] = get_args(Preference)
EFFORTS: tuple[Effort, ...] = get_args(Effort)
SHAPE_HELP = (
    "Shape of an open input, or one open extent by its name; of a sequence its length, and shapes of elements by "
    "NAME[0], NAME[1], ...; none for an optional input without a value."
)
_NO_VALUE = "none"


def resident_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--resident``: what stays on the chip between runs."""
    text = (
        "What stays in local memory between runs: updated inputs; also weights, as many as there is room for; or also "
        "other inputs, which a run then loads for the next one."
    )
    kinds = click.Choice(get_args(Resident))
    return click.option("--resident", type=kinds, default="nothing", show_default=True, help=text)(command)


def update_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--update``: what an input is in the next run, where the model does not say it."""
    text = "With --resident: this output is the value of this input in the next run."
    return click.option("--update", "updates", multiple=True, metavar="INPUT=OUTPUT", help=text)(command)


def refuse_resident(resident: Resident, target: str, updates: tuple[str, ...]) -> None:
    """Raise CompileError where nothing can stay: C++ runs on this computer; and for updates where nothing does."""
    if resident != "nothing" and target == "cpp":
        raise CompileError("--resident belongs to --target mncore", hint="leave it out")
    if updates and resident == "nothing":
        raise CompileError("--update concerns what stays in local memory", hint="add --resident state")


def parse_shapes(texts: tuple[str, ...]) -> dict[str, tuple[int, ...] | None]:
    """``x=1,64`` or ``x=1x64`` to {"x": (1, 64)}; an empty right side is a scalar, ``none`` an optional input without a
    value.

    Raises:
        CompileError: the text is malformed, or a name is there twice.
    """
    shapes: dict[str, tuple[int, ...] | None] = {}
    for text in texts:
        name, equals, extents = text.rpartition("=")
        try:
            shape = tuple(int(extent) for extent in extents.replace("x", ",").split(",") if extent.strip())
        except ValueError:
            shape = None if extents == _NO_VALUE else (-1,)
        if not equals or not name or min(shape or (), default=0) < 0:
            raise CompileError(f"cannot read the shape '{text}'", hint="write it as --shape x=1,64")
        if name in shapes:
            raise CompileError(f"the shape of '{name}' is given twice", hint="leave one --shape out")
        shapes[name] = shape
    return shapes


def parse_updates(texts: tuple[str, ...]) -> dict[str, str]:
    """``state=state_new`` to {"state": "state_new"}; raises CompileError."""
    updates = {}
    for text in texts:
        given, equals, found = text.partition("=")
        if not given or not equals or not found:
            raise CompileError(f"cannot read the update '{text}'", hint="write it as --update INPUT=OUTPUT")
        if given in updates:
            raise CompileError(f"the update of '{given}' is given twice", hint="leave one --update out")
        updates[given] = found
    return updates


def parse_layouts(text: str) -> tuple[Preference, ...] | None:
    """``alike,still`` to ("alike", "still"), ``plain`` to none at all, `SHORTEST` to None; raises CompileError."""
    if text in (SHORTEST, PLAIN):
        return None if text == SHORTEST else ()
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in PREFERENCES]:
        hint = f"write {SHORTEST}, {PLAIN}, or some of {', '.join(PREFERENCES)}"
        raise CompileError(f"--layouts: there is no preference '{unknown[0]}'", hint=hint)
    return tuple(name for name in PREFERENCES if name in names)


def _switch_cache_off(context: click.Context, _: click.Parameter, off: bool) -> None:
    """Set the variable that all of the package obeys, and processes that are started; until the command ends."""
    if not off:
        return
    before = os.environ.get(NO_CACHE)
    os.environ[NO_CACHE] = "1"
    context.call_on_close(lambda: os.environ.pop(NO_CACHE) if before is None else os.environ.update({NO_CACHE: before}))


cache_option = click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    callback=_switch_cache_off,
    help="Compile anew: neither read nor write the cache on disk.",
)


effort_option = click.option(
    "--effort",
    type=click.Choice(EFFORTS),
    show_default="MNC_EFFORT, or normal",
    help="quick compiles one program instead of several, in a fraction of the time; it takes longer when it runs.",
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--precision, --shape, --machine and --no-cache."""
    precision = click.option(
        "--precision",
        type=click.Choice(PRECISIONS),
        default="pseudo-single",
        show_default=True,
        help="Precision of matrix products.",
    )
    shape = click.option("--shape", "shapes", multiple=True, metavar="NAME=N,N,...", help=SHAPE_HELP)
    return precision(shape(machine_option(cache_option(command))))


def read_arrays(texts: tuple[str, ...], names: list[str]) -> dict[str, np.ndarray]:
    """``x=x.npy`` or, where the program has one input, ``x.npy``; raises CompileError."""
    arrays = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals:
            if len(names) != 1:
                message = f"'{text}' does not say which input it is for"
                raise CompileError(message, hint=f"write NAME={text}; the inputs are: {', '.join(names)}")
            name, path = names[0], text
        if name in arrays:
            raise CompileError(f"input '{name}' is given twice", hint="leave one --input out")
        if not path:
            raise CompileError(f"--input {text} names no file", hint=f"write --input {name}=FILE.npy")
        arrays[name] = _read_array(path)
    return arrays


def require_inputs(values: Mapping[str, np.ndarray], tensors: Iterable[Any]) -> None:
    """Raises CompileError for an input of the program, one of `tensors`, that has no value; names a value that has no
    input, for it may be the one that is missing."""
    tensors = list(tensors)
    surplus = sorted(set(values) - {tensor.name for tensor in tensors})
    for tensor in tensors:
        if tensor.name not in values:
            text = shlex.quote(f"{tensor.name}=FILE.npy")
            hint = f"add --input {text}, an array of {tensor.dtype}{list(tensor.shape)}"
            other = f", and '{surplus[0]}' is no input" if surplus else ""
            raise CompileError(f"no value for input '{tensor.name}'{other}", hint=hint)


def _read_array(path: str) -> np.ndarray:
    try:
        array = np.load(Path(path), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:  # EOFError: an empty file
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if isinstance(error, ValueError) and "pickle" in reason:  # what numpy takes any other file for
            reason = "it holds no array of numbers"
        message = f"cannot read '{path}' as a .npy array: {reason}"
        hint = path_hint(path) if isinstance(error, FileNotFoundError) else "save it with numpy.save"
        raise CompileError(message, hint=hint) from None
    if not isinstance(array, np.ndarray):
        message = f"'{path}' is an archive of arrays ({', '.join(array.files)}), not one array"
        raise CompileError(message, hint="save each with numpy.save, and give --input NAME=FILE.npy for each")
    return array
