"""The IR after each stage, in files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnc.core.diagnostics import CompileError
from mnc.core.files import replace_file
from mnc.core.instrumentation import Instrumentation
from mnc.core.modules import name_of
from mnc.core.nesting_pass import NestingPass
from mnc.mncore_backend.layers.compile_layers import CompileLayers
from mnc.options import Options
from mnc.stages import STAGES, repeated, stage_pipeline


def dump(module: Any, directory: Path, number: int, stage: str) -> None:
    """Write the IR after a stage, constants elided; raises CompileError."""
    text = module.operation.get_asm(large_elements_limit=16, large_resource_limit=16)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot write {directory}: {error.strerror}"
        raise CompileError(message, location=str(directory), hint="choose another directory with --dump-dir") from None
    replace_file(directory / f"{number}-{stage}.mlir", text, "choose another directory with --dump-dir")


class StageDumps(Instrumentation):
    """Writes the IR behind the last pass of each stage; of a model of equal layers that of each part, which has a name,
    where the parts are compiled one by one."""

    def __init__(self, directory: Path, options: Options) -> None:
        self._directory = directory
        self._options = options
        self._ends = {"": self._ends_of(list(STAGES))}

    def _ends_of(self, stages: list[str]) -> Iterator[list[str]]:
        """For one pass after the other the stages that end with it."""
        ends: list[list[str]] = []
        for stage in stages:
            ends += [[] for _ in stage_pipeline(stage, self._options).entries]
            ends[-1].append(stage)  # a stage may be empty
        return iter(ends)

    def after(self, entry: Any, module: Any) -> None:
        if entry.name == CompileLayers.name:
            names = list(STAGES)
            self._ends[""] = self._ends_of(names[names.index(repeated()[-1]) + 1 :])
        if isinstance(entry, NestingPass):
            return  # its passes are counted
        part = name_of(module)
        ends = self._ends.setdefault(part, self._ends_of(repeated()))
        for stage in next(ends):
            dump(module, self._directory, list(STAGES).index(stage) + 1, f"{stage}-{part}" if part else stage)
