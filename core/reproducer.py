"""Reproducer files: the input of a failing pipeline under the command that fails again."""

import os
import shlex
import tempfile
from pathlib import Path

from mnc.core.bindings import ir


def write_reproducer(module: ir.Operation | ir.OpView, pipeline: str, directory: Path) -> Path | None:
    """Write ``mnc-reproducer-*.mlir`` into `directory`, or the system's temporary directory if that fails.

    The first line is ``// mnc-opt --pass-pipeline='...' <file>``. Locations and constants are kept
    in full. Returns the path, or None when nowhere could be written.
    """
    text = module.operation.get_asm(enable_debug_info=True, assume_verified=True, print_generic_op_form=True)
    for place in (directory, Path(tempfile.gettempdir())):
        try:
            handle, name = tempfile.mkstemp(prefix="mnc-reproducer-", suffix=".mlir", dir=place)
        except OSError:
            continue
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"// mnc-opt --pass-pipeline={shlex.quote(pipeline)} {shlex.quote(name)}\n{text}\n")
        return Path(name)
    return None
