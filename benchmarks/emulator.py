"""Speed of the emulator: a mixed program and every instruction kind by itself, strict mode, counters on.

    python benchmarks/emulator.py [--steps N] [--threads N] [--json]

The mix: 30 % gmfma, 20 % fvfma, 15 % iadd, 15 % l1bmd, 10 % lpassa, 5 % gmwrite, 5 % l1bmr, at random addresses.
"fresh" executes every statement for the first time (parsing and static checks are shown apart), "again" repeats the
program with decoded statements. The last two columns are CPU time, all threads: the first execution with parsing and
checks, and a repetition. They do not change when other programs run beside.
"""

import argparse
import json
import random
import resource
import time

import numpy as np

from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine

MIX = {"gmfma": 30, "fvfma": 20, "iadd": 15, "l1bmd": 15, "lpassa": 10, "gmwrite": 5, "l1bmr": 5}
KINDS = (*MIX, "fvadd", "gbfn", "gmread", "hmfma", "l1bmm", "l1bmm@", "masked", "dvfmau")


def line_of(kind: str, rng: random.Random) -> str:
    """One statement of a kind: reads LM0 and GRF0, writes LM1, GRF1 and L1BM, so that nothing has to wait."""
    low, high = 8 * rng.randrange(500), 8 * rng.randrange(30)
    out = 8 * rng.randrange(60)
    return {
        "gmfma": f"gmfma $lx $lr{high}v $lm{low}v $ls{out}v",
        "fvfma": f"fvfma $lm{low}v $lr{high}v $lm{low}v $ls{out}v",
        "fvadd": f"fvadd $lm{low}v $lr{high}v $ls{out}v",
        "iadd": f"iadd $lm{low}v $lr{high}v $ln{low}v",
        "l1bmd": f"l1bmd $lb{256 * rng.randrange(16)} $ln{low}v",
        "lpassa": f"lpassa $lm{low}v $ls{out}v",
        "gmwrite": f"gmwrite $lr{high}v $lx{4 * rng.randrange(2)}",
        "l1bmr": f"l1bmrffadd $lm{low}v $lb{4096 + 16 * rng.randrange(200)}",
        "gbfn": f"gbfn $lm{low}v $ls{out}v",
        "gmread": f"gmread $lx0 $ls{out}v",
        "hmfma": f"hmfma $ly $lr{256 + high}v $llm{low}v $ls{out}v",
        "l1bmm": f"l1bmm $lb{16 * rng.randrange(100)} $ln{low}v",
        "l1bmm@": f"l1bmm@3 $lm{low}v $lb{4096 + 16 * rng.randrange(200)}",
        "masked": f"iadd $lm{low}v $lr{high}v $ls{out}v/$imr1",
        "dvfmau": f"dvfmau $lm{low}v $lr{high}v $lm{low}v $ls{out}v",
    }[kind]


def mixed_program(steps: int, seed: int = 1) -> str:
    """The mix; a step of L1BM -> PE keeps its distance from the last transfer to L1BM (SDM 3.6.8.2)."""
    rng = random.Random(seed)
    kinds, weights = list(MIX), list(MIX.values())
    lines, since_up = [], 9
    for _ in range(steps):
        kind = rng.choices(kinds, weights)[0]
        if kind == "l1bmd" and since_up < 3:
            kind = "iadd"
        since_up = 0 if kind == "l1bmr" else since_up + 1
        lines.append(line_of(kind, rng))
    return "\n".join(lines)


def prepared_machine(threads: int | None) -> Machine:
    """A machine with data in every memory the programs read; block-float vectors in GRF0."""
    machine = Machine("strict", threads=threads)
    rng = np.random.default_rng(0)
    singles = rng.standard_normal((8, 8, 16, 4, 4096)).astype(np.float32)
    machine.poke_words(Memory.LM0, 0, singles.view(np.uint32))
    machine.poke_words(Memory.LM1, 0, singles[..., ::-1].copy().view(np.uint32))
    machine.poke_words(Memory.GRF1, 0, singles[..., :512].copy().view(np.uint32))
    mantissas = rng.integers(0, 1 << 18, (8, 8, 16, 4, 512), dtype=np.uint32) << np.uint32(5)
    halves = (mantissas & np.uint32(0x01FF01FF)) | np.uint32(0x3E003E00)
    machine.poke_words(Memory.GRF0, 0, mantissas | np.uint32(0x3F800000))
    machine.poke_words(Memory.GRF0, 256, halves[..., 256:])
    machine.poke(Memory.L1BM, 0, rng.integers(0, 1 << 62, (8, 8, 8192), dtype=np.uint64))
    machine.run("gmwrite $lr0v $lx0\ngmwrite $lr8v $lx4\nhmwrite $llr256v $lly0\nhmwrite $llr272v $lly8")
    machine.run("ipassa $lr0v $omr1\nnop/4")
    return machine


def measure(machine: Machine, text: str, repeats: int) -> dict[str, float]:
    """Seconds for parsing, the first run and the best later run of a program, and CPU seconds."""
    start, cpu = time.perf_counter(), time.process_time()
    statements = parse_program(text)
    parsed = time.perf_counter()
    machine.load(statements)
    loaded = time.perf_counter()
    machine.run()
    fresh, first_cpu = time.perf_counter() - loaded, time.process_time() - cpu
    again, again_cpu = [], []
    for _ in range(repeats):
        machine.load(statements)
        begin, cpu = time.perf_counter(), time.process_time()
        machine.run()
        again.append(time.perf_counter() - begin)
        again_cpu.append(time.process_time() - cpu)
    elapsed = {"parse": parsed - start, "check": loaded - parsed, "fresh": fresh, "again": min(again)}
    return elapsed | {"cpu_first": first_cpu, "cpu_again": min(again_cpu)}


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    machine = prepared_machine(arguments.threads)
    rng = random.Random(2)
    results = {}
    for kind in KINDS:
        text = "\n".join(line_of(kind, rng) for _ in range(1000))
        results[kind] = (1000, measure(machine, text, 4))
    results["mixed"] = (arguments.steps, measure(machine, mixed_program(arguments.steps), 5))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if arguments.json:
        print(
            json.dumps({"results": {k: {"steps": n, **m} for k, (n, m) in results.items()}, "peak_mib": peak}, indent=1)
        )
        return
    names = ("parse", "check", "fresh", "again", "cpu_first", "cpu_again")
    print(f"{'program':10} {' '.join(f'{name:>9}' for name in names)}  us per step   steps/s fresh, again")
    for kind, (steps, seconds) in results.items():
        columns = " ".join(f"{1e6 * seconds[name] / steps:9.1f}" for name in names)
        print(f"{kind:10} {columns} {' ' * 14} {steps / seconds['fresh']:9.0f} {steps / seconds['again']:9.0f}")
    print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
