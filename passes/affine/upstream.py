"""Running upstream passes inside our own."""

from mnc.core.bindings import ir, passmanager
from mnc.core.diagnostics import CompileError


def run_upstream(module: ir.Module, pipeline: str) -> None:
    """Run ``builtin.module(pipeline)`` on `module`. Raises CompileError for numbers that its options do not hold."""
    try:
        manager = passmanager.PassManager.parse(f"builtin.module({pipeline})")
    except ValueError:
        hint = "numbers in options of MLIR have 32 bits"
        raise CompileError(f"MLIR does not read the pass '{pipeline}'", hint=hint) from None
    manager.run(module.operation)
