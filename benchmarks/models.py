"""Whole networks: compile time, peak memory, cost on the chip, and agreement with the ONNX reference evaluator.

    python -m benchmarks.models [NAME ...] [--run NAME] [--iree] [--seconds N] [--memory N]

CPU seconds are those of all processes. `compile_copy_peak_megabytes` is the peak of the copies that the compiler makes
of its process (`mnc.core.both`); most of it is memory that the original shares with them and counts as well.

Results are those of ONNX Runtime where it is installed; `--iree` adds what IREE takes for the same model on the CPU
(`benchmarks/iree.py`).

The light models of the `onnx` package get seeded He-scaled random weights, ResNet-18 for images of 64 x 64 is built
here, and each model has a process of its own. Without names all are compiled; `--run` executes a model on the emulator
too. Results go to benchmarks/results/models.json; two of them are compared with `python -m benchmarks.compare OLD NEW`.
"""

import importlib
import importlib.util
import json
import os
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

import mnc
from benchmarks.iree import compile_with_iree, is_installed
from benchmarks.resnet import resnet18
from benchmarks.results import DIRECTORY, cpu_seconds, write_results
from mnc.accuracy import probable, worst_case
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.options import Options
from mnc.report import report

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
BUILDERS = {"resnet18": resnet18}
NAMES = (*(path.stem.removeprefix("light_") for path in sorted(LIGHT.glob("light_*.onnx"))), *BUILDERS)


def _weight(rng: np.random.Generator, operator: str, operand: int, shape: list[int]) -> np.ndarray:
    """Random values for one operand: kernels after He, scales and variances near 1, shifts near 0."""
    noise = rng.standard_normal(shape, np.float32)
    if operator in ("Conv", "Gemm") and operand == 1:
        noise *= np.float32(np.sqrt(2 / np.prod(shape[1:])))
        return noise
    near_one = operator in ("Unsqueeze", "Mul") or (operator == "BatchNormalization" and operand in (1, 4))
    return np.abs(1 + np.float32(0.1) * noise) if near_one else np.float32(0.1) * noise


def _add_initializer(graph: onnx.GraphProto, name: str, value: np.ndarray) -> None:
    """One more weight, written where it stays."""
    tensor = graph.initializer.add(name=name, data_type=onnx.TensorProto.FLOAT, dims=value.shape)
    tensor.raw_data = value.tobytes()


def light_model(name: str, seed: int = 0) -> onnx.ModelProto:
    """A light model with random weights in place of its constants."""
    model = onnx.load(LIGHT / f"light_{name}.onnx")
    rng = np.random.default_rng(seed)
    graph = model.graph
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made = {node.output[0]: shapes[node.input[0]] for node in graph.node if node.op_type == "ConstantOfShape"}
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    users = {value: (node.op_type, i) for node in reversed(nodes) for i, value in enumerate(node.input)}
    for value in made:
        if value in users:
            _add_initializer(graph, value, _weight(rng, *users[value], [int(n) for n in made[value]]))
    for i in reversed(range(len(graph.node))):  # in place: weights may be half a gigabyte
        if graph.node[i].op_type == "ConstantOfShape":
            del graph.node[i]
    for field in (graph.initializer, graph.input):
        for i in reversed(range(len(field))):
            if field[i].name not in users:
                del field[i]
    initialized = {tensor.name for tensor in graph.initializer}
    for i in reversed(range(len(graph.input))):
        if graph.input[i].name in initialized:
            del graph.input[i]
    model.ir_version = 8  # weights need not be inputs
    if graph.node[-1].op_type == "Softmax":  # random weights may leave one class certain: the logits tell more
        logits = onnx.ValueInfoProto()
        logits.CopyFrom(graph.output[0])
        logits.name = graph.node[-1].input[0]
        graph.output.append(logits)
    return model


def build(name: str) -> onnx.ModelProto:
    """A model by its name among `NAMES`."""
    return BUILDERS[name]() if name in BUILDERS else light_model(name)


