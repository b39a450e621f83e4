"""Fit how long programs take to what compiled programs take: `mncore_backend/placement/solve/makespan.py`, by which
solutions are compared, and `duration.py`, by which searches near a solution go.

    python scripts/fit_durations.py [--formula makespan|duration] [--solutions N] MODEL.onnx...

Of each model so many solutions of searches are compiled, good ones and others. The constants of the formula are changed
one after the other until its steps stand in the same ratio to cycles for all solutions of one model; good solutions
count more. They are printed with the error that is left; round them. Search anew with the new constants, and fit again:
what compares solutions finds those where it is too low.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import click
import numpy as np

import mnc
from mnc.core.diagnostics import CompileError
from mnc.lowering.linalg_to_spmd import assign_layouts
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.preferences import Preference
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.refine import solve_together
from mnc.mncore_backend.placement.refine.nearby import distinct
from mnc.mncore_backend.placement.solve.duration import LAW, duration, law
from mnc.mncore_backend.placement.solve.makespan import SHARES, Shares, makespan
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.pricing import UNITS, Resources
from mnc.options import Options

COUNTED = "work", "arrival", "fetched", "sums", "exchanged"
"""Kinds of work whose counts are constants of a law."""
APART = "start", "exchange", "in_turn", "depth"
"""Constants of a schedule that belong to no unit and no kind of work."""
PREFERRED: tuple[tuple[Preference, ...], ...] = (), ("alike",), ("tensor-parallel",), ("data-parallel",)
"""What is preferred in the searches whose solutions are compiled."""
STEEP = 4.0
"""How fast solutions count less that take more cycles than the best of their model."""
FAR = 1.8
"""Factor of the least makespan up to which solutions are compiled, besides the best of each search."""
BEST = 3
"""Of these, so many that take least; others are drawn."""
FACTORS = 1.4, 1.2, 1.1
"""By which constants are changed, one after the other."""
BETWEEN = 0.1
"""Weight of the variance of ratios between models."""

Constants = dict[str, float]


@dataclass(frozen=True)
class Program:
    """A solution of a problem, what its movements take, and the cycles of its program."""

    problem: Problem
    state: State
    movements: Mapping[Any, Resources]
    cycles: float


Steps = Callable[[Program], float]


class Found(NamedTuple):
    """A solution that a search has found: the steps that it promises to take, its problem, prices of movements, and
    what plans them."""

    steps: float
    state: State
    problem: Problem
    movements: Movements
    plan: Any


def _searched(model: str, preferred: tuple[Preference, ...]) -> list[Found]:
    """All solutions that a search finds for a model, those first that take least."""
    found: list[Found] = []
    shortest = solve_together._shortest

    problems: list[Problem] = []
    solve = assign_layouts.solutions

    def solved(problem: Problem, *others: Any) -> Any:
        problems.append(problem)
        return solve(problem, *others)

    def watched(states: Sequence[State], lasts: Any, movements: Movements, plan: Any, *others: Any) -> list[State]:
        for own in distinct(states):
            steps = makespan(problems[-1], own, {m: movements.resources(m) for m in own.movements})
            found.append(Found(steps, own, problems[-1], movements, plan))
        return shortest(states, lasts, movements, plan, *others)

    with (
        patch.object(solve_together, "_shortest", watched),
        patch.object(assign_layouts, "solutions", solved),
        patch.object(assign_layouts, "_known", []),
    ):
        mnc.compile(model, Options(prefer=("together", *preferred)))
    return sorted(found, key=lambda own: own.steps)


def _chosen(model: str, count: int) -> list[Found]:
    """So many solutions: the best of each search, the best of the others, and some that are not much worse."""
    first, *others = (_searched(model, preferred) for preferred in PREFERRED)
    best = [own[0] for own in (first, *others)]
    most = FAR * min(own.steps for own in best)
    rest = sorted((one for own in (first, *others) for one in own[1:] if one.steps <= most), key=lambda own: own.steps)
    drawn = min(count - len(best) - BEST, len(rest) - BEST)
    return [*best, *rest[:BEST], *Random(0).sample(rest[BEST:], max(0, drawn))]


def compiled(model: str, count: int) -> Iterator[Program]:
    """Programs of solutions of a model."""
    for _, state, problem, movements, plan in _chosen(model, count):
        movements.learn(state.movements, plan)
        only = assign_layouts._Found([state], [state.price], None)
        with patch.object(assign_layouts, "_solutions", lambda *_, only=only: only):
            try:
                cycles = mnc.compile(model, Options(prefer=("together",))).report.cycles
            except CompileError:  # there is no room for tensors that lie so
                continue
        yield Program(problem, state, {m: movements.exact[m] for m in state.movements}, cycles)


def _duration(constants: Constants) -> Steps:
    movements = Resources(latency=1.0, **{unit: constants[unit] for unit in UNITS[:-1]})
    own = law(constants["overlap"], constants["start"], movements, **{kind: constants[kind] for kind in COUNTED})
    return lambda program: duration(program.state, program.movements, own)


def _makespan(constants: Constants) -> Steps:
    kinds = {kind: own * (constants[kind] / own.total) if own.total else own for kind, own in SHARES.kinds.items()}
    moved = Resources(**{unit: constants[unit] for unit in UNITS})
    shares = Shares(kinds, moved, **{name: constants[name] for name in APART})
    return lambda program: makespan(program.problem, program.state, program.movements, shares)


FORMULAS: dict[str, tuple[Constants, Callable[[Constants], Steps]]] = {
    "duration": (
        {"overlap": LAW.overlap, "start": LAW.start}
        | dict(zip(UNITS[:-1], LAW.movements.all, strict=False))
        | {kind: LAW.units[kind][1] for kind in COUNTED},
        _duration,
    ),
    "makespan": (
        {kind: own.total for kind, own in SHARES.kinds.items() if own.total}
        | dict(zip(UNITS, SHARES.moved.all, strict=True))
        | {name: getattr(SHARES, name) for name in APART},
        _makespan,
    ),
}  # fmt: skip
"""Constants as they are, and what makes a formula of them."""


def error(steps: Steps, models: Sequence[Sequence[Program]]) -> float:
    """Root mean square of the logarithms of steps and cycles, apart from their mean in each model; the means may differ
    a little."""
    total, means = 0.0, []
    for programs in models:
        cycles = np.array([own.cycles for own in programs])
        logs, weights = np.log([steps(own) for own in programs] / cycles), np.exp(-STEEP * (cycles / cycles.min() - 1))
        means.append((weights * logs).sum() / weights.sum())
        total += float((weights * (logs - means[-1]) ** 2).sum() / weights.sum())
    return (total / len(models) + BETWEEN * float(np.var(means))) ** 0.5


def fitted(
    constants: Constants, formula: Callable[[Constants], Steps], models: Sequence[Sequence[Program]]
) -> Constants:
    """The constants from which no step of one of them leads to less error."""
    least = error(formula(constants), models)
    for factor in FACTORS:
        before = None
        while before != constants:
            before = constants
            for name in constants:
                for own in (factor, 1 / factor):
                    changed = constants | {name: constants[name] * own}
                    if (found := error(formula(changed), models)) < least:
                        least, constants = found, changed
                        break
    return constants


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--solutions", default=10, show_default=True, help="Solutions of each model.")
@click.option("--formula", type=click.Choice(list(FORMULAS)), default="makespan", show_default=True)
def main(models: tuple[str, ...], solutions: int, formula: str) -> None:
    """Print the constants."""
    os.environ["MNC_NO_CACHE"] = "1"  # which would give the program of another solution
    programs = [own for own in (list(compiled(model, solutions)) for model in models) if len(own) > 2]
    constants, make = FORMULAS[formula]
    now = error(make(constants), programs)
    click.echo(f"{sum(map(len, programs))} programs of {len(programs)} models; now off by {now:.3f}")
    for name, value in (found := fitted(constants, make, programs)).items():
        click.echo(f"{name:10} {value:6.2f}")
    click.echo(f"off by {error(make(found), programs):.3f}")


if __name__ == "__main__":
    main()
