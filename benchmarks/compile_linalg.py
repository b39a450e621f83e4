"""Time of the linalg and affine levels on a convolutional network of 50 layers.

Prints one row per pass. Usage: python benchmarks/compile_linalg.py [--layers 50] [--cpu] [--json FILE]
"""

import json
import time
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from mnc.core.bindings import func, ir
from mnc.core.context import make_context
from mnc.core.pipeline import Pipeline
from mnc.dialects import graph as g
from mnc.lowering.cpu import compile_for_cpu
from mnc.registry import parse_pipeline

PASSES = (
    "graph-to-linalg",
    "fuse-elementwise",
    "choose-tiles{capacity=65536 multiple=4}",
    "tensor-to-memref",
    "linalg-to-affine",
    "normalize-loops",
    "sliding-window",
)


def network(layers: int) -> ir.Module:
    """Residual network: convolutions of 16 to 128 channels on 32x32 images, pooled and classified."""
    rng = np.random.default_rng(0)
    with make_context(["graph"]), ir.Location.unknown():
        module = ir.Module.create()
        f32 = ir.F32Type.get()
        image, scores = g.tensor((1, 3, 32, 32), f32), g.tensor((1, 10), f32)
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([image], [scores]))

        def weight(*shape: int) -> ir.Value:
            return g.Constant.build(value=(rng.standard_normal(shape) * 0.1).astype(np.float32)).operation.results[0]

        def convolve(value: ir.Value, features: int, stride: int) -> ir.Value:
            channels = ir.RankedTensorType(value.type).shape[1]
            kernel = weight(features, channels, 3, 3)
            window = {"strides": [stride] * 2, "pads": [1] * 4, "dilations": [1] * 2, "group": 1}
            return g.Conv.build(value, kernel, weight(features), **window).operation.results[0]

        with ir.InsertionPoint(function.add_entry_block()):
            value: ir.Value = function.arguments[0]
            for layer in range(layers):
                features = 16 << (4 * layer // layers)
                old = ir.RankedTensorType(value.type).shape[1]
                grows = features != old
                result = convolve(value, features, 2 if grows and layer else 1)
                result = g.Relu.build(result).operation.results[0]
                value = result if grows else g.Add.build(result, value).operation.results[0]
            mean = g.Reduce.build(value, kind="mean", axes=[2, 3], keepdims=False)
            channels = ir.RankedTensorType(mean.operation.results[0].type).shape[1]
            func.ReturnOp([g.Softmax.build(g.MatMul.build(mean, weight(channels, 10)), axis=1)])
        return module


def timed_passes(module: ir.Module) -> dict[str, float]:
    """Seconds per pass; `module` ends up on the affine level."""
    times = {}
    for name in PASSES:
        pipeline: Pipeline = parse_pipeline(f"builtin.module({name})")
        start = time.perf_counter()
        pipeline.run(module)
        times[name] = time.perf_counter() - start
    return times


def timed_cpu(layers: int) -> dict[str, float]:
    """Seconds to compile for the CPU from linalg, and to run once."""
    module = network(layers)
    parse_pipeline("builtin.module(graph-to-linalg,fuse-elementwise)").run(module)
    start = time.perf_counter()
    compiled = compile_for_cpu(module)
    middle = time.perf_counter()
    compiled({"arg0": np.zeros((1, 3, 32, 32), np.float32)})
    return {"compile for the CPU": middle - start, "run on the CPU": time.perf_counter() - middle}


@click.command()
@click.option("--layers", default=50, help="Number of convolutions.")
@click.option("--cpu", is_flag=True, help="Also compile for the CPU and run.")
@click.option("--json", "output", type=click.Path(path_type=Path), help="Write the times to this file as well.")
def main(layers: int, cpu: bool, output: Path | None) -> None:
    """Measure and print."""
    start = time.perf_counter()
    module = network(layers)
    times = {"build the graph": time.perf_counter() - start, **timed_passes(module)}
    if cpu:
        times |= timed_cpu(layers)
    table = Table("step", "seconds")
    for name, seconds in times.items():
        table.add_row(name, f"{seconds:.3f}")
    table.add_row("sum", f"{sum(times.values()):.3f}")
    Console().print(table)
    if output is not None:
        output.write_text(json.dumps({"layers": layers, "seconds": times}, indent=2) + "\n")


if __name__ == "__main__":
    main()
