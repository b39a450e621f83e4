"""Which machine is compiled for, checked for or emulated.

The machine is passed on in a context variable and not as an argument. Who starts a piece of work names it once:
`mnc.compile`, a pass for the target of its module, an emulator for that of its program. Layouts, forms of transfers,
the access tables of instructions and prices depend on it a few calls below almost every function of the backend. As an
argument it would be handed through more than a thousand functions of which a few dozen look at it, and layouts and
expressions, which are keys of dictionaries everywhere, would each have to hold it.

What is remembered between calls must not be given to another machine: `cached_per_machine` keeps caches apart.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from mnc.mncore_backend.target.machine import Machine
from mnc.mncore_backend.target.machines import MN_CORE_2

P = ParamSpec("P")
R = TypeVar("R")

_MACHINE: ContextVar[Machine] = ContextVar("machine", default=MN_CORE_2)
chip: Callable[[], Machine] = _MACHINE.get
"""The machine in use: MN-Core 2 outside of `use`."""


@contextmanager
def use(machine: Machine) -> Iterator[Machine]:
    """Work for another machine inside the block. A new thread starts with MN-Core 2 again. Raises TypeError for what is
    no machine."""
    if not isinstance(machine, Machine):
        message = f"a value of type {type(machine).__name__} is no machine: write use(named('small'))"
        raise TypeError(message)
    token = _MACHINE.set(machine)
    try:
        yield machine
    finally:
        _MACHINE.reset(token)


def cached_per_machine(maxsize: int | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`functools.lru_cache` for functions whose results depend on the machine: a cache for each."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        caches: dict[Machine, Callable[..., R]] = {}
        by_identity: dict[int, Callable[..., R]] = {}  # a machine in `caches` is not freed; its hash takes long

        @wraps(function)
        def cached(*args: P.args, **kwargs: P.kwargs) -> R:
            machine = chip()
            own = by_identity.get(id(machine))
            if own is None:
                own = caches.get(machine)
                if own is None:
                    own = caches[machine] = lru_cache(maxsize)(function)
                    by_identity[id(machine)] = own
            return own(*args, **kwargs)

        def clear() -> None:
            by_identity.clear()
            caches.clear()

        cached.cache_clear = clear  # pyright: ignore[reportAttributeAccessIssue]
        return cached

    return decorate
