"""Architectures from PyTorch: compile time, peak memory, cost on the chip, error beside its bound.

    python -m benchmarks.architectures [--precision half] [NAME ...]

Each network of `torch_networks` is exported, compiled and run on the emulator in a process of its own; the reference is
ONNX Runtime where it is installed, else the evaluator. Results go to benchmarks/results/architectures.json.
"""

import json
import resource
import subprocess
import sys
from typing import Any

import click
import numpy as np

from benchmarks.models import expected
from benchmarks.results import DIRECTORY, cpu_seconds, write_results
from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.target import PRECISIONS, Precision
from mnc.report import report


def measure(name: str, precision: Precision) -> dict[str, float]:
    """Figures of one network, in this process."""
    import torch

    import mnc.torch
    from benchmarks.torch_networks import NETWORKS
    from mnc.accuracy.probable import error_bounds

    torch.manual_seed(0)
    module, sample = NETWORKS[name]()
    model = mnc.torch.export_inference(module, sample)
    start = cpu_seconds()
    executable = mnc.compile(model, mnc.Options(precision=precision))
    figures: dict[str, float] = {"compile_cpu_seconds": cpu_seconds() - start}
    figures["peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # PyTorch's share included
    costs = report(executable)
    total = costs["total"]
    figures |= {key: total[key] for key in ("steps", "idle_steps", "cycles", "mv_transfers", "dram_bytes")}
    figures |= {"ideal_cycles": costs["ideal"]["cycles"], "of_ideal": costs["of_ideal"]}
    inputs = {model.graph.input[0].name: sample.numpy()}
    start = cpu_seconds()
    (got,) = executable.run(inputs).values()
    figures["run_cpu_seconds"] = cpu_seconds() - start
    (want,) = expected(model, inputs).values()
    (bound,) = error_bounds(model, inputs, precision).values()
    return figures | {"error": float(np.abs(got - want).max()), "bound": bound, "largest": float(np.abs(want).max())}


@click.command()
@click.argument("names", nargs=-1)
@click.option("--seconds", default=600, show_default=True, help="Time limit of one network.")
@click.option("--precision", type=click.Choice(PRECISIONS), default="pseudo-single", show_default=True,
              help="Precision of products; another one than this is behind the name of a network.")  # fmt: skip
@click.option("--single", hidden=True, help="Measure one network in this process.")
def main(names: tuple[str, ...], seconds: int, precision: Precision, single: str | None) -> None:
    """Measure the networks and bring benchmarks/results/architectures.json up to date."""
    if single is not None:
        try:
            print(json.dumps(measure(single, precision)))
        except CompileError as error:
            print(json.dumps({"failed": str(error).partition("\n")[0]}))
        return
    from benchmarks.torch_networks import NETWORKS

    previous = DIRECTORY / "architectures.json"
    results: dict[str, Any] = json.loads(previous.read_text())["results"] if previous.exists() else {}
    for name in names or NETWORKS:
        own = name if precision == "pseudo-single" else f"{name}, {precision}"
        command = [sys.executable, "-m", "benchmarks.architectures", "--precision", precision, "--single", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
            lines = done.stdout.strip().splitlines() or [done.stderr.strip().rpartition("\n")[2]]
            results[own] = json.loads(lines[-1]) if lines[-1].startswith("{") else {"failed": lines[-1]}
        except subprocess.TimeoutExpired:
            results[own] = {"failed": f"took more than {seconds} seconds"}
        print(own, results[own], flush=True)
        write_results("architectures", results)


if __name__ == "__main__":
    main()
