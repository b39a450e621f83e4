"""Bisection against faults that are put in on purpose: the reference stands in for the target and is disturbed."""


import numpy as np
import onnx
import pytest

from mnc.bisection import Check, bisect
from mnc.case_check import CaseResult
from mnc.case_folders import Case
from mnc.core import events
from mnc.model_values import ModelValues, evaluate_model, run_reference
from mnc.options import Options
from mnc.reference import compare_with

from .models import network


@pytest.fixture(scope="module")
def run() -> ModelValues:
    return evaluate_model(network(), Options())


def judge(case: Case, actual: dict[str, np.ndarray]) -> CaseResult:
    return CaseResult(case.name, tuple(compare_with(case.model, case.outputs, actual, case.inputs, "single")))


def _evaluated(case: Case, wrong_node: str | None) -> dict[str, np.ndarray]:
    """Results of a target that is off by one in a thousand at one node, and carries the error on."""
    values = {t.name: onnx.numpy_helper.to_array(t) for t in case.model.graph.initializer} | case.inputs
    for node in case.model.graph.node:
        graph = onnx.GraphProto(name="node", node=[node])
        graph.input.extend(onnx.ValueInfoProto(name=name) for name in node.input)
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output)
        model = onnx.ModelProto(ir_version=9, graph=graph, opset_import=case.model.opset_import)
        results = run_reference(model, {name: values[name] for name in node.input}, list(node.output))
        values |= {k: (v * np.float32(1.001) if node.name == wrong_node else v) for k, v in results.items()}
    return {name: values[name] for name in case.outputs}


def test_a_right_target_is_clean(run: ModelValues) -> None:
    found = bisect(run, Options(), "mncore", check=lambda case: judge(case, _evaluated(case, None)))
    assert found.culprit is None and found.whole.passed
    assert [verdict.node.name for verdict in found.verdicts] == [node.name for _, node in run.nodes()]


@pytest.mark.parametrize("name", ["enter", "relu0", "second", "reshape", "softmax"])
def test_a_wrong_operator(run: ModelValues, name: str) -> None:
    """Everything behind it is wrong as well when accumulated; the first one is named, with its test."""
    found = bisect(run, Options(), "mncore", check=lambda case: judge(case, _evaluated(case, name)))
    assert found.culprit is not None and found.culprit.node.name == name and found.culprit.is_wrong_alone
    assert found.verdicts[-1] is found.culprit
    assert found.culprit.case is not None and [n.name for n in found.culprit.case.model.graph.node] == [name]


def _when(condition: object) -> Check:
    """A target with a fault at `second` in cases that fulfil a condition."""
    assert callable(condition)
    return lambda case: judge(case, _evaluated(case, "second" if condition(case) else None))


def test_wrong_only_behind_other_nodes(run: ModelValues) -> None:
    found = bisect(run, Options(), "mncore", check=_when(lambda case: len(case.model.graph.node) > 1))
    assert found.culprit is not None and found.culprit.node.name == "second" and not found.culprit.is_wrong_alone
    assert found.culprit.case is not None and len(found.culprit.case.model.graph.node) == 5


def test_wrong_only_while_nobody_looks(run: ModelValues) -> None:
    """Showing intermediate values hides the fault, as it may when they keep operators from being fused."""
    found = bisect(run, Options(), "mncore", check=_when(lambda case: len(case.outputs) == 1))
    # Alone the node has one output, too: the fault shows there. So let it need a node before it.
    assert found.culprit is not None and found.culprit.is_wrong_alone
    hidden = _when(lambda case: len(case.outputs) == 1 and len(case.model.graph.node) > 1)
    found = bisect(run, Options(), "mncore", check=hidden)
    assert not found.whole.passed and found.culprit is not None
    assert found.culprit.node.name == "second" and found.culprit.alone is None
    assert found.culprit.case is not None and found.culprit.case.name == "upto_004_second"


def test_a_node_that_does_not_compile(run: ModelValues) -> None:
    """The model does not compile with all values shown, either; the parts up to each node take over."""

    def check(case: Case) -> CaseResult:
        if any(node.op_type == "LeakyRelu" for node in case.model.graph.node):
            return CaseResult(case.name, (), "LeakyRelu is not supported")
        return judge(case, _evaluated(case, None))

    told: list[events.Event] = []
    with events.listening(told.append):
        found = bisect(run, Options(), "mncore", check)
    assert found.culprit is not None and found.culprit.node.name == "leaky"
    assert found.culprit.failed is not None and found.culprit.failed.failure == "LeakyRelu is not supported"
    names = [node.name for _, node in run.nodes()]
    cases = [event.name for event in told if event.kind == "case" and event.seconds is not None]
    alone = [name for name in cases if "up to" not in name][2:]
    assert all(name in text for name, text in zip(names[: names.index("leaky") + 1], alone, strict=True))
