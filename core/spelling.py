"""How arguments are called where the user is: options of a command, or arguments of a function in Python."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IN_COMMAND: ContextVar[bool] = ContextVar("in a command", default=False)


@contextmanager
def inside_command() -> Iterator[None]:
    """Within the block, hints name the options of the command line."""
    token = _IN_COMMAND.set(True)
    try:
        yield
    finally:
        _IN_COMMAND.reset(token)


def spelled(option: str, argument: str) -> str:
    """`option` within a command, `argument` where Python calls."""
    return option if _IN_COMMAND.get() else argument


def shape_argument(name: str, *shape: int) -> str:
    """``--shape x=1,64`` or ``shapes={"x": (1, 64)}``; a single number is an extent by its name."""
    python = f"{shape[0]}" if len(shape) == 1 else f"{shape}"
    text = shlex.quote(f"{name}={','.join(map(str, shape))}")
    return spelled(f"--shape {text}", f'shapes={{"{name}": {python}}}')
