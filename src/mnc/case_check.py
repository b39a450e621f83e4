"""Running a test case on a target and comparing it with what it expects."""

from dataclasses import dataclass

from mnc.case_folders import Case
from mnc.core.diagnostics import CompileError, InternalError
from mnc.mncore_backend.emulator.errors import EmulationError
from mnc.options import Options
from mnc.reference import Comparison, compare_with
from mnc.targets import prepare


@dataclass(frozen=True)
class CaseResult:
    """Comparisons of all outputs, or the reason why there are none."""

    name: str
    comparisons: tuple[Comparison, ...]
    failure: str = ""

    @property
    def passed(self) -> bool:
        """Everything ran and lies within its bound."""
        return not self.failure and all(comparison.passed for comparison in self.comparisons)

    @property
    def worst(self) -> Comparison | None:
        """The comparison that is furthest beyond its bound."""
        return max(self.comparisons, key=lambda c: (not c.passed, c.error - c.bound), default=None)


def check_case(case: Case, options: Options, target: str) -> CaseResult:
    """Compile, run and compare; what cannot be compiled or run is a result as well."""
    try:
        prepared = prepare(case.model, options, target)
        actual, _ = prepared.run({name: value for name, value in case.inputs.items() if name in prepared.inputs})
    except (CompileError, InternalError, EmulationError) as error:
        return CaseResult(case.name, (), _reason(error))
    try:
        rows = compare_with(case.model, case.outputs, actual, case.inputs, prepared.precision)
    except Exception as error:  # the reference raises whatever numpy and its operators raise
        return CaseResult(case.name, (), f"the ONNX reference cannot evaluate it: {_reason(error)}")
    return CaseResult(case.name, tuple(rows))


def _reason(error: Exception) -> str:
    message = getattr(error, "message", "") or str(error)
    prefix = "" if isinstance(error, CompileError) else f"{type(error).__name__}: "
    return prefix + message.split("\n")[0]
