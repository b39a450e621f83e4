"""Schedule files: what is decided about a program apart from what it computes, as JSON to read, edit and give back.

The schema is `docs/schedule.schema.json`. A file holds every decision that was possible, with its candidates; what
counts is `choice`. Decisions that are left out are taken by the compiler.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.placement.candidates.policy import Preference
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
        return apply(json.loads(read_text(str(path))), options or Options())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise CompileError(f"{path} is no schedule file: {reason}", hint=_HINT) from None


def apply(content: Mapping[str, Any], options: Options) -> Options:
    """Options with the decisions of a schedule. Raises KeyError, TypeError or ValueError for what is none."""
    if content["format"] != FORMAT:
        raise ValueError(f"it has format {content['format']}, this version reads {FORMAT}")
    decisions: dict[str, dict[str, str]] = {}
    for entry in content["decisions"]:
        decision, node, choice = (entry[name] for name in ("decision", "node", "choice"))
        if not all(isinstance(text, str) for text in (decision, node, choice)):
            raise ValueError("a decision, its node and its choice are texts")
        if decision == PREFERENCES:
            options = replace(options, prefer=_preferences(choice))
        else:
            decisions.setdefault(decision, {})[node] = choice
    return replace(options, decisions=decisions)


def _preferences(text: str) -> tuple[Preference, ...]:
    named = [name.strip() for name in text.split(",") if name.strip()]
    for name in named:
        if name not in get_args(Preference):
            raise ValueError(f"there is no preference '{name}', but {', '.join(get_args(Preference))}")
    return tuple(name for name in get_args(Preference) if name in named)
