"""Reproducer files: the input of a failing pipeline, with the pipeline, for ``mnc-opt --run-reproducer``.

The pipeline stands in the resource section that ``mlir-opt`` writes too, so either tool reads the files of the other.
"""

import contextlib
import hashlib
import re
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError, unescaped
from mnc.core.files import replace_file
from mnc.core.state_directory import state_directory

KEY = "mlir_reproducer"
IGNORED = f"ignoring unknown external resources for '{KEY}'"
"""What the native parser warns of in every file with that section, because it leaves the section to us."""

_PIPELINE = re.compile(r'\bpipeline\s*:\s*"((?:[^"\\]|\\.)*)"')
_VERIFY = re.compile(r"\bverify_each\s*:\s*(true|false)")


@dataclass(frozen=True)
class Reproducer:
    """What a reproducer file asks for."""

    pipeline: str
    verify_each: bool = True


def write_reproducer(
    module: ir.Operation | ir.OpView, pipeline: str, directory: Path | None = None, verify_each: bool = True
) -> Path | None:
    """Write ``mnc-reproducer-*.mlir`` into `directory` (default: `state_directory`), which is made, or the system's
    temporary directory if that fails.

    The first line is ``// mnc-opt --pass-pipeline='...' <file>``. Locations and constants are kept
    in full. The same failure has the same name. Returns the path, or None when nowhere could be written.
    """
    digest = hashlib.sha256(_text(module, pipeline, Path(), verify_each).encode()).hexdigest()[:12]
    for place in (directory or state_directory(), Path(tempfile.gettempdir())):
        path = place / f"mnc-reproducer-{digest}.mlir"
        with contextlib.suppress(OSError, CompileError):
            place.mkdir(parents=True, exist_ok=True)
            replace_file(path, _text(module, pipeline, path, verify_each))
            return path
    return None


def write_reproducer_file(
    module: ir.Operation | ir.OpView, pipeline: str, path: Path, verify_each: bool = True
) -> Path:
    """As `write_reproducer`, to the file `path`; raises CompileError if it cannot be written."""
    replace_file(path, _text(module, pipeline, path, verify_each))
    return path


def _text(module: ir.Operation | ir.OpView, pipeline: str, path: Path, verify_each: bool) -> str:
    body = module.operation.get_asm(enable_debug_info=True, assume_verified=True, print_generic_op_form=True).rstrip()
    escaped = pipeline.replace("\\", "\\\\").replace('"', "\\22")
    verify = "true" if verify_each else "false"
    section = (
        f'  external_resources: {{\n    {KEY}: {{\n      pipeline: "{escaped}",\n'
        f"      disable_threading: true,\n      verify_each: {verify}\n    }}\n  }}\n#-}}\n"
    )
    if body.endswith("#-}"):  # constants stand in the same section
        body = body.removesuffix("#-}").rstrip() + ",\n"
    else:
        body += "\n\n{-#\n"
    return f"// mnc-opt --pass-pipeline={shlex.quote(pipeline)} {shlex.quote(str(path))}\n{body}{section}"


def read_reproducer(text: str, file_name: str) -> Reproducer:
    """The pipeline in the resource section of a reproducer file; raises CompileError if there is none."""
    section = text.rpartition("{-#")[2].partition(KEY)[2] if "{-#" in text else ""
    pipeline = _PIPELINE.search(section)
    if pipeline is None:
        hint = "leave --run-reproducer out and give the passes, or take a file that a failing pass left"
        raise CompileError("the file holds no pipeline", location=file_name, hint=hint)
    verify = _VERIFY.search(section)
    return Reproducer(unescaped(pipeline[1]), verify is None or verify[1] == "true")
