"""What passes run inside of, as the dialects of a module ask for: the machine that it is for."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

_ASKED: list[Callable[[Any], AbstractContextManager[object]]] = []


def surround(enter: Callable[[Any], AbstractContextManager[object]]) -> None:
    """From now on, passes run inside what `enter` gives for a module; it may raise CompileError."""
    _ASKED.append(enter)


@contextmanager
def surroundings(module: Any) -> Iterator[None]:
    """Inside of all that is asked for."""
    with ExitStack() as stack:
        for enter in _ASKED:
            stack.enter_context(enter(module))
        yield
