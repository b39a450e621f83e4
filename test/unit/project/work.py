"""Work in calls of functions: the same on every machine, where seconds are not."""

from collections.abc import Callable
from cProfile import Profile
from typing import TypeVar

T = TypeVar("T")


def work(action: Callable[[], T]) -> tuple[T, int]:
    """What an action returns, and how many functions, those of C included, it called."""
    profile = Profile()
    result = profile.runcall(action)
    return result, sum(entry.callcount for entry in profile.getstats())
