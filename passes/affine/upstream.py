"""Running upstream passes inside our own."""

from mnc.core.bindings import ir, passmanager


def run_upstream(module: ir.Module, pipeline: str) -> None:
    """Run ``builtin.module(pipeline)`` on `module`."""
    passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
