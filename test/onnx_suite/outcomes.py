"""Running one case and putting what happened into one of four classes."""

import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from backend import PRECISION, MncBackend
from cases import Case
from tolerances import is_floating, judge

from mnc.accuracy.worst_case import error_bounds
from mnc.core.diagnostics import CompileError, InternalError
from mnc.core.sequences import tensors_of
from mnc.mncore_backend.emulator.errors import EmulationError

PASSED, REFUSED, WRONG, ERROR = "passed", "refused", "wrong", "error"


@dataclass(frozen=True)
class Outcome:
    """What became of a case. `reason` says why it did not pass; `steps` are machine steps of the last run."""

    name: str
    kind: str
    operator: str
    verdict: str
    reason: str = ""
    seconds: float = 0.0
    steps: int = 0


def _refusal(error: CompileError) -> str:
    return error.message


def _nan(value: np.ndarray) -> np.ndarray:
    return np.isnan(value.astype(np.float64))


def _without(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _compare(case: Case) -> tuple[str, str, int]:
    steps = 0
    for number in range(len(case.data_sets)):
        values = case.inputs(number)
        fixed = case.fixed(values)
        prepared = MncBackend.prepare(case.model, constants=fixed, shapes=case.shapes(_without(values, fixed)))
        takes = {tensor.name for tensor in prepared.executable.inputs}
        takes |= {entry.name for entry in prepared.executable.sequences if entry.role == "input"}
        results = prepared.run({name: value for name, value in values.items() if name in takes})
        steps = prepared.statistics.steps
        bounds = error_bounds(case.model, values, PRECISION, fixed)
        found = tensors_of(dict(zip(prepared.names, results, strict=True)))
        wants = tensors_of(dict(zip(prepared.names, case.outputs(number), strict=True)))
        if list(found) != list(wants):
            return WRONG, f"the outputs are {', '.join(found)} and should be {', '.join(wants)}", steps
        for (name, got), want, bound in zip(found.items(), wants.values(), bounds, strict=True):
            wanted = np.asarray(want)
            if is_floating(wanted.dtype) and (_nan(wanted) & ~_nan(np.asarray(got))).any():
                raise CompileError(f"output '{name}' is expected to hold NaN, which the machine does not have")
            verdict = judge(got, wanted, bound)
            if not verdict.passed:
                return WRONG, f"output '{name}': {verdict.text}", steps
    return PASSED, "", steps


def run_case(case: Case) -> Outcome:
    """Compile, run and compare one case."""
    start = time.perf_counter()
    steps = 0
    try:
        verdict, reason, steps = _compare(case)
    except EmulationError as error:
        verdict, reason = WRONG, f"the emulator stopped the program: {error.message}"
    except CompileError as error:
        verdict, reason = REFUSED, _refusal(error)
    except InternalError as error:
        verdict, reason = ERROR, f"internal error: {error.message}"
    except Exception as error:  # whatever else escapes is a mistake of the compiler
        place = traceback.extract_tb(error.__traceback__)[-1]
        verdict, reason = ERROR, f"{type(error).__name__}: {error} ({place.filename.rpartition('/')[2]}:{place.lineno})"
    seconds = round(time.perf_counter() - start, 2)
    return Outcome(case.name, case.kind, case.operator, verdict, reason.strip().split("\n")[0], seconds, steps)
