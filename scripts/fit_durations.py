"""Fit how long programs take to what compiled programs take: `mncore_backend/placement/solve/duration.py`.

    python scripts/fit_durations.py [--solutions N] MODEL.onnx...

Of each model so many solutions of the search are compiled, good ones and others. The constants of the law are changed
until durations stand in the same ratio to cycles for all solutions of one model; good solutions count more. They are
printed with the error that is left; round them. Search anew with the new law, and fit again: a search that goes by
durations finds where they are too low.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

import click
import numpy as np
from scipy.optimize import minimize

import mnc
from mnc.core.diagnostics import CompileError
from mnc.lowering.linalg_to_spmd import assign_layouts
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.refine import solve_together
from mnc.mncore_backend.placement.refine.nearby import distinct
from mnc.mncore_backend.placement.solve.duration import LAW, Law, duration, law
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.pricing import Resources
from mnc.options import Options

MOVED = "mau", "alu", "mv", "l2bm", "l1bm"
COUNTED = "work", "arrival", "fetched", "sums", "exchanged"
CONSTANTS = "overlap", "start", *MOVED, *COUNTED
BOUNDS = (0.0, 1.0), (0.0, 64.0), *[(0.0, 4.0)] * (len(MOVED) + len(COUNTED))
"""What each of them may be."""
STEEP = 3.0
"""How fast solutions count less that take more cycles than the best of their model."""
FAR = 1.6
"""Factor of the least duration up to which solutions are compiled."""


@dataclass(frozen=True)
class Program:
    """A solution, prices of its movements, and the cycles that its program takes."""

    state: State
    movements: Movements
    cycles: float


def _searched(model: str) -> tuple[list[State], Movements, Any]:
    """All solutions that were found for a model, and prices of movements."""
    found: list[tuple[Sequence[State], Movements, Any]] = []
    shortest = solve_together._shortest

    def watched(states: Sequence[State], movements: Movements, plan: Any, *others: Any) -> list[State]:
        found.append((states, movements, plan))
        return shortest(states, movements, plan, *others)

    with patch.object(solve_together, "_shortest", watched), patch.object(assign_layouts, "_known", []):
        mnc.compile(model, Options(prefer=("together",)))
    states, movements, plan = found[-1]
    return distinct(states), movements, plan


def compiled(model: str, count: int) -> Iterator[Program]:
    """Programs of the best solutions of a model, and of others that promise no more than 1.6 times their duration."""
    states, movements, plan = _searched(model)
    lasts = {id(own): duration(own, {m: movements.resources(m) for m in own.movements}) for own in states}
    near = sorted((own for own in states if lasts[id(own)] <= FAR * min(lasts.values())), key=lambda s: lasts[id(s)])
    best, others = near[: count // 2], near[count // 2 :]
    for state in [*best, *Random(0).sample(others, min(len(others), count - len(best)))]:
        movements.learn(state.movements, plan)
        only = assign_layouts._Found([state], [state.price], None)
        with patch.object(assign_layouts, "_solutions", lambda *_, only=only: only):
            try:
                cycles = mnc.compile(model, Options(prefer=("together",))).report.cycles
            except CompileError:  # there is no room for tensors that lie so
                continue
        yield Program(state, movements, cycles)


def _law(constants: Sequence[float]) -> Law:
    own = dict(zip(CONSTANTS, constants, strict=True))
    movements = Resources(latency=1.0, **{unit: own[unit] for unit in MOVED})
    return law(own["overlap"], own["start"], movements, **{kind: own[kind] for kind in COUNTED})


def error(constants: Sequence[float], models: Sequence[Sequence[Program]]) -> float:
    """Root mean square of the logarithms of durations and cycles, apart from their mean in each model."""
    total, fitted = 0.0, _law(constants)
    for programs in models:
        cycles = np.array([own.cycles for own in programs])
        lasts = np.array([duration(own.state, own.movements.exact, fitted) for own in programs])
        logs, weights = np.log(lasts / cycles), np.exp(-STEEP * (cycles / cycles.min() - 1))
        total += float((weights * (logs - logs.mean()) ** 2).sum() / weights.sum())
    return (total / len(models)) ** 0.5


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--solutions", default=8, show_default=True, help="Solutions of each model.")
def main(models: tuple[str, ...], solutions: int) -> None:
    """Print the constants."""
    os.environ["MNC_NO_CACHE"] = "1"  # which would give the program of another solution
    programs = [own for own in (list(compiled(model, solutions)) for model in models) if len(own) > 2]
    counted = (LAW.units[kind][1] for kind in COUNTED)
    now = [LAW.overlap, LAW.start, *(getattr(LAW.movements, unit) for unit in MOVED), *counted]
    click.echo(f"{sum(map(len, programs))} programs of {len(programs)} models; now off by {error(now, programs):.3f}")
    found = minimize(
        error, now, args=(programs,), method="Powell", bounds=BOUNDS, options={"xtol": 1e-2, "maxiter": 20}
    )
    for name, value in zip(CONSTANTS, found.x, strict=True):
        click.echo(f"{name:10} {value:6.2f}")
    click.echo(f"off by {found.fun:.3f}")


if __name__ == "__main__":
    main()
