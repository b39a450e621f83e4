"""python -m benchmarks [NAME ...]: run benchmarks, each in a process of its own, and say what they wrote."""

import subprocess
import sys
from pathlib import Path

import click

HERE = Path(__file__).parent
NO_BENCHMARK = ("__init__", "__main__", "compare", "results", "torch_networks")
NAMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NO_BENCHMARK)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
def main(names: tuple[str, ...]) -> None:
    """Run benchmarks, all of them if none is named; the exit code counts those that failed."""
    (HERE / "results").mkdir(exist_ok=True)
    failed = 0
    for name in names or NAMES:
        click.echo(f"== {name}")
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=HERE.parent).returncode != 0
    click.echo(f"results are in {HERE / 'results'}; compare two with python -m benchmarks.compare OLD NEW")
    sys.exit(failed)


if __name__ == "__main__":
    main()
