"""Schedule files: what is decided about a program apart from what it computes, as JSON to read, edit and give back.

The schema is `docs/schedule.schema.json`. A file holds every decision that was possible, with its candidates; what
counts is `choice`. Decisions that are left out are taken by the compiler.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from mnc.core.diagnostics import CompileError
from mnc.core.json_text import parsed_json
from mnc.mncore_backend.placement.preferences import PLAIN, SHORTEST, Preference
from mnc.options import Options
from mnc.tuning.trial import Trial

FORMAT = 1
PREFERENCES = "preferences"
"""The decision about the whole program: names of `Preference` with commas between, or nothing."""
_HINT = "make one with mnc tune, see docs/tuning.md"


def schedule(trial: Trial, options: Options) -> dict[str, Any]:
    """The content of a schedule file for the decisions of `options`, which led to a trial."""
    decisions: list[dict[str, Any]] = [{"decision": PREFERENCES, "node": "", "choice": ",".join(trial.preferences)}]
    for (decision, node), candidates in (trial.space or {}).items():
        wanted = options.decisions.get(decision, {}).get(node)
        if wanted is not None or len(candidates) > 1:
            entry = {"decision": decision, "node": node, "choice": wanted or candidates[0]}
            decisions.append({**entry, "candidates": list(candidates)})
    return {"format": FORMAT, "cycles": trial.cycles, "steps": trial.steps, "decisions": decisions}


def write_schedule(content: Mapping[str, Any], path: Path) -> None:
    """Write a schedule file; raises CompileError."""
    from mnc.core.command_line import write_text

    write_text(str(path), json.dumps(content, indent=1) + "\n")


def read_schedule(path: Path | str, options: Options | None = None) -> Options:
    """Options with the decisions of a schedule file.

    Raises:
        CompileError: the file is missing or is no schedule.
    """
    from mnc.core.command_line import read_text

    try:
        return apply(parsed_json(read_text(str(path))), options or Options())
    except ValueError as error:
        raise CompileError(f"{path} is no schedule file: {error}", hint=_HINT) from None


def apply(content: object, options: Options) -> Options:
    """Options with the decisions of a schedule. Raises ValueError for what is none."""
    decisions: dict[str, dict[str, str]] = {}
    prefer: tuple[Preference, ...] | None = options.prefer
    for decision, node, choice in _decided(content):
        own = decisions.setdefault(decision, {})
        if node in own:
            raise ValueError(f"'{decision}' of '{node}' is decided twice")
        own[node] = choice
        if decision == PREFERENCES:
            if node:
                raise ValueError(f"'{PREFERENCES}' are those of the whole program, and not of '{node}': its node is ''")
            prefer = _preferences(choice)
    decisions.pop(PREFERENCES, None)
    return replace(options, prefer=prefer, decisions=decisions)


def _decided(content: object) -> Iterator[tuple[str, str, str]]:
    """Decision, node and choice of every entry."""
    if not isinstance(content, Mapping):
        raise ValueError("it is no object with 'format' and 'decisions'")
    number, decisions = (_field(content, name) for name in ("format", "decisions"))
    if type(number) is not int or number != FORMAT:
        raise ValueError(f"it has format {number!r}, this version reads {FORMAT}")
    if not isinstance(decisions, list):
        raise ValueError("'decisions' is no list")
    for place, entry in enumerate(decisions, 1):
        if not isinstance(entry, Mapping):
            raise ValueError(f"decision {place} is no object with 'decision', 'node' and 'choice'")
        texts = tuple(_field(entry, name) for name in ("decision", "node", "choice"))
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"decision {place}: a decision, its node and its choice are texts")
        yield texts  # pyright: ignore[reportReturnType]


def _field(entry: Mapping[Any, Any], name: str) -> Any:
    if name not in entry:
        raise ValueError(f"there is no '{name}'")
    return entry[name]


def _preferences(text: str) -> tuple[Preference, ...] | None:
    """What `mnc compile --layouts` takes, and nothing, which is no rule as well."""
    if text in (SHORTEST, PLAIN):
        return None if text == SHORTEST else ()
    named = [name.strip() for name in text.split(",") if name.strip()]
    for name in named:
        if name not in get_args(Preference):
            known = ", ".join((SHORTEST, PLAIN, *get_args(Preference)))
            raise ValueError(f"there is no preference '{name}', but {known}")
    return tuple(name for name in get_args(Preference) if name in named)
