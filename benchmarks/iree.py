"""Compile time of IREE for the CPU, from the same file, where its tools are in the PATH.

pip install iree-base-compiler onnx      # in an environment of its own, whose bin goes to the PATH
python -m benchmarks.models NAME --iree
"""

import resource
import shutil
import subprocess
import tempfile
import time
from typing import Any

import onnx

OPSET = 17
"""Version that its importer converts models to: some operators of older ones, such as MaxPool 8, it cannot lower."""
IMPORT = ("iree-import-onnx", "model.onnx", "--opset-version", str(OPSET), "-o", "model.mlir")
COMPILE = (
    "iree-compile", "--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "model.mlir",
    "-o", "model.vmfb",
)  # fmt: skip


def is_installed() -> bool:
    """Whether both tools are in the PATH."""
    return all(shutil.which(command[0]) for command in (IMPORT, COMPILE))


def _children() -> tuple[float, float]:
    """Seconds of the processor and peak megabytes of all processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def compile_with_iree(model: onnx.ModelProto) -> dict[str, Any]:
    """Figures of importing and compiling a model, or why it failed. Memory is that of the largest process so far."""
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/model.onnx")
        start, cpu = time.perf_counter(), _children()[0]
        for command in (IMPORT, COMPILE):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or ["no message"]
                return {"iree_failed": lines[0][:200]}
        seconds, (total, megabytes) = time.perf_counter() - start, _children()
        return {
            "iree_compile_seconds": seconds,
            "iree_compile_cpu_seconds": total - cpu,
            "iree_compile_peak_megabytes": megabytes,
        }
