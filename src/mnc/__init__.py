"""mnc: ONNX models to MN-Core 2 assembly, proven on an emulator.

    import mnc
    program = mnc.compile("model.onnx", {"precision": "single"})
    outputs = program.run({"x": x})
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnc import torch as torch
    from mnc.build_directory import load as load
    from mnc.build_directory import save as save
    from mnc.cached_compilation import compile as compile
    from mnc.core.diagnostics import CompileError as CompileError
    from mnc.core.diagnostics import InternalError as InternalError
    from mnc.core.pass_base import Pass as Pass
    from mnc.executable import Executable as Executable
    from mnc.lowering.onnx_to_graph.importer import import_model as import_model
    from mnc.mncore_backend.emulator.errors import EmulationError as EmulationError
    from mnc.options import Options as Options
    from mnc.program_report import Report as Report
    from mnc.registry import parse_pipeline as parse_pipeline
    from mnc.registry import register_pass as register_pass
    from mnc.stages import Pipeline as Pipeline
    from mnc.stages import default_pipeline as default_pipeline

    __version__: str

_PUBLIC = {
    "CompileError": "mnc.core.diagnostics",
    "EmulationError": "mnc.mncore_backend.emulator.errors",
    "Executable": "mnc.executable",
    "InternalError": "mnc.core.diagnostics",
    "Options": "mnc.options",
    "Pass": "mnc.core.pass_base",
    "Pipeline": "mnc.stages",
    "Report": "mnc.program_report",
    "compile": "mnc.cached_compilation",
    "default_pipeline": "mnc.stages",
    "import_model": "mnc.lowering.onnx_to_graph.importer",
    "load": "mnc.build_directory",
    "parse_pipeline": "mnc.registry",
    "register_pass": "mnc.registry",
    "save": "mnc.build_directory",
}
_MODULES = ("torch",)

__all__ = [
    "CompileError",
    "EmulationError",
    "Executable",
    "InternalError",
    "Options",
    "Pass",
    "Pipeline",
    "Report",
    "__version__",
    "compile",
    "default_pipeline",
    "import_model",
    "load",
    "parse_pipeline",
    "register_pass",
    "save",
    "torch",
]


def __dir__() -> list[str]:
    """Everything that `__getattr__` resolves, too."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


if not TYPE_CHECKING:  # type checkers would take every name for a public one

    def __getattr__(name: str) -> Any:
        """Resolve public names on first use, so that importing the package costs nothing."""
        if name in _MODULES:
            return importlib.import_module(f"mnc.{name}")
        if name == "__version__":
            value: Any = importlib.import_module("mnc.version").version_of("mnc") or "unknown"
        elif name in _PUBLIC:
            value = getattr(importlib.import_module(_PUBLIC[name]), name)
        else:
            raise AttributeError(f"module 'mnc' has no attribute '{name}'")
        globals()[name] = value
        return value
