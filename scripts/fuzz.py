"""Feeds the parser files and the emulator programs for a given time: python scripts/fuzz.py --seconds 600 --seed 1.

Four properties take turns (`test/unit/emulator/fuzz_properties.py`): any file gets an answer, any program and any legal
program stays within its memories, strict and vendor mode agree on hazard-free programs. A failure is shrunk, printed
and ends the run with exit code 1. The program at work stands in build/fuzz/current.txt, so that a crash of the process
leaves its cause behind; an input that takes longer than --limit seconds ends the process with all stacks.
"""

import argparse
import faulthandler
import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "test" / "unit"), str(ROOT / "src")]

from assembly.strategies import ALL_HEALTH_CHECKS  # noqa: E402  # pyright: ignore[reportMissingImports]
from emulator.fuzz_properties import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    ANY_PROGRAMS,
    HOSTILE,
    LEGAL_PROGRAMS,
    SEEDS,
    hazard_free,
    legal_program_runs,
    modes_agree,
    program_stays_in_bounds,
    text_is_answered,
)
from emulator.fuzzing import program_text  # noqa: E402  # pyright: ignore[reportMissingImports]
from hypothesis import given, seed, settings  # noqa: E402

from mnc.mncore_backend.assembly.records import Statement  # noqa: E402

CURRENT = ROOT / "build" / "fuzz" / "current.txt"
EXAMPLES_PER_ROUND = 150


class Fuzzer:
    """Counts examples and statements per property."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.examples: Counter[str] = Counter()
        self.statements = 0
        self.slowest = 0.0
        CURRENT.parent.mkdir(parents=True, exist_ok=True)

    def example(self, name: str, shown: bytes, act: Callable[[], object]) -> None:
        """One example under the time limit."""
        CURRENT.write_bytes(shown)
        self.examples[name] += 1
        faulthandler.dump_traceback_later(self.limit, exit=True)
        start = time.perf_counter()
        try:
            if act() is True:
                self.examples[f"{name}, accepted"] += 1
        finally:
            faulthandler.cancel_dump_traceback_later()
            self.slowest = max(self.slowest, time.perf_counter() - start)

    def program(self, name: str, statements: list[Statement], act: Callable[[], object]) -> None:
        """One example that is a program."""
        self.statements += len(statements)
        self.example(name, program_text(statements).encode(), act)

    def files(self, data: bytes) -> None:
        self.example("files", data, lambda: text_is_answered(data))

    def any_program(self, statements: list[Statement], number: int) -> None:
        act = lambda: program_stays_in_bounds(("vendor", "strict")[number >> 7], statements, number)  # noqa: E731
        self.program("any programs", statements, act)

    def legal_program(self, statements: list[Statement], number: int) -> None:
        self.program("legal programs", statements, lambda: legal_program_runs(statements, number))

    def modes(self, statements: list[Statement], number: int) -> None:
        apart = hazard_free(statements)
        self.program("strict against vendor", apart, lambda: modes_agree(apart, number))

    def round(self, number: int) -> None:
        """A round of every property."""
        rounds = (
            (self.files, (HOSTILE,)),
            (self.any_program, (ANY_PROGRAMS, SEEDS)),
            (self.legal_program, (LEGAL_PROGRAMS, SEEDS)),
            (self.modes, (LEGAL_PROGRAMS, SEEDS)),
        )
        for act, strategies in rounds:
            # Hypothesis calls a plain function; bound methods carry their own argument.
            names = [f"value{i}" for i in range(len(strategies))]
            run = given(**dict(zip(names, strategies, strict=True)))(_plain(act, len(strategies)))
            run = settings(
                max_examples=EXAMPLES_PER_ROUND,
                deadline=None,
                database=None,
                suppress_health_check=ALL_HEALTH_CHECKS,
                print_blob=False,
            )(run)
            seed(number)(run)()


def _plain(act: Callable[..., None], count: int) -> Callable[..., None]:
    if count == 1:
        return lambda value0: act(value0)
    return lambda value0, value1: act(value0, value1)


def main() -> int:
    """Run rounds until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=60, help="seconds one input may take")
    arguments = parser.parse_args()
    faulthandler.enable()
    fuzzer = Fuzzer(arguments.limit)
    start, findings, number = time.monotonic(), 0, arguments.seed * 1_000_000
    while time.monotonic() - start < arguments.seconds and not findings:
        try:
            fuzzer.round(number)
        except Exception:  # every kind of failure is what this looks for
            traceback.print_exc()
            print(f"--- input in {CURRENT}, round {number}", file=sys.stderr)
            findings += 1
        number += 1
    outcome = {
        "seed": arguments.seed,
        "seconds": round(time.monotonic() - start),
        "examples": dict(fuzzer.examples),
        "statements": fuzzer.statements,
        "slowest_example_seconds": round(fuzzer.slowest, 2),
        "findings": findings,
    }
    print(json.dumps(outcome, indent=1))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
