"""Measure the elementary functions on the emulator and write docs/transcendentals.md.

Every function is compiled as a vector kernel, allocated, scheduled and run in strict mode on samples that differ in
every processing element; the reference is numpy in float64. Run ``python scripts/measure_math.py --check`` to fail when
the file is out of date.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from generated import main
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.scheduling import schedule
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.kernels.math import elementary, exponential, power
from mnc.mncore_backend.kernels.math.approximations import APPROXIMATIONS
from mnc.mncore_backend.kernels.vector import Access, Body, Output, VectorKernel, emit_vector
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program

TARGET = Path(__file__).resolve().parent.parent / "docs" / "transcendentals.md"
PES = (8, 8, 16, 4)
LONGS = 24  # per PE and argument: 24 * 4096 * 2 = 196,608 samples
RANDOM = np.random.default_rng(2024)
SMALLEST, LARGEST = 2.0**-126, 3.4028e38


def uniform(low: float, high: float, longs: int = LONGS) -> NDArray[np.float32]:
    return RANDOM.uniform(low, high, 8192 * longs).astype(np.float32)


def logarithmic(low: float = SMALLEST, high: float = LARGEST, *, signed: bool = False) -> NDArray[np.float32]:
    values = np.exp(RANDOM.uniform(math.log(low), math.log(high), 8192 * LONGS)).astype(np.float32)
    return values * RANDOM.choice([-1, 1], len(values)).astype(np.float32) if signed else values


@dataclass(frozen=True)
class Row:
    """One measurement: operation, description of the samples, samples, float64 reference."""

    name: str
    range: str
    arguments: tuple[NDArray[np.float32], ...]
    reference: Callable[..., NDArray[np.float64]]


ERF = np.vectorize(math.erf, otypes=[float])

ROWS = [
    Row("exp", "[-87.3, 88.7]", (uniform(-87.3, 88.7),), np.exp),
    Row("exp", "[-1, 1]", (uniform(-1, 1),), np.exp),
    Row("log", "all positive", (logarithmic(),), np.log),
    Row("log", "[0.5, 2]", (uniform(0.5, 2),), np.log),
    Row("log1p", "(-1, 3]", (uniform(-0.9999, 3),), np.log1p),
    Row("log1p", "all positive", (logarithmic(),), np.log1p),
    Row("sqrt", "all positive", (logarithmic(),), np.sqrt),
    Row("rsqrt", "all positive", (logarithmic(),), lambda x: 1 / np.sqrt(x)),
    Row("reciprocal", "abs x < 2^126", (logarithmic(high=2.0**125.9, signed=True),), lambda x: 1 / x),
    Row("divf", "abs x > 2^-90", (logarithmic(2.0**-90, signed=True), logarithmic(signed=True)), np.divide),
    Row("divf", "all", (logarithmic(signed=True), logarithmic(signed=True)), np.divide),
    Row("tanh", "[-10, 10]", (uniform(-10, 10),), np.tanh),
    Row("tanh", "[-1, 1]", (uniform(-1, 1),), np.tanh),
    Row("logistic", "[-87, 87]", (uniform(-87, 87),), lambda x: 1 / (1 + np.exp(-x))),
    Row("logistic", "[-4, 4]", (uniform(-4, 4),), lambda x: 1 / (1 + np.exp(-x))),
    Row("erf", "[-5, 5]", (uniform(-5, 5),), ERF),
    Row("erf", "all", (logarithmic(signed=True),), ERF),
    Row("sin", "[-10, 10]", (uniform(-10, 10),), np.sin),
    Row("sin", "[-2^19, 2^19]", (uniform(-(2.0**19), 2.0**19),), np.sin),
    Row("cos", "[-10, 10]", (uniform(-10, 10),), np.cos),
    Row("cos", "[-2^19, 2^19]", (uniform(-(2.0**19), 2.0**19),), np.cos),
    Row("powf", "x in [0.01, 10], y in [-20, 20]", (uniform(0.01, 10), uniform(-20, 20)), np.power),
    Row("powf", "x positive, y in [-1.4, 1.4]", (logarithmic(), uniform(-1.4, 1.4)), np.power),
]

ALL_MANTISSAS = [
    ("sqrt", "[1, 4)", 2, np.sqrt),
    ("rsqrt", "[1, 4)", 2, lambda x: 1 / np.sqrt(x)),
    ("reciprocal", "[1, 2)", 1, lambda x: 1 / x),
    ("divf", "numerator 1.1, divisor in [1, 2)", 1, lambda x, y: x / y),
    ("divf", "numerator 1.9999999, divisor in [1, 2)", 1, lambda x, y: x / y),
]
"""What starts from rsqrt and depends on the mantissa alone: operation, arguments, powers of two, reference."""
CHUNK_LONGS = 128

FUNCTIONS = {
    "exp": exponential.exp,
    "log": elementary.log,
    "log1p": elementary.log1p,
    "sqrt": elementary.sqrt,
    "rsqrt": elementary.rsqrt,
    "reciprocal": elementary.reciprocal,
    "divf": elementary.divide,
    "tanh": elementary.tanh,
    "logistic": elementary.logistic,
    "erf": elementary.erf,
    "sin": elementary.sine,
    "cos": elementary.cosine,
    "powf": power.power,
}
SPECIAL = (0.0, math.inf, -math.inf, -1.0, 3e38, 1e-40)


def build(name: str, operands: int, longs: int) -> tuple[Program, list, Access]:
    """Program that applies an operation to `longs` long words per PE; its inputs and its output."""
    program, body = Program(), Body()
    inputs = [
        Access(program.buffer(f"x{i}", longs, LOCAL_MEMORY, pinned=True), np.arange(longs)) for i in range(operands)
    ]
    target = Access(program.buffer("y", longs, LOCAL_MEMORY, pinned=True), np.arange(longs))
    result = body.op(name, *[body.input() for _ in inputs])
    emit_vector(Builder(program), VectorKernel(longs, tuple(inputs), body, (Output(target, result),)))
    allocate(program)
    return program, inputs, target


def evaluate(name: str, arguments: tuple[NDArray[np.float32], ...]) -> NDArray[np.float32]:
    longs = len(arguments[0]) // 8192
    program, inputs, target = build(name, len(arguments), longs)
    machine = Machine("strict")
    for access, values in zip(inputs, arguments, strict=True):
        words = values.view(np.uint32).reshape(*PES, 2 * longs)
        machine.poke_words(Memory(access.buffer.memory), 2 * access.buffer.base, words)
    machine.run(schedule(program).statements)
    buffer = target.buffer
    words = machine.peek_words(Memory(buffer.memory), 2 * (buffer.base or 0), 2 * longs)
    return words.reshape(-1).view(np.float32)


def worst(row: Row) -> tuple[float, str]:
    """Greatest error in ulp and the arguments where it occurs; results outside the normal range do not count."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        expected = row.reference(*(a.astype(np.float64) for a in row.arguments))
    result = evaluate(row.name, row.arguments).astype(np.float64)
    ordinary = (np.abs(expected) >= 2 * SMALLEST) & (np.abs(expected) <= LARGEST)
    place = np.spacing(np.abs(np.where(ordinary, expected, 1.0)).astype(np.float32)).astype(np.float64)
    error = np.where(ordinary, np.abs(result - np.where(ordinary, expected, 0)) / place, 0)
    where = int(np.argmax(error))
    return float(error[where]), ", ".join(f"{float(a[where]):.9g}" for a in row.arguments)


