"""Fit what a step of each kind counts to what compiled programs take: `mncore_backend/placement/cost/weights.py`.

    python scripts/fit_weights.py [MODEL...]

Models are compiled with several widths and policies of the search, so that there are good and bad solutions. The steps
by kind of every node are set against the cycles of that node in the report. The table is printed; round it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import click
import numpy as np
from price_models import build
from scipy.optimize import nnls

import mnc
from mnc.lowering.linalg_to_spmd import assign_layouts
from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.solve import search
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.target import CYCLES_PER_STEP
from mnc.options import Options

KINDS = tuple(WEIGHTS)
WAYS = ((16, assign_layouts.MIXED), *((width, (policy,)) for width, policy in enumerate(assign_layouts.MIXED[:3], 1)))
"""Widths of the search, and policies that operations choose from."""
LEAST, MOST = 50.0, 2e5
"""Steps below which errors of a node count no more than at this many, and above which something did not fit."""


@dataclass
class Group:
    """Nodes that were placed or compiled as one: steps by kind, and steps that they took."""

    names: set[str]
    steps: np.ndarray
    taken: float = 0.0


def _bill(problem: Problem, state: State) -> Iterator[tuple[set[str], np.ndarray]]:
    for number, own in state.bill.items():
        if 0 <= number < len(problem.operations):
            names = set(problem.operations[number].name.split(" + "))
            yield names, np.array([own.get(kind, 0.0) for kind in KINDS])


def _groups(bill: Iterator[tuple[set[str], np.ndarray]], report: Any) -> list[Group]:
    groups: list[Group] = []
    for names, steps in bill:
        known = next((group for group in groups if group.names & names), None)
        if known is None:
            groups.append(Group(names, steps))
        else:
            known.names |= names
            known.steps = known.steps + steps
    cycles = {node.node: node.cycles for node in report.nodes}
    for group in groups:
        group.taken = sum(cycles.get(name, 0.0) for name in group.names) / CYCLES_PER_STEP
    return [group for group in groups if group.taken and group.steps.max() < MOST]


def measured(model: str) -> Iterator[Group]:
    """Groups of nodes of a model, compiled in several ways."""
    found: list[tuple[Problem, State]] = []
    solve = assign_layouts.solutions

    def watched(problem: Problem, *others: Any) -> Any:
        states, movements = solve(problem, *others)
        found.append((problem, states[0]))
        return states, movements

    for width, policies in WAYS:
        changed = (
            patch.object(search, "WIDTH", width),
            patch.object(assign_layouts, "MIXED", policies),
            patch.object(assign_layouts, "solutions", watched),
            patch.object(assign_layouts, "_known", []),  # what was found in another way
        )
        with changed[0], changed[1], changed[2], changed[3]:
            report = mnc.compile(build(model), Options(prefer=("together",))).report
        yield from _groups(_bill(*found[-1]), report)


@click.command()
@click.argument("models", nargs=-1)
def main(models: tuple[str, ...]) -> None:
    """Print the weights."""
    os.environ["MNC_NO_CACHE"] = "1"  # which would give the program of another solution
    groups = [group for model in models or ("squeezenet", "resnet18") for group in measured(model)]
    steps, taken = np.array([group.steps for group in groups]), np.array([group.taken for group in groups])
    scale = (np.maximum(taken, LEAST) * np.maximum(steps.sum(1), LEAST)) ** -0.25
    weights, _ = nnls(steps * scale[:, None], taken * scale)
    for kind, weight in zip(KINDS, weights, strict=True):
        click.echo(f"{kind:12} {weight:6.2f}")
    notable = taken > 2 * LEAST
    logs = np.log(np.maximum(steps @ weights, 1)[notable] / taken[notable])
    error = np.exp(np.sqrt((logs**2).mean()))
    click.echo(f"{notable.sum()} groups of nodes, off by a factor of {error:.2f} in the root mean square")


if __name__ == "__main__":
    main()
