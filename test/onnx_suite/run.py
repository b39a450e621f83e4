"""All of ``onnx.backend.test`` through importer, compiler and emulator: ``make onnx-suite``."""

import json
import random
import sys
import warnings
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from outcomes import ERROR, PASSED, REFUSED, WRONG, Outcome
from pool import run_all

RESULTS = Path(__file__).parent / "results.json"
_COLUMNS = (PASSED, REFUSED, WRONG, ERROR)


def save(outcomes: list[Outcome], path: Path) -> None:
    """Outcomes as JSON, one line each; times are left out, because they change from run to run."""
    kept = [{k: v for k, v in asdict(o).items() if k != "seconds"} for o in sorted(outcomes, key=lambda o: o.name)]
    path.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in kept) + "\n]\n")


def summary(outcomes: list[Outcome], console: Console) -> None:
    """Passed, refused, wrong, error per operator, and the reasons by how often they occur."""
    table = Table("operator", *_COLUMNS)
    for operator in sorted({o.operator for o in outcomes}):
        count = Counter(o.verdict for o in outcomes if o.operator == operator)
        table.add_row(operator, *(str(count[c] or "") for c in _COLUMNS))
    console.print(table)
    reasons = Table("cases", "class", "reason", "for example")
    found = Counter((o.verdict, o.reason) for o in outcomes if o.verdict != PASSED)
    example = {(o.verdict, o.reason): o.name for o in outcomes}
    for (verdict, reason), count in found.most_common(60):
        reasons.add_row(str(count), verdict, reason, example[verdict, reason])
    console.print(reasons)
    total = Counter(o.verdict for o in outcomes)
    console.print(f"{len(outcomes)} cases: " + ", ".join(f"{total[c]} {c}" for c in _COLUMNS))


@click.command()
@click.option("--match", default="", help="Only cases whose name contains this.")
@click.option("--only", default="", help="Only cases that had this class in the last results, such as 'wrong,error'.")
@click.option("--workers", default=2, show_default=True)
@click.option("--seconds", default=180.0, show_default=True, help="Time limit of one case.")
@click.option("--memory", default=6, show_default=True, help="Memory limit of one process in GB.")
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(match: str, only: str, workers: int, seconds: float, memory: int, output: Path) -> None:
    """Run the ONNX backend tests and write their outcomes."""
    warnings.simplefilter("ignore")
    from cases import all_cases

    console = Console(width=200 if not sys.stdout.isatty() else None)
    cases = all_cases()
    old = {entry["name"]: entry for entry in json.loads(output.read_text())} if output.exists() else {}
    names = [name for name in sorted(cases) if match in name]
    if only:
        names = [name for name in names if old.get(name, {}).get("verdict") in only.split(",")]
    origins = {name: (cases[name].kind, cases[name].operator) for name in names}
    random.Random(0).shuffle(names)  # long cases lie together by name
    outcomes: list[Outcome] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    log = output.with_suffix(".log.jsonl")
    hidden = not console.is_terminal
    with log.open("w") as stream, Progress(*columns, console=console, disable=hidden) as progress:
        task = progress.add_task("onnx.backend.test", total=len(names))
        for outcome in run_all(names, origins, workers=workers, seconds=seconds, memory=memory << 30):
            outcomes.append(outcome)
            stream.write(json.dumps(asdict(outcome)) + "\n")
            stream.flush()
            progress.advance(task)
    summary(outcomes, console)
    rest = [Outcome(**entry) for name, entry in old.items() if name not in origins and name in cases]
    save([*outcomes, *rest], output)
    if any(o.verdict == WRONG for o in outcomes):
        sys.exit(1)


if __name__ == "__main__":
    main()
