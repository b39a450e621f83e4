"""What is to be said of the loops of a program."""

from collections.abc import Sequence
from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR, CompileError

SHOWN = 8
"""Loops that are explained."""
BUSIEST = 3
"""Resources of a loop that are named."""
WIDE = 24
"""Steps of an interval up to which the steady state is drawn."""


def explain_loops(record: dict[str, Any]) -> list[str]:
    """The loops with most to do: how often an iteration begins, what binds, and what a shorter interval needs. Raises
    CompileError for a record without loops."""
    loops = record.get("loops")
    if loops is None:
        raise CompileError("the loops of this program were not recorded", hint="add --report to mnc compile")
    if not loops:
        return ["no operations repeat"]
    lines: list[str] = []
    drawn: list[Any] = [[]]
    for loop in loops[:SHOWN]:
        lines += [*([""] if lines else []), _title(loop), _pace(loop), _bound(loop), *_schedule(loop)]
        if loop["kernel"] not in drawn and len(loop["kernel"]) <= WIDE:
            lines += _drawing(loop["kernel"])
            drawn.append(loop["kernel"])
    if len(loops) > SHOWN:
        lines += ["", f"and {len(loops) - SHOWN} kinds of loops with less to do"]
    return lines


def _title(loop: dict[str, Any]) -> str:
    often = f", {loop['times']} times" if loop["times"] > 1 else ""
    names = NODE_SEPARATOR.join(loop["nodes"]) or "(unnamed)"
    return f"{names}, from step {loop['first']:,}{often}: {loop['trips']} trips of {loop['operations']:,} operations"


def _pace(loop: dict[str, Any]) -> str:
    other = loop["steps"] - loop["least"]
    text = f"  a trip takes {loop['steps']:,} steps in the program"
    text += f"; in the long run, none takes less than {loop['least']:,}"
    return f"{text}: {other / loop['steps']:.0%} are waits and other work" if other >= 0.01 * loop["steps"] else text


def _bound(loop: dict[str, Any]) -> str:
    """What binds, and what would if that did not."""
    resources = [(name, steps) for name, steps in loop["resources"] if steps]
    binding = [name for name, steps in resources if steps == loop["least"]]
    if loop["recurrence"] == loop["least"]:
        binding.append("a cycle of dependences")
    others = [(name, steps) for name, steps in resources if steps < loop["least"]]
    next_best = max([loop["recurrence"] if loop["recurrence"] < loop["least"] else 1, *(steps for _, steps in others)])
    named = _list(binding, len(binding))
    then = [f"{name} {steps:,}" for name, steps in others if steps == next_best]
    then += ["the dependences"] * (loop["recurrence"] == next_best < loop["least"] and not then)
    text = f"  bound by {named}: with less of {'it' if len(binding) == 1 else 'all of them'}, "
    return text + f"{next_best:,} steps ({_list(then, BUSIEST) or 'one operation a step'})"


def _list(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _schedule(loop: dict[str, Any]) -> list[str]:
    """What the modulo scheduler found."""
    if loop["interval"] is None:
        return []
    text = f"  by itself, an iteration can begin every {loop['interval']} steps"
    if loop["interval"] > loop["least"]:
        text += ": nothing shorter exists" if loop["optimal"] else ": nothing shorter was found"
    return [text]


def _drawing(kernel: Sequence[Sequence[str]]) -> list[str]:
    """The steps of an interval, one below the other."""
    return [f"  {step:4}  {'  '.join(f'{name:<9}' for name in row)}".rstrip() for step, row in enumerate(kernel)]
