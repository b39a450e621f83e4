"""mnc: ONNX models to MN-Core 2 assembly, proven on an emulator.

    import mnc
    program = mnc.compile("model.onnx", mnc.Options(precision="single"))
    outputs = program.run({"x": x})
"""

import importlib
from typing import Any

_PUBLIC = {
    "CompileError": "mnc.core.diagnostics",
    "Executable": "mnc.executable",
    "InternalError": "mnc.core.diagnostics",
    "Options": "mnc.options",
    "Pass": "mnc.core.pass_base",
    "Pipeline": "mnc.stages",
    "compile": "mnc.compiler",
    "default_pipeline": "mnc.stages",
    "import_model": "mnc.lowering.onnx_to_graph.importer",
    "load": "mnc.build_directory",
    "parse_pipeline": "mnc.registry",
    "save": "mnc.build_directory",
}

__all__ = list(_PUBLIC)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Resolve public names on first use, so that importing the package costs nothing."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'mnc' has no attribute '{name}'")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value
