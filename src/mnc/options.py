"""What a user can choose about a compilation, shared by Python and the command line."""

import dataclasses
import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, get_args

from mnc.core.diagnostics import CompileError
from mnc.core.given_shapes import read_shapes
from mnc.core.given_values import given_path
from mnc.mncore_backend.placement.preferences import Effort, Preference
from mnc.mncore_backend.target import PRECISIONS, Precision, chip, named

Resident = Literal["nothing", "updates", "state", "batch"]
EFFORT_VARIABLE = "MNC_EFFORT"
"""Environment variable that says which effort is spent where none is given."""


def default_effort() -> Effort:
    """The effort of compilations that are given none. Raises CompileError if the environment names one that there is
    not."""
    effort = os.environ.get(EFFORT_VARIABLE) or "normal"
    if effort not in get_args(Effort):
        known = " or ".join(get_args(Effort))
        raise CompileError(f"{EFFORT_VARIABLE} is '{effort}'", hint=f"set it to {known}, or not at all")
    return effort  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class Options:
    """Choices of a compilation; they set fields of passes and never change the list of passes.

    Attributes:
        precision: of matrix products. ``pseudo-single`` keeps 18 bits of each factor and is twice as fast as
            ``single``, which keeps 23; ``half`` keeps 9 and is four times as fast. All of them accumulate in single.
            Everything else is single.
        shapes: shapes of model inputs, for models that leave dimensions open; or single extents by their names. Of an
            input that is a sequence the shapes of its elements, as in ``{"s": [(4,), (3, 2)]}``, its length, ``{"s":
            2}``, where the model declares their shape, or shapes of single elements, ``{"s[0]": (4,)}``. Of an optional
            input its shape, or None where it has no value.
        resident: what stays in local memory from run to run. ``updates``: inputs that an output updates; ``state``:
            also weights, as the parameters of a training step, as many as there is room for; ``batch``: also the other
            inputs, which a run loads for the next one.
        updates: input -> output that is its value in the next run, for models in which nothing says so.
        prefer: what decisions about layouts prefer beyond prices, see
            `mncore_backend/placement/candidates/policy.py`; None: small programs are compiled with several
            preferences, and the shortest is kept.
        effort: ``quick`` compiles one solution of a search for layouts by rough prices: in a fraction of the time, to
            a program that takes longer. ``normal`` searches on with exact prices, and compares several programs. Left
            out: what the environment variable ``MNC_EFFORT`` says, or ``normal``.
        room: percent of local memory that values may take at once; others wait in DRAM. Less is taken by itself where
            what kernels need beside them does not fit.
        decisions: decision -> node -> candidate: what is decided otherwise than the compiler would, as `mnc tune` finds
            it and schedule files hold it.
        machine: what is compiled for: ``mn-core-2``, or another machine of its kind, with numbers that differ from it
            behind commas, as in ``small,LM0=1024``; see `mncore_backend/target/machines.py`. Left out: the machine in
            use, which is ``mn-core-2`` outside of `mnc.mncore_backend.target.use`.
        dump_dir: directory that gets the IR after each stage, constants elided.

    Raises:
        CompileError: a value that an option cannot have.
    """

    precision: Precision = "pseudo-single"
    shapes: dict[str, tuple[int, ...] | None] = field(default_factory=dict)
    dump_dir: Path | str | None = None
    resident: Resident = "nothing"
    updates: dict[str, str] = field(default_factory=dict)
    prefer: tuple[Preference, ...] | None = None
    effort: Effort = field(default_factory=default_effort)
    room: int = 100
    region: int = 36
    decisions: dict[str, dict[str, str]] = field(default_factory=dict)
    machine: str = field(default_factory=lambda: chip().name)

    def __post_init__(self) -> None:
        _one_of("precision", self.precision, PRECISIONS)
        _one_of("effort", self.effort, get_args(Effort))
        _one_of("resident", self.resident, get_args(Resident))
        try:
            named(self.machine)
        except (ValueError, AttributeError, TypeError) as error:
            message = str(error) if isinstance(error, ValueError) else f"the machine is {_kind(self.machine)}"
            raise CompileError(message, hint="write it as small,LM0=1024") from None
        for name, percent in (("room", self.room), ("region", self.region)):
            if isinstance(percent, bool) or not isinstance(percent, int) or not 1 <= percent <= 100:
                raise CompileError(f"there is no {name} of {percent!r} percent", hint="give a number from 1 to 100")
        values: dict[str, Any] = {"shapes": read_shapes(self.shapes), "updates": _updates(self.updates)}
        if self.prefer is not None:
            values["prefer"] = _preferences(self.prefer)
        if self.dump_dir is not None:
            values["dump_dir"] = given_path(self.dump_dir, "dump_dir")
        values["decisions"] = _decisions(self.decisions)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, given: "Options | Mapping[str, Any] | None") -> Self:
        """Options from a mapping of their names to values; options stay what they are, None means the defaults.

        Raises:
            CompileError: an unknown name, or a value that an option cannot have.
        """
        if isinstance(given, Options):
            return given  # pyright: ignore[reportReturnType]
        if given is not None and not isinstance(given, Mapping):
            hint = 'give mnc.Options(...), or a mapping such as {"precision": "single"}'
            raise CompileError(f"the options are {_kind(given)}", hint=hint)
        names = [option.name for option in dataclasses.fields(cls)]
        for name in given or {}:
            if name not in names:
                close = difflib.get_close_matches(str(name), names, 1)
                hint = f"did you mean '{close[0]}'?" if close else f"the options are: {', '.join(names)}"
                raise CompileError(f"there is no option '{name}'", hint=hint)
        return cls(**(given or {}))


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        hint = f"give one of: {', '.join(choices)}"
        raise CompileError(f"there is no {name} '{value}'", hint=hint)


def _updates(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for pair in given.items() for text in pair):
        hint = 'give a mapping of inputs to outputs such as {"state": "state_new"}'
        raise CompileError(f"the updates are {given!r}", hint=hint)
    return dict(given)


def _decisions(given: Any) -> dict[str, dict[str, str]]:
    try:
        plain = {str(decision): dict(nodes) for decision, nodes in given.items()}
        if all(isinstance(text, str) for nodes in plain.values() for pair in nodes.items() for text in pair):
            return plain
    except (AttributeError, TypeError, ValueError):
        pass
    hint = 'give a mapping such as {"layout": {"node": "candidate"}}, or the schedule file of mnc tune'
    raise CompileError(f"the decisions are {given!r}", hint=hint)


def _preferences(given: Any) -> tuple[Preference, ...]:
    names: Any = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        raise CompileError(f"prefer is {_kind(given)}", hint='give names such as ("alike",), or None')
    for name in names:
        _one_of("preference", name, get_args(Preference))
    return tuple(names)
