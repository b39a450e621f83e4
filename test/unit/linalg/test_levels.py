"""Fusion, tiling, padding, packing, bufferization and affine passes do not change what is computed."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.dialects import graph as g
from mnc.lowering.cpu import compile_for_cpu
from mnc.registry import parse_pipeline

from .harness import Program, normal

FUSED = "graph-to-linalg,fuse-elementwise"
BUFFERS = f"{FUSED},tensor-to-memref"
AFFINE = f"{BUFFERS},linalg-to-affine"
ALL_KINDS = "kinds=contraction,injective,reduction,copy"
PIPELINES = {
    "fuse": FUSED,
    "no-reductions": "graph-to-linalg,fuse-elementwise{into-reductions=false}",
    "tile": f"{FUSED},tile{{sizes=2,3 {ALL_KINDS}}}",
    "tile-fuse": f"{FUSED},tile{{sizes=2,3 kinds=injective fuse=true}}",
    "tile-unpeeled": f"{FUSED},tile{{sizes=2,3 {ALL_KINDS} peel=false}}",
    "choose-tiles": f"{FUSED},choose-tiles{{capacity=640}},tile",
    "pad": f"{FUSED},pad{{multiples=4 {ALL_KINDS}}}",
    "pack": f"{FUSED},pack{{sizes=4,4 lower=true}}",
    "interchange": f"{FUSED},interchange{{order=2,1,0}}",
    "affine": AFFINE,
    "tile-affine": f"{FUSED},tile{{sizes=2,3 {ALL_KINDS}}},tensor-to-memref,linalg-to-affine",
    "normalize-loops": f"{FUSED},tile{{sizes=2,3 {ALL_KINDS}}},tensor-to-memref,linalg-to-affine,normalize-loops",
    "unroll": f"{AFFINE},unroll{{factor=3}}",
    "promote": f"{AFFINE},promote-to-local{{capacity=1024}}",
    "sliding-window": f"{AFFINE},normalize-loops,sliding-window",
    "spaces": f'{FUSED},tensor-to-memref{{memory-space="1" local-space="2" deallocate=true}},linalg-to-affine',
}


def perceptron(batch: int, widths: list[int], seed: int) -> Program:
    """Dense layers with bias and relu, then a softmax."""
    program = Program({"x": normal(seed, batch, widths[0])})
    weights = [normal(seed + i, a, b) for i, (a, b) in enumerate(itertools.pairwise(widths), 1)]
    for i, weight in enumerate(weights):
        program.inputs[f"w{i}"] = weight
        program.inputs[f"b{i}"] = normal(99 + i, weight.shape[1])

    def build(*values: ir.Value) -> ir.OpView:
        hidden: ir.Value = values[0]
        for weight, bias in zip(values[1::2], values[2::2], strict=True):
            product = g.MatMul.build(hidden, weight).operation.results[0]
            hidden = g.Relu.build(g.Add.build(product, bias)).operation.results[0]
        return g.Softmax.build(hidden, axis=1)

    program.add(build, "Identity", list(program.inputs))
    return program


def perceptron_reference(program: Program) -> np.ndarray:
    arrays = [array.astype(np.float64) for array in program.inputs.values()]
    hidden = arrays[0]
    for weight, bias in zip(arrays[1::2], arrays[2::2], strict=True):
        hidden = np.maximum(hidden @ weight + bias, 0)
    powers = np.exp(hidden - hidden.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("pipeline", PIPELINES)
@settings(max_examples=2, deadline=None)
@given(batch=st.integers(1, 7), widths=st.lists(st.integers(1, 11), min_size=2, max_size=3))
def test_perceptron(pipeline: str, batch: int, widths: list[int]) -> None:
    program = perceptron(batch, widths, seed=3)
    got = program.actual(PIPELINES[pipeline])[0]
    np.testing.assert_allclose(got, perceptron_reference(program), rtol=1e-4, atol=1e-6)


def convolutional() -> Program:
    program = Program({"x": normal(1, 2, 3, 8, 9), "w": normal(2, 4, 3, 3, 2), "b": normal(3, 4)})
    window: dict[str, Any] = {"strides": [1, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2], "group": 1}
    program.add(lambda *v: g.Conv.build(*v, **window), "Conv", ["x", "w", "b"], **window)
    pool: dict[str, Any] = {"strides": [2, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1]}
    program.add(
        lambda v: g.Pool.build(v, kind="max", kernel=[3, 3], ceil_mode=False, count_include_pad=False, **pool),
        "MaxPool", ["x"], kernel_shape=[3, 3], **pool,
    )  # fmt: skip
    program.add(
        lambda v: g.Reduce.build(g.Exp.build(v), kind="mean", axes=[2, 3], keepdims=False),
        "Identity", ["x"],
    )  # fmt: skip
    return program


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_convolution_and_pooling(pipeline: str) -> None:
    program = convolutional()
    got = program.actual(PIPELINES[pipeline])
    want = program.expected()[:2]
    want.append(np.exp(program.inputs["x"].astype(np.float64)).mean(axis=(2, 3)))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_names_and_large_constants() -> None:
    weight = normal(1, 40, 50)
    with make_context(["graph"]), ir.Location.unknown():
        module = ir.Module.parse(
            'func.func @main(%x: tensor<2x40xf32> {onnx.name = "in"}) -> (tensor<2x40xf32> {onnx.name = "out"})'
            " { return %x : tensor<2x40xf32> }"
        )
        function = module.body.operations[0]
        block = function.regions[0].blocks[0]
        with ir.InsertionPoint(block.operations[0]):
            constant = g.Constant.build(value=weight)
            product = g.MatMul.build(block.arguments[0], constant)
        block.operations[len(block.operations) - 1].operands[0] = product.operation.results[0]
        result = g.tensor([2, 50], ir.F32Type.get())
        signature = ir.FunctionType.get([block.arguments[0].type], [result])
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        parse_pipeline("builtin.module(graph-to-linalg)").run(module)
        before = str(module)
        compiled = compile_for_cpu(module)
        assert str(module) == before
    assert len(compiled.weights) == 1
    x = normal(2, 2, 40)
    np.testing.assert_allclose(compiled({"in": x})["out"], x @ weight, rtol=1e-4, atol=1e-5)
    for arrays, message in (({}, "missing"), ({"in": x[:1]}, "shape"), ({"in": x, "z": x}, "no input 'z'"),
                            ({"in": x.astype(np.float64)}, "type")):  # fmt: skip
        with pytest.raises(CompileError, match=message):
            compiled(arrays)
    with pytest.raises(CompileError, match="no function 'other'"):
        compile_for_cpu(module, entry="other")


def test_equal_modules_share_their_code() -> None:
    first, second = (Program({"x": normal(1, 3)}) for _ in range(2))
    for program in (first, second):
        program.add(g.Relu.build, "Relu", ["x"])
    engines = []
    for program in (first, second):
        module = program.module()
        parse_pipeline("builtin.module(graph-to-linalg)").run(module)
        engines.append(compile_for_cpu(module).engine)
    assert engines[0] is engines[1]
