"""The loops of a program: what their iterations need at least, and what they take in the program."""

from collections.abc import Sequence
from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR
from mnc.mncore_backend.codegen.scheduling.modulo import Loop, LoopFacts, loop_facts
from mnc.mncore_backend.program import MachineOp
from mnc.record.replay import Replay


def loops_of(
    program: Sequence[MachineOp], lines: Sequence[Sequence[MachineOp]], times: Replay
) -> list[dict[str, Any]]:
    """Loops of more than one operation, those with most to do first. `lines` are the operations of every line of the
    program, `times` when the lines are issued.

    Of every kind of loop: ``nodes``, ``trips``, ``operations`` of an iteration, ``times`` that the loop occurs,
    ``first`` step of the first one, ``steps`` of a trip in the mean, ``least`` steps of a trip in any schedule,
    ``resources`` with the steps that an iteration takes of each, ``recurrence``, and of the modulo schedule
    ``interval``, ``optimal`` and ``kernel`` where one was made.
    """
    start = {id(op): event.start for event, own in zip(times.events, lines, strict=True) for op in own}
    found = []
    for facts in loop_facts(program):
        if facts.loops[0].size > 1:
            found.append(_entry(program, facts, start))
    return sorted((entry for entry in found if entry["steps"]), key=lambda e: -e["least"] * e["trips"] * e["times"])


def _entry(program: Sequence[MachineOp], facts: LoopFacts, start: dict[int, int]) -> dict[str, Any]:
    loop, schedule = facts.loops[0], facts.schedule
    own = program[loop.first : loop.first + loop.size]
    names = dict.fromkeys(name for op in own for name in str(op.location).split(NODE_SEPARATOR) if name)
    paces = [pace for pace in (_pace(program, one, start) for one in facts.loops) if pace is not None]
    return {
        "nodes": list(names),
        "trips": loop.trips,
        "operations": loop.size,
        "times": len(facts.loops),
        "first": min((start[id(op)] for op in own if id(op) in start), default=0),
        "steps": round(sum(paces) / len(paces), 1) if paces else 0,
        "least": facts.least,
        "resources": [list(pair) for pair in facts.resources],
        "recurrence": facts.recurrence,
        "interval": schedule.interval if schedule is not None else None,
        "optimal": schedule is not None and schedule.optimal,
        "kernel": [list(row) for row in facts.kernel],
    }


def _pace(program: Sequence[MachineOp], loop: Loop, start: dict[int, int]) -> float | None:
    """Steps per trip in which the operations of a loop are issued, the first and the last tenth of them left out: some
    are issued long before the others, as nothing keeps them. None if none is known in the program."""
    issued = sorted(start[id(op)] for op in program[loop.first : loop.end] if id(op) in start)
    tenth = len(issued) // 10
    middle = issued[tenth : len(issued) - tenth]
    return (middle[-1] + 1 - middle[0]) / (loop.trips * len(middle) / len(issued)) if issued else None
