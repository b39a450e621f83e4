"""Whole networks: compile time, peak memory, cost on the chip, and agreement with the ONNX reference evaluator.

    python -m benchmarks.models [NAME ...] [--run NAME] [--seconds N] [--memory N]

The light models of the `onnx` package get seeded He-scaled random weights, and each has a process of its own. Without
names all are compiled; `--run` executes a model on the emulator too. Results go to benchmarks/results/models.json; two
of them are compared with `python -m benchmarks.compare OLD NEW`.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import mnc
from benchmarks.results import write_results
from mnc.core.diagnostics import CompileError
from mnc.report import report

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
NAMES = tuple(path.stem.removeprefix("light_") for path in sorted(LIGHT.glob("light_*.onnx")))


def _weight(rng: np.random.Generator, operator: str, operand: int, shape: list[int]) -> np.ndarray:
    """Random values for one operand: kernels after He, scales and variances near 1, shifts near 0."""
    noise = rng.standard_normal(shape)
    if operator in ("Conv", "Gemm") and operand == 1:
        return noise * np.sqrt(2 / np.prod(shape[1:]))
    near_one = operator in ("Unsqueeze", "Mul") or (operator == "BatchNormalization" and operand in (1, 4))
    return np.abs(1 + 0.1 * noise) if near_one else 0.1 * noise


def light_model(name: str, seed: int = 0) -> onnx.ModelProto:
    """A light model with random weights in place of its constants."""
    model = onnx.load(LIGHT / f"light_{name}.onnx")
    rng = np.random.default_rng(seed)
    graph = model.graph
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    users = {value: (node.op_type, i) for node in reversed(nodes) for i, value in enumerate(node.input)}
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.output[0] in users:
            value = _weight(rng, *users[node.output[0]], [int(n) for n in shapes[node.input[0]]])
            graph.initializer.append(numpy_helper.from_array(value.astype(np.float32), node.output[0]))
    for node in nodes:  # the default axis changed between operator sets; the reference knows the new one only
        if node.op_type == "Softmax" and not node.attribute:
            node.attribute.append(onnx.helper.make_attribute("axis", 1))
    used = {value for node in nodes for value in node.input}
    initializers = [tensor for tensor in graph.initializer if tensor.name in used]
    inputs = [e for e in graph.input if e.name in used and e.name not in {t.name for t in initializers}]
    for field, kept in ((graph.node, nodes), (graph.initializer, initializers), (graph.input, inputs)):
        del field[:]
        field.extend(kept)
    model.ir_version = 8  # weights need not be inputs
    return model


def _agreement(model: onnx.ModelProto, executable: Any) -> dict[str, float]:
    entry = model.graph.input[0]
    shape = [d.dim_value for d in entry.type.tensor_type.shape.dim]
    inputs = {entry.name: np.random.default_rng(3).standard_normal(shape).astype(np.float32)}
    start = time.perf_counter()
    result = next(iter(executable.run(inputs).values())).reshape(-1)
    seconds = time.perf_counter() - start
    want = np.asarray(ReferenceEvaluator(model).run(None, inputs)[0]).reshape(-1)
    error = float(np.abs(result - want).max())
    top = float(result.argmax() == want.argmax())
    return {"run_seconds": seconds, "error": error, "largest": float(np.abs(want).max()), "top_1_agrees": top}


def measure(name: str, execute: bool) -> dict[str, float]:
    """Figures of one model, in this process."""
    model = light_model(name)
    start = time.perf_counter(), time.process_time()
    executable = mnc.compile(model)
    figures = {
        "compile_seconds": time.perf_counter() - start[0],
        "compile_cpu_seconds": time.process_time() - start[1],
        "compile_peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "text_megabytes": len(executable.text) / 1e6,
    }
    total = report(executable)["total"]
    names = ("steps", "idle_steps", "cycles", "mv_transfers", "dram_bytes")
    figures |= {key: total[key] for key in names}
    figures["utilisation"] = total["roofline"]["utilisation"]
    return figures | (_agreement(model, executable) if execute else {})


def _in_process(name: str, execute: bool, seconds: int, memory: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.models", "--single", name, *(["--run", name] if execute else [])]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory << 30, memory << 30))

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {seconds} seconds"}
    lines = done.stdout.strip().splitlines() or [done.stderr.strip().rpartition("\n")[2]]
    return json.loads(lines[-1]) if lines[-1].startswith("{") else {"failed": lines[-1]}


@click.command()
@click.argument("names", nargs=-1)
@click.option("--run", "executed", multiple=True, default=("squeezenet", "shufflenet"), show_default=True)
@click.option("--seconds", default=600, show_default=True, help="Time limit of one model.")
@click.option("--memory", default=8, show_default=True, help="Address space of one model in GB.")
@click.option("--single", hidden=True, help="Measure one model in this process.")
def main(names: tuple[str, ...], executed: tuple[str, ...], seconds: int, memory: int, single: str | None) -> None:
    """Measure the models and write benchmarks/results/models.json."""
    if single is not None:
        try:
            figures: dict[str, Any] = dict(measure(single, single in executed))
        except CompileError as error:
            figures = {"failed": str(error).partition("\n")[0]}
        print(json.dumps(figures))
        return
    results = {}
    for name in names or NAMES:
        results[name] = _in_process(name, name in executed, seconds, memory)
        print(name, results[name], flush=True)
    print(write_results("models", results))


if __name__ == "__main__":
    main()
