"""mnc tune: search for a shorter program within a budget of time."""

import shlex
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from mnc.core.diagnostics import CompileError
from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import model_options, parse_shapes

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_budget(text: str) -> float:
    """``60s``, ``5m``, ``1h`` or ``90`` in seconds; raises CompileError."""
    digits = text.strip().rstrip("smh")
    unit = text.strip()[len(digits) :]
    try:
        seconds = float(digits) * _UNITS[unit]
    except (ValueError, KeyError):
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise CompileError(f"'{text}' is no budget", hint="write 60s, 5m or 1h")
    return seconds


@click.command()
@click.argument("model", type=GivenPath(str))
@click.option("--budget", default="60s", show_default=True, help="Time for the search, such as 60s, 5m, 1h.")
@click.option("-o", "--output", type=GivenPath(), help="Schedule file; default MODEL.schedule.json.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; default one per processor.")
@click.option("--farm", "address", metavar="ADDRESS", help="Scheduler of a dask.distributed farm, tcp://host:8786.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the order of trials.")
@model_options
def command(
    model: str,
    budget: str,
    output: Path | None,
    jobs: int | None,
    address: str | None,
    seed: int,
    precision: Any,
    shapes: tuple[str, ...],
) -> None:
    """Search for a shorter program of MODEL and write what was decided to a schedule file, which
    `mnc compile --schedule` takes. Trials are kept in the cache: a second search goes on where the first ended."""
    seconds = parse_budget(budget)
    from mnc.lowering.onnx_to_graph.onnx_file import read_proto
    from mnc.options import Options
    from mnc.tuning.schedule_file import schedule, write_schedule
    from mnc.tuning.workers import farm, local_workers

    read_proto(model)
    options = Options(precision, parse_shapes(shapes))
    target = output or Path(f"{model}.schedule.json")
    with farm(address) if address else local_workers(jobs) as (executor, number):
        outcome = _searched(model, options, executor, number, seconds, seed, bool(address))
    if outcome.untuned is None or outcome.best.error:
        reason = outcome.best.error or "the budget was over before the model was compiled once"
        raise CompileError(reason.removeprefix(f"{model}: error: "), location=model)
    write_schedule(schedule(outcome.best, outcome.options), target)
    before, after = outcome.untuned, outcome.best
    gain = 1 - after.cycles / before.cycles if before.cycles else 0.0
    ending = ", nothing is left to try" if outcome.finished else ""
    programs = "1 program" if outcome.trials == 1 else f"{outcome.trials} programs"
    click.echo(f"{programs} tried ({outcome.remembered} remembered){ending}")
    lengths = [f"{trial.cycles:,} cycles, {trial.steps:,} steps" for trial in (before, after)]
    click.echo(f"{' -> '.join(lengths)} ({gain:.1%} less)")
    names = [shlex.quote(str(path)) for path in (model, target)]
    click.echo(f"{target}: give it back with mnc compile {names[0]} --schedule {names[1]}")


def _searched(
    model: str, options: Any, executor: Any, jobs: int, seconds: float, seed: int, remote: bool
) -> Any:
    from mnc.progress_bar import progress_bar
    from mnc.tuning.memory import remembered
    from mnc.tuning.search import Search

    look, keep = remembered(model)
    columns = (TextColumn("tuning"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with progress_bar(*columns, transient=True) as bar:
        task = bar.add_task("first program", total=seconds)

        def report(outcome: Any) -> None:
            text = f"{outcome.trials} programs, best {outcome.best.cycles:,} cycles"
            bar.update(task, description=text, completed=min(seconds, bar.tasks[0].elapsed or 0.0))

        search = Search(_sent(model) if remote else model, options, look=look, keep=keep, report=report, seed=seed)
        return search.run(executor, jobs, seconds)


def _sent(model: str) -> bytes:
    """The model as workers elsewhere get it, which do not see the files of this computer."""
    from mnc.lowering.onnx_to_graph.onnx_file import read_proto

    try:
        return read_proto(model).SerializeToString()
    except ValueError:
        message = "the model is larger than what can be sent to a farm, 2 GB"
        raise CompileError(message, location=model, hint="leave --farm out") from None
