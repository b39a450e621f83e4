"""One compilation with given decisions, measured exactly: what processes and farms are asked to do."""

from dataclasses import dataclass, replace
from typing import Any

from mnc.options import Options

Space = dict[tuple[str, str], tuple[str, ...]]
"""(decision, node) -> candidates, the one that was taken first."""


@dataclass(frozen=True)
class Trial:
    """What came of it: cycles and steps, the preferences about layouts, and what else could have been decided; or why
    there is no program."""

    cycles: int = 0
    steps: int = 0
    preferences: tuple[str, ...] = ()
    space: Space | None = None
    error: str = ""

    @property
    def length(self) -> tuple[float, float]:
        """Less is better; infinite without a program."""
        return (float("inf"), float("inf")) if self.error else (self.cycles, self.steps)


def run_trial(model: Any, options: Options) -> Trial:
    """Compile and count. `model` is a path, or an ONNX model as bytes. Errors of the compiler are results: a search
    goes on without what cannot be compiled."""
    import onnx

    from mnc.compiler import compile
    from mnc.core.decisions import fixing
    from mnc.core.diagnostics import CompileError, InternalError
    from mnc.mncore_backend.assembly import parse_program
    from mnc.mncore_backend.codegen.report.cost import cost_of

    source = onnx.load_from_string(model) if isinstance(model, bytes) else model
    try:
        with fixing({}) as choices:
            program = compile(source, replace(options, dump_dir=None))
    except (CompileError, InternalError) as error:
        return Trial(error=str(error).partition("\n")[0])
    cost = cost_of(parse_program(program.text))
    if options.prefer is None:  # asked in several compilations, of which the shortest was kept
        return Trial(cost.cycles, cost.steps, program.preferences)
    space = {
        key: (asked.chosen, *(other for other in asked.candidates if other != asked.chosen))
        for key, asked in choices.asked.items()
    }
    return Trial(cost.cycles, cost.steps, program.preferences, space)