def expected(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs of ONNX Runtime where it is installed, else of the reference evaluator."""
    names = [value.name for value in model.graph.output]
    if importlib.util.find_spec("onnxruntime") is None:
        results: Any = evaluator(model).run(names, inputs)
    else:
        runtime = importlib.import_module("onnxruntime")
        results = runtime.InferenceSession(model.SerializeToString()).run(names, inputs)
    return dict(zip(names, map(np.asarray, results), strict=True))


def _bounds(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, float]:
    """What rounding explains of the error of the logits: with the stated probability, and in the worst case."""
    precision = Options().precision
    *_, likely = probable.error_bounds(model, inputs, precision).values()
    *_, worst = worst_case.error_bounds(model, inputs, precision)
    return {"bound": likely, "worst_case_bound": float(worst.max())}


def _agreement(model: onnx.ModelProto, executable: Any, images: int) -> dict[str, float]:
    """Largest error of the logits of some images, the largest logit, how often the first class is the same."""
    entry = model.graph.input[0]
    shape = [d.dim_value for d in entry.type.tensor_type.shape.dim]
    rng = np.random.default_rng(3)
    logits = model.graph.output[-1].name
    seconds = error = largest = agreed = 0.0
    bounds: dict[str, float] = {}
    for _ in range(images):
        inputs = {entry.name: rng.standard_normal(shape).astype(np.float32)}
        start = time.perf_counter()
        result = executable.run(inputs)[logits]
        seconds += time.perf_counter() - start
        want = expected(model, inputs)[logits]
        bounds = bounds or _bounds(model, inputs)
        error, largest = max(error, float(np.abs(result - want).max())), max(largest, float(np.abs(want).max()))
        agreed += float(result.argmax() == want.argmax())
    figures = {"run_seconds": seconds / images, "images": images, "error": error, "largest": largest}
    return figures | bounds | {"top_1_agrees": agreed / images}


def measure(name: str, images: int) -> dict[str, float]:
    """Figures of one model, in this process."""
    model = build(name)
    start = time.perf_counter(), cpu_seconds()
    executable = mnc.compile(model)
    figures = {
        "compile_seconds": time.perf_counter() - start[0],
        "compile_cpu_seconds": cpu_seconds() - start[1],
        "compile_peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "compile_copy_peak_megabytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        "text_megabytes": len(executable.text) / 1e6,
    }
    costs = report(executable)
    total = costs["total"]
    names = ("steps", "idle_steps", "cycles", "mv_transfers", "dram_bytes", "dram_long_words")
    figures |= {key: total[key] for key in names}
    figures |= {"ideal_cycles": costs["ideal"]["cycles"], "of_ideal": costs["of_ideal"]}
    figures["load_average"] = os.getloadavg()[0]  # times depend on what else the machine does
    return figures | (_agreement(model, executable, images) if images else {})


def _in_process(name: str, images: int, seconds: int, memory: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.models", "--single", name, "--images", str(images)]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory << 30, memory << 30))

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {seconds} seconds"}
    lines = done.stdout.strip().splitlines() or [done.stderr.strip().rpartition("\n")[2]]
    return json.loads(lines[-1]) if lines[-1].startswith("{") else {"failed": lines[-1]}


def _recorded(name: str | None = None) -> dict[str, Any]:
    """Results of earlier runs: of all models, or of one."""
    path = DIRECTORY / "models.json"
    results = json.loads(path.read_text())["results"] if path.exists() else {}
    return results if name is None else results.get(name, {})


@click.command()
@click.argument("names", nargs=-1)
@click.option("--run", "executed", multiple=True, default=("squeezenet", "shufflenet"), show_default=True)
@click.option("--images", default=3, show_default=True, help="Images that a model executed sees.")
@click.option("--seconds", default=600, show_default=True, help="Time limit of one model.")
@click.option("--memory", default=8, show_default=True, help="Address space of one model in GB.")
@click.option("--iree", "with_iree", is_flag=True, help="Compile with IREE instead, and add its figures to ours.")
@click.option("--single", hidden=True, help="Measure one model in this process.")
def main(
    names: tuple[str, ...],
    executed: tuple[str, ...],
    images: int,
    seconds: int,
    memory: int,
    with_iree: bool,
    single: str | None,
) -> None:
    """Measure the models and bring benchmarks/results/models.json up to date."""
    if single is not None:
        try:
            figures: dict[str, Any] = dict(measure(single, images))
        except CompileError as error:
            figures = {"failed": str(error).partition("\n")[0]}
        print(json.dumps(figures))
        return
    if with_iree and not is_installed():
        raise click.UsageError("iree-import-onnx and iree-compile are not in the PATH: pip install iree-base-compiler")
    for name in names or NAMES:
        if with_iree:
            figures = compile_with_iree(build(name))
            others = {key: value for key, value in _recorded(name).items() if not key.startswith("iree")}
        else:
            figures = _in_process(name, images if name in executed else 0, seconds, memory)
            others = {key: value for key, value in _recorded(name).items() if key.startswith("iree")}
        print(name, figures, flush=True)
        write_results("models", _recorded() | {name: figures | others})


if __name__ == "__main__":
    main()
