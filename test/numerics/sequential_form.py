"""Programs that are run are compared once with their sequential form: what they leave in their outputs must be the same
bits, whatever the scheduler packed, forwarded and hid."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import mnc
from mnc.core.sequences import given_tensors, tensors_of
from mnc.mncore_backend.codegen import schedule
from mnc.mncore_backend.codegen.scheduling import scheduled_lines, sequential
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.program import Program
from mnc.mncore_backend.target import named, use

MOST = 20_000
"""Operations of a program that is compared. Its sequential form takes a step for each, with idle steps between: a
second on the emulator. Larger ones are made of the same kernels by the same scheduler."""


class SchedulingFault(AssertionError):
    """A program and its sequential form gave different outputs."""


@dataclass
class Comparisons:
    """Programs by their texts, until they are run, and how many were compared and left out."""

    waiting: dict[str, Program] = field(default_factory=dict)
    compared: int = 0
    left_out: int = 0

    def compare(self, program: mnc.Executable, inputs: Any, outputs: dict[str, Any]) -> None:
        """Run the sequential form of a program, where it is known, and compare. Raises SchedulingFault."""
        known = [self.waiting.get(part.text) for part in program.parts]
        self.waiting.clear()
        if not all(known):
            self.left_out += 1
            return
        machine, found = Machine(target=named(program.machine)), {}
        for part, operations in zip(program.parts, known, strict=True):
            assert operations is not None
            with use(machine.target):
                statements = sequential(operations).statements
            found |= part.run_on(machine, statements, given_tensors(inputs, program.sequences))
        self.compared += 1
        for name, value in tensors_of(outputs).items():
            if value.tobytes() != found[name].tobytes():
                raise SchedulingFault(f"output {name} of the schedule differs from that of the sequential form")


@contextlib.contextmanager
def comparing() -> Iterator[Comparisons]:
    """Within, `Executable.run` compares what was compiled within."""
    comparisons = Comparisons()
    run, unchanged = mnc.Executable.run_with_statistics, schedule.scheduled_lines

    def noted(program: Program, *arguments: Any, **named: Any) -> Any:
        lines = scheduled_lines(program, *arguments, **named)
        if len(program.operations) <= MOST:
            comparisons.waiting["".join(f"{text}\n" for text in lines.texts)] = program
        return lines

    def compared(self: mnc.Executable, inputs: Any, **options: Any) -> Any:
        result = run(self, inputs, **options)
        comparisons.compare(self, inputs, result.outputs)
        return result

    schedule.scheduled_lines = noted
    mnc.Executable.run_with_statistics = compared
    try:
        yield comparisons
    finally:
        schedule.scheduled_lines = unchanged
        mnc.Executable.run_with_statistics = run
