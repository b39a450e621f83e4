"""Why patterns and passes left operations alone: collected inside `explaining()`. Nothing here imports MLIR."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mnc.core.diagnostics import location_text, node_name


@dataclass
class Explanation:
    """Refused matches in the order they were first seen; each one is kept once."""

    lines: dict[str, None] = field(default_factory=dict)

    def add(self, pattern: str, op: Any, reason: str) -> None:
        """Note that `pattern` declined `op`."""
        where = location_text(op.location)
        node = node_name(op.location)
        subject = f"'{op.name}'" + (f" of node '{node}'" if node else "")
        self.lines[": ".join(part for part in (where, f"{pattern} refused {subject}", reason) if part)] = None


_EXPLANATION: ContextVar[Explanation | None] = ContextVar("explanation", default=None)


@contextmanager
def explaining() -> Iterator[Explanation]:
    """Collect the refusals of every pattern applied inside the block."""
    explanation = Explanation()
    token = _EXPLANATION.set(explanation)
    try:
        yield explanation
    finally:
        _EXPLANATION.reset(token)


def explain(transformation: str, op: Any, reason: str) -> None:
    """Note a refusal of a transformation that is not a `Pattern`; costs nothing outside `explaining`."""
    explanation = _EXPLANATION.get()
    if explanation is not None:
        explanation.add(transformation, op, reason)
