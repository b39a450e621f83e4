"""What a compilation decides and does, kept for reports and explanations.

Nothing is kept, and next to nothing is spent, outside of `recording()`. A program may be compiled several times until
the best is known: each time is an `Attempt`, and what counts is what all share and the attempt that was chosen.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mnc.core.diagnostics import node_name

SHARED = ""
"""Label of what all attempts have in common."""
TRACES = "decisions about layouts"
"""Subject of notes: of every function the decisions about its layouts."""


@dataclass(frozen=True)
class Candidate:
    """One of the things that could be done: what it is, its price in steps, and the parts of that price."""

    what: str
    price: float
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """A choice among candidates. `decision` says what was decided, `chosen` is the `what` of one candidate."""

    decision: str
    node: str
    candidates: tuple[Candidate, ...]
    chosen: str
    reason: str


@dataclass
class Attempt:
    """One way through the passes. `notes` hold what instrumentation reads off the IR, by subject."""

    label: str
    decisions: list[Decision] = field(default_factory=list)
    passes: list[dict[str, Any]] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Recording:
    """All attempts of a compilation, that which is being written, and what makes the instrumentation that runs around
    every pass meanwhile. With `is_traced` every decision about layouts is kept with all its candidates. `programs` are
    those that were compared exactly."""

    attempts: list[Attempt] = field(default_factory=lambda: [Attempt(SHARED)])
    makers: tuple[Callable[[], Any], ...] = ()
    is_traced: bool = False
    programs: list[dict[str, Any]] = field(default_factory=list)
    chosen: Attempt | None = None
    current: Attempt = field(init=False)

    def __post_init__(self) -> None:
        self.current = self.attempts[0]

    @cached_property
    def hooks(self) -> tuple[Any, ...]:
        """The instrumentation, made when the first pipeline runs."""
        return tuple(make() for make in self.makers)

    def last(self, label: str) -> Attempt:
        """The last attempt of this label."""
        return next(attempt for attempt in reversed(self.attempts) if attempt.label == label)

    @property
    def outcome(self) -> Attempt:
        """The attempt that made the program."""
        return self.chosen or self.current

    @property
    def relevant(self) -> list[Attempt]:
        """What led to the program: the shared part, then the chosen attempt."""
        shared = self.attempts[0]
        return [shared] if self.outcome is shared else [shared, self.outcome]


_RECORDING: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recording(*makers: Callable[[], Any], is_traced: bool = False) -> Iterator[Recording]:
    """Keep what is decided inside the block. `makers` give `Instrumentation` around every pass of every pipeline; they
    are called when the first pass runs, so that a program from the cache needs no MLIR."""
    made = Recording(makers=makers, is_traced=is_traced)
    token = _RECORDING.set(made)
    try:
        yield made
    finally:
        _RECORDING.reset(token)


def current_recording() -> Recording | None:
    """The recording that is going on."""
    return _RECORDING.get()


def wants_trace() -> bool:
    """Whether every decision about layouts is to be kept with all its candidates."""
    active = _RECORDING.get()
    return active is not None and active.is_traced


def note(subject: str, value: Any) -> None:
    """Keep a note on this subject with the current attempt, beside others."""
    if (active := _RECORDING.get()) is not None:
        active.current.notes.setdefault(subject, []).append(value)


def compared(preferences: Iterable[str], outcome: str, **more: Any) -> None:
    """Keep what became of the program with these preferences, where decisions are traced."""
    if (active := _RECORDING.get()) is not None and active.is_traced:
        active.programs.append({"preferences": list(preferences), "outcome": outcome, **more})


def recording_hooks() -> tuple[Any, ...]:
    """Instrumentation that pipelines run because of a recording."""
    active = _RECORDING.get()
    return () if active is None else active.hooks


def begin_attempt(label: str) -> None:
    """What follows is another way to compile the same program."""
    if (active := _RECORDING.get()) is not None:
        active.current = Attempt(label)
        active.attempts.append(active.current)


def resume_attempt(label: str) -> None:
    """What follows goes on with the last attempt of this label."""
    if (active := _RECORDING.get()) is not None:
        active.current = active.last(label)


def share_attempts() -> None:
    """What follows is common to all attempts."""
    if (active := _RECORDING.get()) is not None:
        active.current = active.attempts[0]


def choose_attempt(label: str) -> None:
    """The last attempt of this label has made the program, and what follows goes on with it."""
    if (active := _RECORDING.get()) is not None:
        active.chosen = active.current = active.last(label)


def kept_by(work: Callable[[], object]) -> list[Attempt]:
    """The attempts that work adds to the recording: a copy of this process tells the original, which keeps them with
    `keep_also`."""
    active = _RECORDING.get()
    before = 0 if active is None else len(active.attempts)
    work()
    return [] if active is None else active.attempts[before:]


def keep_also(attempts: Iterable[Attempt]) -> None:
    """Keep what a copy of this process has kept, beside what is kept here. Where the copy failed, the work was done
    here, and its attempts are kept already."""
    if (active := _RECORDING.get()) is not None:
        here = {id(attempt) for attempt in active.attempts}
        active.attempts += [attempt for attempt in attempts if id(attempt) not in here]


def position() -> tuple[int, int]:
    """How far the current attempt has come, for `rewind`."""
    active = _RECORDING.get()
    return (0, 0) if active is None else (len(active.current.passes), len(active.current.decisions))


def rewind(place: tuple[int, int]) -> None:
    """What the current attempt did since then was of no use and is done again."""
    if (active := _RECORDING.get()) is not None:
        del active.current.passes[place[0] :], active.current.decisions[place[1] :]


@contextmanager
def unrecorded() -> Iterator[None]:
    """Nothing is kept inside the block: it makes something else than the program."""
    token = _RECORDING.set(None)
    try:
        yield
    finally:
        _RECORDING.reset(token)


def decided(decision: str, op: Any, candidates: Iterable[Candidate], chosen: str, reason: str) -> None:
    """Keep a decision about an operation. Candidates may be a generator: nothing is computed when nobody records."""
    if (active := _RECORDING.get()) is not None:
        node = node_name(op.location) or ""
        active.current.decisions.append(Decision(decision, node, tuple(candidates), chosen, reason))