def worst_of_all(name: str, arguments: str, powers: int, reference: Callable[..., NDArray[np.float64]]) -> float:
    """Greatest error in ulp over every mantissa of `powers` successive powers of two from 1."""
    first, error = np.float32(1).view(np.uint32), 0.0
    size = 8192 * CHUNK_LONGS
    for start in range(0, powers << 23, size):
        x = (first + np.arange(start, start + size, dtype=np.uint32)).view(np.float32)
        if name == "divf":
            numerator = np.float32(arguments.split()[1].rstrip(","))
            row = Row(name, "", (np.full_like(x, numerator), x), reference)
        else:
            row = Row(name, "", (x,), reference)
        error = max(error, worst(row)[0])
    return error


def cost(name: str, operands: int) -> tuple[int, int, float]:
    """MAU and ALU operations per four long words, and steps per four long words in steady state."""
    counts = []
    for longs in (96, 192):
        program, _, _ = build(name, operands, longs)
        mau = sum(op.opcode.startswith("fv") for op in program.operations)
        counts.append((mau, len(program.operations) - mau, schedule(program).steps))
    (mau, alu, steps), (mau2, alu2, steps2) = counts
    return (mau2 - mau) // 24, (alu2 - alu) // 24, (steps2 - steps) / 24


def render() -> str:
    lines = [
        "# Elementary functions: measured errors",
        "",
        "Generated by `scripts/measure_math.py`; do not edit. Worst error on the emulator over 196,608 samples per",
        "row, in units of the last place of the exact result (float64 reference). 0.5 is correct rounding.",
        "",
        "| operation | arguments | worst error (ulp) | at |",
        "| --- | --- | --- | --- |",
    ]
    for row in ROWS:
        error, where = worst(row)
        lines.append(f"| `{row.name}` | {row.range} | {error:.2f} | {where} |")
    lines += [
        "",
        "## All mantissas",
        "",
        "What starts from the machine's `rsqrt` (off by -2.6 to +3.1 %), over every single of the range.",
        "",
        "| operation | arguments | worst error (ulp) |",
        "| --- | --- | --- |",
    ]
    lines += [f"| `{row[0]}` | {row[1]} | {worst_of_all(*row):.4f} |" for row in ALL_MANTISSAS]
    lines += [
        "",
        "## Cost",
        "",
        "Per four long words in each PE (32,768 elements on the chip), in steady state.",
        "",
    ]
    lines += ["| operation | MAU operations | ALU operations | steps |", "| --- | --- | --- | --- |"]
    operands = {row.name: len(row.arguments) for row in ROWS}
    for name, count in operands.items():
        mau, alu, steps = cost(name, count)
        lines.append(f"| `{name}` | {mau} | {alu} | {steps:.1f} |")
    lines += [
        "",
        "## Values at the ends",
        "",
        "The machine has neither NaN nor subnormal numbers (1e-40 reads as zero).",
        "",
    ]
    lines += ["| operation | " + " | ".join(f"{x:g}" for x in SPECIAL) + " |", "| --- |" + " --- |" * len(SPECIAL)]
    for name, count in operands.items():
        if count == 1:
            values = evaluate(name, (np.resize(np.array(SPECIAL, np.float32), 8192),))[: len(SPECIAL)]
            lines.append(f"| `{name}` | " + " | ".join(f"{float(value):.7g}" for value in values) + " |")
    lines += ["", "## Contracts", ""]
    lines += [f"- `{name}`: {' '.join((function.__doc__ or '').split())}" for name, function in FUNCTIONS.items()]
    lines += ["", "## Polynomials", "", "Fitted when first used; coefficients are singles.", ""]
    lines += ["| core function | interval | degree |", "| --- | --- | --- |"]
    for entry in APPROXIMATIONS:
        lines.append(f"| {entry.name} | [{entry.low:.6g}, {entry.high:.6g}] | {len(entry.coefficients()) - 1} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main({TARGET: render()}, "scripts/measure_math.py"))
