"""Compile time of the digits demo from a cold start, and what perceptrons and their training steps cost on the chip."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import onnx

import mnc
from benchmarks.results import write_results
from mnc.digits import to_onnx
from mnc.report import report
from mnc.training.models import perceptron
from mnc.training.step import training_step

SHAPES = (([64, 32, 10], 360), ([784, 16, 10], 100), ([1024, 16, 16], 256))


def _figures(executable: Any) -> dict[str, float]:
    costs = report(executable)
    total = costs["total"]
    names = ("steps", "idle_steps", "cycles", "mv_transfers", "dram_long_words")
    ideal = {"ideal_cycles": costs["ideal"]["cycles"], "of_ideal": costs["of_ideal"]}
    return {name: total[name] for name in names} | ideal


def _cold_compile() -> float:
    """Seconds of `mnc compile` on the demo model in a fresh process."""
    import numpy as np

    rng = np.random.default_rng(0)
    layers = [(rng.standard_normal(s).astype(np.float32), np.zeros(s[1], np.float32)) for s in ((64, 32), (32, 10))]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "digits.onnx"
        onnx.save(to_onnx(layers, 360), path)
        command = [sys.executable, "-c", "from mnc.tools.mnc import main; main()", "compile", str(path)]
        start = time.perf_counter()
        subprocess.run([*command, "-o", f"{directory}/build"], check=True, capture_output=True)
        return time.perf_counter() - start


def main() -> None:
    """Measure and write benchmarks/results/perceptrons.json."""
    results: dict[str, Any] = {"cold compile of the demo, seconds": _cold_compile()}
    for widths, batch in SHAPES:
        name = f"{'-'.join(map(str, widths))} batch {batch}"
        step = training_step(perceptron(widths), batch=batch)
        start = time.perf_counter()
        executable = step.compile()
        seconds = time.perf_counter() - start
        results[f"training step {name}"] = {**_figures(executable), "compile_seconds": seconds}
        forward = mnc.compile(step.forward.proto, shapes=step.forward.shapes)
        results[f"inference {name}"] = _figures(forward)
    for name, value in results.items():
        print(name, value)
    print(write_results("perceptrons", results))


if __name__ == "__main__":
    main()
