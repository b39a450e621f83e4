"""Decisions that can be taken from outside: a pass asks, and gets its own choice unless somebody fixed another.

A decision has a name ("layout"), a node and candidates, each a line of text. `choose` is what passes call, `fixing`
says what is wanted for the time of a block and collects what was asked. A search over programs needs no more: compile,
look at what was asked, fix something else, compile again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mnc.core.diagnostics import CompileError, node_name

Wanted = Mapping[str, Mapping[str, str]]
"""Decision -> node -> candidate."""
_LISTED = 4


@dataclass(frozen=True)
class Asked:
    """What could have been chosen, and what was."""

    candidates: tuple[str, ...]
    chosen: str


@dataclass
class Choices:
    """What is wanted, and what was asked, by decision and node. Where operations of one node are decided one by one,
    the first of them is kept, and what is wanted holds for all that have such a candidate."""

    wanted: Wanted
    asked: dict[tuple[str, str], Asked] = field(default_factory=dict)
    met: set[tuple[str, str]] = field(default_factory=set)

    def check(self) -> None:
        """Raise CompileError for what is wanted and was never possible."""
        for decision, nodes in self.wanted.items():
            for node, candidate in nodes.items():
                if (decision, node) in self.met:
                    continue
                asked = self.asked.get((decision, node))
                if asked is None:
                    known = sorted({f"'{node}'" for kind, node in self.asked if kind == decision})
                    hint = f"it is decided for {', '.join(known[:_LISTED])}" if known else "leave it out"
                    raise CompileError(f"the schedule decides '{decision}' of '{node}', which nobody asks", hint=hint)
                listed = " | ".join(asked.candidates[:_LISTED])
                message = f"the schedule wants '{candidate}' as '{decision}' of '{node}', which is no candidate"
                raise CompileError(message, hint=f"the candidates are: {listed}")


_CHOICES: ContextVar[Choices | None] = ContextVar("choices", default=None)


@contextmanager
def fixing(wanted: Wanted) -> Iterator[Choices]:
    """What is wanted inside the block; a block around it learns what was asked, too."""
    outer = _CHOICES.get()
    inner = Choices(wanted, {} if outer is None else outer.asked)
    token = _CHOICES.set(inner)
    try:
        yield inner
    finally:
        _CHOICES.reset(token)


def fixed(decision: str, op: Any) -> str | None:
    """The candidate that is wanted for a decision about an operation; None if it is open."""
    active = _CHOICES.get()
    return None if active is None else active.wanted.get(decision, {}).get(node_name(op.location) or "")


def choose(decision: str, op: Any, candidates: Sequence[str]) -> int:
    """The number of the candidate to take; the first is what the pass would take by itself."""
    active = _CHOICES.get()
    if active is None:
        return 0
    node = node_name(op.location) or ""
    wanted = active.wanted.get(decision, {}).get(node)
    number = 0
    if wanted is not None and wanted in candidates:
        number = candidates.index(wanted)
        active.met.add((decision, node))
    listed = tuple(dict.fromkeys(candidates))
    active.asked.setdefault((decision, node), Asked(listed, candidates[number]))
    return number
