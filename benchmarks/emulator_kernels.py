"""Microseconds per emulator kernel: one step (4 cycles) on all 4096 PEs, one thread.

    python benchmarks/emulator_kernels.py [--filter TEXT] [--repeat N]

The best of many runs is shown, beside the time of the first request, which compiles the kernel.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.kernels import Kernel

BLOCKS = 64
Make = Callable[[], Kernel]


def requests() -> Iterator[Make]:
    """One request per kernel worth watching."""
    for op, precision in [("passa", "l"), ("add", "i"), ("max", "f"), ("relu", "f"), ("lsr", "s"), ("rsqrt", "f")]:
        yield partial(kernels.alu, op, precision, flags=True)
    yield partial(kernels.alu, "msl")
    for precision in "dfgh":
        yield partial(kernels.block_float, "bfn", precision)
    yield partial(kernels.block_float, "bfe", "h")
    for op in ("fma", "mul", "add", "passa"):
        for reduce in (False, True):
            half = "u" if op in ("fma", "mul") else ""
            yield partial(kernels.mau_vector, op, "d", half=half, reduce=reduce)
            yield partial(kernels.mau_vector, op, "f", reduce=reduce)
            yield partial(kernels.mau_vector, op, "h", reduce=reduce)
    for precision in "dfgh":
        yield partial(kernels.matrix_decode, precision)
        yield partial(kernels.matrix_read, precision)
        for op in ("fma", "mul"):
            yield partial(kernels.matrix_vector, op, precision, half="u" if precision == "d" else "")
    for op, precision in [("fadd", "d"), ("fadd", "f"), ("fadd", "h"), ("max", "f"), ("iadd", "i"), ("or", "l")]:
        yield partial(kernels.rrn_mabs, op, precision)
        yield partial(kernels.rrn_stage, op, precision, 4)
    yield from (kernels.copy, kernels.narrow, kernels.fetch_word, kernels.fetch_indirect)
    yield from (partial(kernels.extend, precision) for precision in "dfh")
    yield partial(kernels.negate, "f")
    yield from (partial(kernels.store, width, "long") for width in ("word", "long"))
    yield partial(kernels.zero_flush, "long", "long")


def operands(kernel: Kernel, rng: np.random.Generator) -> dict[str, object]:
    """Normally distributed singles for every data operand, and something valid for the others."""

    def data(rows: int = 4) -> np.ndarray:
        return rng.standard_normal((BLOCKS, rows, 128)).astype(np.float32).view(np.uint64)

    special: dict[str, Callable[[], object]] = {
        "flags": lambda: np.zeros((BLOCKS, 4, 64), dtype=np.uint8),
        "mask": lambda: rng.integers(0, 16, (BLOCKS, 4, 64), dtype=np.uint8),
        "word": lambda: (0, 1, 0, 1),
        "column": lambda: (0, 1, 2, 3),
        "index": lambda: rng.integers(0, 4, (BLOCKS, 4, 64)),
        "base": data,
        "bank": partial(data, 16),
        "decoded": lambda: np.zeros((BLOCKS, 4, kernels.decoded_bytes()), dtype=np.uint8),
    }
    return {name: special.get(name, data)() for name in kernel.operands}


def best_time(kernel: Kernel, repeat: int) -> float:
    """Seconds of the fastest of `repeat` runs over all blocks."""
    arrays = operands(kernel, np.random.default_rng(0))
    record = kernel.record(**arrays)  # pyright: ignore[reportArgumentType]
    for name in {"base", "bank"} & set(kernel.operands):  # rows are indexed from the first one
        position = 5 * kernel.operands.index(name)
        record[position + 1 : position + 4] = record[position]
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        kernel.call(record, 0, BLOCKS)
        times.append(time.perf_counter() - start)
    return min(times)


@click.command()
@click.option("--filter", "text", default="", help="Only kernels whose name contains this text.")
@click.option("--repeat", default=200, help="Runs per kernel.")
def main(text: str, repeat: int) -> None:
    """Measure every kernel and print a table."""
    table = Table("kernel", "us per step", "compile ms")
    total = 0.0
    for make in requests():
        start = time.perf_counter()
        kernel = make()
        _ = kernel.address
        compiled = time.perf_counter() - start
        total += compiled
        if text in kernel.name:
            table.add_row(kernel.name, f"{best_time(kernel, repeat) * 1e6:.1f}", f"{compiled * 1e3:.1f}")
    console = Console()
    console.print(table)
    console.print(f"compilation {total:.2f} s in all")


if __name__ == "__main__":
    main()
