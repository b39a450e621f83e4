"""Every test plans its movements itself: plans of another test, made under other constants, are forgotten."""

from collections.abc import Iterator

import pytest

from mnc.mncore_backend.movement.repeats import REPEATS


@pytest.fixture(autouse=True)
def _plans_of_its_own() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    REPEATS.forget()
    yield
    REPEATS.forget()
