"""What a test of this folder compiles and runs is compared with its sequential form."""

from collections.abc import Iterator

import pytest

from .sequential_form import Comparisons, comparing


@pytest.fixture(autouse=True)
def comparisons() -> Iterator[Comparisons]:
    """Compares every program that the test runs, once."""
    with comparing() as found:
        yield found
