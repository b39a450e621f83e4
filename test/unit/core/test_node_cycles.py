"""Cycles per node of random models: they add up, and belong to nodes only."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.options import Options
from mnc.report import report

UNARY = ("Relu", "Sigmoid", "Neg", "Softmax")
OPERATORS = ("Gemm", "MatMul", "Add", "Same", *UNARY)


@st.composite
def _models(draw) -> onnx.ModelProto:
    """Layers one after the other, of prime and other widths; some add what came before, some weights are used twice."""
    rows, width = draw(st.integers(1, 70)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    nodes, weights, shapes = [], {}, {"x": width}

    def weight(*shape: int) -> str:
        name = f"w{shape}"
        weights.setdefault(name, rng.standard_normal(shape).astype(np.float32))
        return name

    value = "x"
    for i, operator in enumerate(draw(st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=6))):
        out, given = draw(st.integers(1, 40)), shapes[value]
        operands = {
            "Gemm": lambda out=out, given=given: [weight(given, out), weight(out)],
            "MatMul": lambda out=out, given=given: [weight(given, out)],
            "Add": lambda given=given: [weight(given)],
            "Same": lambda given=given: [draw(st.sampled_from([n for n, w in shapes.items() if w == given]))],
        }.get(operator, list)()
        kind = "Add" if operator == "Same" else operator
        nodes.append(helper.make_node(kind, [value, *operands], [f"v{i}"], name=f"node {i}"))
        value = f"v{i}"
        shapes[value] = out if operator in ("Gemm", "MatMul") else given
    entries = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, width])]
    results = [helper.make_tensor_value_info(value, TensorProto.FLOAT, [rows, shapes[value]])]
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "chain", entries, results, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@settings(max_examples=12, deadline=None)
@given(_models(), st.sampled_from(["nothing", "state", "batch"]))
def test_cycles_of_nodes_are_those_of_the_program(model: onnx.ModelProto, resident) -> None:
    costs = report(mnc.compile(model, Options(prefer=(), resident=resident)))
    rows, total = costs["nodes"], costs["total"]
    assert sum(row["cycles"] for row in rows) == pytest.approx(total["cycles"])
    assert sum(row["steps"] + row["idle_steps"] for row in rows) == pytest.approx(total["steps"])
    named = {row["node"] for row in rows}
    copied = {"(unnamed)"}  # nothing is left of the nodes of -(-x): the program copies x
    assert named <= {node.name for node in model.graph.node} or (named == copied and total["mau_steps"] == 0)
    assert 0 < costs["of_ideal"] <= 1
