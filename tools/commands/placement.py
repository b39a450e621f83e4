"""mnc placement: where the tensors of a model live, as a problem that can be saved and solved again."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mnc.mncore_backend.target import PRECISIONS
from mnc.tools.commands.machine_option import machine_option, use_machine_of
from mnc.tools.commands.shared import SHAPE_HELP, parse_shapes

_KINDS = 4  # of steps that the table names


@click.command()
@click.argument("source", metavar="MODEL", type=click.Path(exists=True, dir_okay=False))
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.json",
              help="Write the problem here, without a solution.")  # fmt: skip
@click.option("--trace", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.json",
              help="Write every decision with its candidates, and why they lost; mnc explain reads it.")  # fmt: skip
@click.option("--exact", is_flag=True, help="Look for the optimum: prove that nothing is cheaper, or give a bound.")
@click.option("--budget", type=click.IntRange(1), metavar="N", help="With --exact: states to look at, at most.")
@click.option("--json", "as_json", is_flag=True, help="Print the solution as JSON.")
@click.option("--precision", type=click.Choice(PRECISIONS), default="pseudo-single",
              show_default=True, help="Precision of matrix products.")  # fmt: skip
@click.option("--shape", "shapes", multiple=True, metavar="NAME=N,N,...", help=SHAPE_HELP)
@machine_option
def command(
    source: str, save: Path | None, trace: Path | None, exact: bool, budget: int | None, as_json: bool, precision: Any,
    shapes: tuple[str, ...],
) -> None:  # fmt: skip
    """Decide where the tensors of MODEL live, and print what that takes.

    MODEL is an ONNX file, or a problem that --save has written. Steps are what the solver goes by: estimates, weighted
    by how much of each kind overlaps with other work. `mnc compile` gives exact cycles. A model of equal layers, or one
    that is too large for the chip, is compiled in parts; here it is one program.
    """
    from mnc.core.diagnostics import CompileError
    from mnc.core.files import replace_file
    from mnc.mncore_backend.placement.candidates.policy import policy_of
    from mnc.mncore_backend.placement.problem.saved import to_json
    from mnc.mncore_backend.placement.refine.solve_together import MIXED, solutions
    from mnc.mncore_backend.placement.report import price_without_movements, rows
    from mnc.mncore_backend.placement.trace.trace import Traces
    from mnc.mncore_backend.placement.trace.trace_json import trace_json
    from mnc.mncore_backend.target import chip

    if budget is not None and not exact:
        raise CompileError("--budget belongs to --exact", hint="add --exact, or leave --budget out")
    problem = _problem(source, precision, shapes)
    if save is not None:
        kept = {**to_json(problem), "machine": chip().name}
        replace_file(save, json.dumps(kept), "choose another file with --save")
    traces = None if trace is None else Traces()
    states, movements = solutions(problem, [policy_of(names) for names in MIXED], traces=traces)
    state, proven = states[0], {}
    if trace is not None and traces is not None:
        made = json.dumps(trace_json(problem, states, traces), indent=1)
        replace_file(trace, made, "choose another file with --trace")
    if exact:
        state, proven = _exact(problem, movements, budget)
    found = rows(problem, state)
    if as_json:
        more = {"exact": proven} if exact else {}
        json.dump({"price": state.price, "operations": [asdict(row) for row in found], **more}, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    _print(found)
    free, is_bound = price_without_movements(problem)
    moves = sum(own for row in found for kind, own in row.steps.items() if kind in ("moves", "halos", "rearranged"))
    click.echo(
        f"{len(problem.operations)} operations, price {state.price:,.0f} steps; {moves:,.0f} steps of movements on the"
        f" chip\nif movements took no time: {free:,.0f}{', and no solution has less' if is_bound else ''}"
    )
    if exact:
        click.echo(_proof(proven))


def _exact(problem: Any, movements: Any, budget: int | None) -> tuple[Any, dict[str, Any]]:
    """The cheapest solution that is known, and what was proven about it, by the prices of movements that are known."""
    from mnc.mncore_backend.placement.candidates.policy import policy_of
    from mnc.mncore_backend.placement.refine.solve_together import MIXED
    from mnc.mncore_backend.placement.solve.exact import BUDGET, solve_exactly
    from mnc.mncore_backend.placement.solve.search import Search

    policies = [policy_of(names) for names in MIXED]
    search = Search(problem, policies, movements)
    beam = search.run()
    found = solve_exactly(search, [policies], beam, BUDGET if budget is None else budget)
    return found.state, {
        "price": found.state.price,
        "bound": found.bound,
        "is_optimum": found.is_optimum,
        "states": found.met,
        "beam": beam.price,
    }


def _proof(proven: dict[str, Any]) -> str:
    """What was proven, in a sentence."""
    beam, bound, states = proven["beam"], proven["bound"], proven["states"]
    above = f"{100 * (beam / bound - 1) if bound else 0.0:,.1f} %"
    if proven["is_optimum"]:
        return f"exact: no solution is cheaper than {bound:,.1f} ({states:,} states); the search is {above} above it"
    return (
        f"exact: no solution costs less than {bound:,.1f}, more is not proven by {states:,} states; the search found "
        f"{beam:,.1f}, at most {above} above the optimum; --budget N allows more"
    )


def _problem(source: str, precision: Any, shapes: tuple[str, ...]) -> Any:
    from mnc.core.diagnostics import CompileError
    from mnc.core.json_text import parsed_json
    from mnc.mncore_backend.placement.problem import Problem
    from mnc.mncore_backend.placement.problem.saved import from_json
    from mnc.options import Options
    from mnc.placement_problem import problem_of_model

    if not source.endswith(".json"):
        return problem_of_model(source, Options(precision=precision), parse_shapes(shapes))
    try:
        data = parsed_json(Path(source).read_text(encoding="utf-8"))
        name = data.pop("machine", None) if isinstance(data, dict) else None
        if isinstance(name, str):
            use_machine_of(name, source)
        problem = from_json(data)
    except ValueError as error:
        raise CompileError(f"cannot read the problem: {error}", location=source, hint="save it again") from None
    if not isinstance(problem, Problem):
        raise CompileError("this is no saved problem", location=source, hint="mnc placement MODEL --save FILE.json")
    return problem


def _print(found: list[Any]) -> None:
    from rich.table import Table

    from mnc.tools.commands.tables import name_cell, print_table

    table = Table()
    for name in ("node", "kind", "result", "steps by kind"):
        table.add_column(name, overflow="fold")
    table.add_column("price", justify="right", no_wrap=True)
    for row in found:
        parts = sorted(row.steps.items(), key=lambda item: -item[1])[:_KINDS]
        steps = ", ".join(f"{kind} {own:,.0f}" for kind, own in parts if own >= 1)
        table.add_row(name_cell(row.name), row.kind, row.result, steps, f"{row.price:,.0f}")
    print_table(table)
