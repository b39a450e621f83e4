"""Models that are a loop over parts of their results, on the strict emulator against the ONNX reference."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.accuracy.probable import error_bounds
from mnc.mncore_backend.codegen.trips import gap
from mnc.reference import evaluate

RNG = np.random.default_rng(0)


def model(nodes: list[onnx.NodeProto], inputs: dict, outputs: dict, **weights: tuple[int, ...]) -> onnx.ModelProto:
    def infos(shapes: dict) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]

    given = [numpy_helper.from_array(RNG.standard_normal(s, dtype=np.float32), n) for n, s in weights.items()]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def perceptron() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="a"),
        helper.make_node("Add", ["a", "b"], ["c"], name="c"),
        helper.make_node("Relu", ["c"], ["d"], name="d"),
        helper.make_node("MatMul", ["d", "v"], ["y"], name="y"),
    ]
    return model(nodes, {"x": [331, 40]}, {"y": [331, 10]}, w=(40, 32), b=(32,), v=(32, 10))


def product() -> onnx.ModelProto:
    return model([helper.make_node("MatMul", ["a", "b"], ["y"], name="y")], {"a": [192, 200], "b": [200, 328]},
                 {"y": [192, 328]})  # fmt: skip


def heads() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["s"], name="s"),
        helper.make_node("Softmax", ["s"], ["p"], name="p", axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"], name="y"),
    ]
    inputs = {"q": [6, 96, 16], "k": [6, 16, 96], "v": [6, 96, 16]}
    return model(nodes, inputs, {"y": [6, 96, 16]})


def self_attention() -> onnx.ModelProto:
    """One input that a trip needs as a whole and in part."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], name="t", perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["s"], name="s"),
        helper.make_node("Softmax", ["s"], ["p"], name="p", axis=-1),
        helper.make_node("MatMul", ["p", "x"], ["y"], name="y"),
    ]
    return model(nodes, {"x": [160, 24]}, {"y": [160, 24]})


def images() -> onnx.ModelProto:
    """Two results; strides leave out a row at the end."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="a", strides=[2, 2], pads=[1, 1, 0, 0]),
        helper.make_node("Relu", ["a"], ["b"], name="b"),
        helper.make_node("GlobalAveragePool", ["b"], ["y"], name="y"),
    ]
    return model(nodes, {"x": [7, 3, 20, 20]}, {"y": [7, 8, 1, 1], "b": [7, 8, 10, 10]}, w=(8, 3, 3, 3))


def modulation() -> onnx.ModelProto:
    """What a condition gives of each image is taken apart, and scales and shifts its places."""
    nodes = [
        helper.make_node("MatMul", ["c", "w"], ["m"], name="m"),
        helper.make_node("Split", ["m"], ["s", "t"], name="split", axis=1, num_outputs=2),
        helper.make_node("Reshape", ["s", "wide"], ["s3"], name="s3"),
        helper.make_node("Reshape", ["t", "wide"], ["t3"], name="t3"),
        helper.make_node("Mul", ["x", "s3"], ["scaled"], name="scaled"),
        helper.make_node("Add", ["scaled", "t3"], ["moved"], name="moved"),
        helper.make_node("MatMul", ["moved", "v"], ["y"], name="y"),
    ]
    built = model(nodes, {"c": [6, 16], "x": [6, 40, 24]}, {"y": [6, 40, 8]}, w=(16, 48), v=(24, 8))
    built.graph.initializer.append(numpy_helper.from_array(np.array([6, 1, 24]), "wide"))
    return built


@pytest.mark.parametrize(
    ("make", "steps"),
    [(perceptron, 40), (product, 60), (heads, 60), (self_attention, 30), (images, 20), (modulation, 30)],
)
def test_loop(make, steps: int) -> None:
    built = make()
    onnx.checker.check_model(built)
    pipeline = mnc.default_pipeline().replace("loop-over-parts", f"loop-over-parts{{steps={steps}}}")
    program = mnc.compile(built, pipeline=pipeline)
    assert f"nop/{gap()}" in program.text.splitlines()
    inputs = program.random_inputs(seed=3)
    got, want = program.run(inputs), evaluate(built, [v.name for v in built.graph.output], inputs)
    bounds = error_bounds(built, inputs, "pseudo-single")
    assert set(got) == set(want)
    for name, expected in want.items():
        assert np.abs(got[name] - expected).max() <= bounds[name], name


def test_costs_and_build_directory_of_a_loop(tmp_path) -> None:
    pipeline = mnc.default_pipeline().replace("loop-over-parts", "loop-over-parts{steps=40}")
    program = mnc.compile(perceptron(), pipeline=pipeline)
    inputs = program.random_inputs()
    result = program.run_with_statistics(inputs)
    report = program.report
    assert (report.steps, report.cycles) == (result.statistics.steps, result.statistics.cycles)
    mnc.save(program, tmp_path / "build")
    again = mnc.load(tmp_path / "build").run(inputs)
    assert np.array_equal(again["y"], result.outputs["y"])
