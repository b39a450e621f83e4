"""Products of two matrices of random sizes: cycles, share of what they need at least, compile time, peak memory.

    python -m benchmarks.matrix_products [--count 100] [--seed 0] [--constant] [--run] [MxKxN ...]

Sizes are log-uniform between 64 and 4,096, the products sorted by their work. Each is compiled in a process of its own.
Results go to benchmarks/results/matrix_products.json.
"""

import json
import math
import random
import resource
import subprocess
import sys
from typing import Any

import click
import numpy as np
import onnx
from onnx import numpy_helper

import mnc
from benchmarks.models import expected
from benchmarks.results import cpu_seconds, write_results
from mnc.core.diagnostics import CompileError
from mnc.report import report

Sizes = tuple[int, int, int]
SMALLEST, LARGEST = 64, 4096
GOOD, VERY_GOOD = 0.60, 0.75
"""Shares of the ideal of which a summary says how many products reach them."""


def random_sizes(count: int, seed: int) -> list[Sizes]:
    """So many triples of rows, contracted dimension and columns, those with the least work first."""
    rng = random.Random(seed)
    low, high = math.log(SMALLEST), math.log(LARGEST)
    made = [[round(math.exp(rng.uniform(low, high))) for _ in range(3)] for _ in range(count)]
    return sorted(((m, k, n) for m, k, n in made), key=math.prod)


def model(sizes: Sizes, *, constant: bool) -> onnx.ModelProto:
    """a [m, k] times b [k, n], of which b may be a constant."""
    m, k, n = sizes
    inputs = f"float[{m},{k}] a" if constant else f"float[{m},{k}] a, float[{k},{n}] b"
    text = f'<ir_version: 9, opset_import: ["" : 17]> g ({inputs}) => (float[{m},{n}] y) {{ y = MatMul(a, b) }}'
    proto = onnx.parser.parse_model(text)
    if constant:
        values = np.random.default_rng(0).standard_normal((k, n)).astype(np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(values, "b"))
    return proto


def measure(sizes: Sizes, *, constant: bool, run: bool) -> dict[str, Any]:
    """Figures of one product, in this process; with `run` also its largest error over the largest value."""
    proto = model(sizes, constant=constant)
    start = cpu_seconds()
    executable = mnc.compile(proto)
    figures: dict[str, Any] = {"compile_cpu_seconds": round(cpu_seconds() - start, 1)}
    figures["peak_megabytes"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    costs = report(executable)
    figures |= {key: costs["total"][key] for key in ("steps", "idle_steps", "mau_steps", "cycles", "stall_cycles")}
    figures |= {"ideal_cycles": costs["ideal"]["cycles"], "bound": costs["ideal"]["bound"]}
    figures |= {"of_ideal": costs["of_ideal"]}
    if run:
        rng = np.random.default_rng(1)
        inputs = {"a": rng.standard_normal(sizes[:2]).astype(np.float32)}
        inputs |= {} if constant else {"b": rng.standard_normal(sizes[1:]).astype(np.float32)}
        got, want = executable.run(inputs)["y"], expected(proto, inputs)["y"]
        figures["error_of_largest"] = float(np.abs(got - want).max() / np.abs(want).max())
    return figures


def _measured(sizes: Sizes, flags: list[str], seconds: int) -> dict[str, Any]:
    """The same in a process of its own."""
    name = "x".join(map(str, sizes))
    command = [sys.executable, "-m", "benchmarks.matrix_products", "--single", *flags, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {seconds} seconds"}
    lines = done.stdout.strip().splitlines() or [done.stderr.strip().rpartition("\n")[2]]
    return json.loads(lines[-1]) if lines[-1].startswith("{") else {"failed": lines[-1]}


def summary(results: dict[str, dict[str, Any]]) -> str:
    """How many products reach the shares that count, and what compiling all of them took."""
    shares = sorted(row["of_ideal"] for row in results.values() if "of_ideal" in row)
    if not shares:
        return "nothing was compiled"
    above = ", ".join(f"{sum(s >= least for s in shares)} above {least:.0%}" for least in (GOOD, VERY_GOOD))
    middle = shares[len(shares) // 2]
    seconds = sum(row.get("compile_cpu_seconds", 0.0) for row in results.values())
    failed = len(results) - len(shares)
    return f"{len(results)} products: {above}, median {middle:.1%}, {failed} failed; {seconds:.0f} s of CPU"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--count", default=100, show_default=True, help="So many products of random sizes, where none is named.")
@click.option("--seed", default=0, show_default=True, help="Of the sizes.")
@click.option("--constant", is_flag=True, help="The right factor is a constant.")
@click.option("--run", is_flag=True, help="Run on the emulator and compare with the reference.")
@click.option("--most", default=math.inf, help="Leave out products with more multiply-adds.")
@click.option("--seconds", default=900, show_default=True, help="Time limit of one product.")
@click.option("--single", is_flag=True, hidden=True, help="Measure in this process.")
def main(
    names: tuple[str, ...],
    *,
    count: int,
    seed: int,
    constant: bool,
    run: bool,
    most: float,
    seconds: int,
    single: bool,
) -> None:
    """Measure products of the sizes NAMES, as in 512x512x512; of random sizes, and keep the results, without."""
    chosen = [tuple(map(int, name.split("x"))) for name in names] or random_sizes(count, seed)
    if single:
        try:
            print(json.dumps(measure(chosen[0], constant=constant, run=run)))  # pyright: ignore[reportArgumentType]
        except CompileError as error:
            print(json.dumps({"failed": str(error).partition("\n")[0]}))
        return
    flags = ["--constant"] * constant + ["--run"] * run
    results: dict[str, dict[str, Any]] = {}
    for sizes in chosen:
        if math.prod(sizes) <= most:
            name = "x".join(map(str, sizes))
            results[name] = _measured(sizes, flags, seconds)  # pyright: ignore[reportArgumentType]
            print(f"{name:16}", " ".join(f"{key} {value}" for key, value in results[name].items()), flush=True)
    print(summary(results))
    if not names:
        print(write_results("matrix_products", results))


if __name__ == "__main__":
    main()
