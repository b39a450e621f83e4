"""Finding the first node of a model whose result leaves its bound."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import onnx

from mnc.case_check import CaseResult, check_case
from mnc.case_folders import Case
from mnc.core import events
from mnc.model_values import ModelValues
from mnc.options import Options
from mnc.reference import Comparison
from mnc.unit_tests import node_case, prefix_case

Check = Callable[[Case], CaseResult]


@dataclass(frozen=True)
class NodeVerdict:
    """A node judged alone, fed the reference's values, and accumulated, fed what the target computed before.

    Attributes:
        alone: None where the search ended before.
        accumulated: None where the value cannot be seen.
        case: reproduces what failed.
    """

    index: int
    node: onnx.NodeProto
    alone: CaseResult | None
    accumulated: CaseResult | None
    case: Case | None = None

    @property
    def passed(self) -> bool:
        """Neither way leaves the bound."""
        return all(result is None or result.passed for result in (self.alone, self.accumulated))

    @property
    def is_wrong_alone(self) -> bool:
        """It is wrong on the reference's values already."""
        return self.alone is not None and not self.alone.passed

    @property
    def failed(self) -> CaseResult | None:
        """The judgement that failed first."""
        return self.alone if self.is_wrong_alone else self.accumulated


@dataclass(frozen=True)
class Bisection:
    """Verdicts up to the first bad node, which is the last one; `whole` judges the outputs of the unchanged model."""

    whole: CaseResult
    verdicts: tuple[NodeVerdict, ...]

    @property
    def culprit(self) -> NodeVerdict | None:
        """The first node that is out of its bound."""
        return next((verdict for verdict in self.verdicts if not verdict.passed), None)


def bisect(
    run: ModelValues, options: Options, target: str, check: Check | None = None
) -> Bisection:
    """Judge the nodes in topological order until one leaves its bound.

    When every node is fine both ways but the model is not, looking at the values has changed what is compiled; then the
    parts of the model up to each node are tried in turn.

    Args:
        check: runs a case; by default on `target`.
    """
    fixed = replace(options, shapes={})  # the cases have the shapes that the model was evaluated with
    judge: Check = check or (lambda case: check_case(case, fixed, target))
    nodes = list(run.nodes())
    with events.span("case", "the whole model"):
        whole = judge(_whole_case(run, [value.name for value in run.model.graph.output]))
    visible = _accumulated(run, judge, nodes)
    verdicts = []
    for index, node in nodes:
        verdict = _verdict(run, index, node, judge, visible)
        verdicts.append(verdict)
        if not verdict.passed:
            return Bisection(whole, tuple(verdicts))
    if not whole.passed:
        verdicts += _first_bad_prefix(run, nodes, judge)
    return Bisection(whole, tuple(verdicts))


def judge_nodes(
    run: ModelValues, options: Options, target: str, check: Check | None = None
) -> tuple[NodeVerdict, ...]:
    """Every node alone, fed what the reference computed, and accumulated, whatever those before it did.

    Args:
        check: runs a case; by default on `target`.
    """
    fixed = replace(options, shapes={})
    judge: Check = check or (lambda case: check_case(case, fixed, target))
    nodes = list(run.nodes())
    visible = _accumulated(run, judge, nodes)
    verdicts = []
    for index, node in nodes:
        verdicts.append(_verdict(run, index, node, judge, visible))
    return tuple(verdicts)


def _whole_case(run: ModelValues, names: list[str]) -> Case:
    model = onnx.ModelProto()
    model.CopyFrom(run.model)
    known = {value.name: value for value in (*model.graph.value_info, *model.graph.output)}
    del model.graph.output[:]
    shown = [name for name in names if name in known and name in run.values]
    model.graph.output.extend(known[name] for name in shown)
    inputs = {name: run.values[name] for name in run.inputs}
    return Case("model", model, inputs, {name: run.values[name] for name in shown})


def _accumulated(
    run: ModelValues, judge: Check, nodes: list[tuple[int, onnx.NodeProto]]
) -> Mapping[str, Comparison] | str:
    """Every computed value of one run of the model; or why it cannot be seen."""
    names = [name for _, node in nodes for name in node.output if name]
    with events.span("case", "all intermediate values"):
        result = judge(_whole_case(run, list(dict.fromkeys(names))))
    return result.failure or {comparison.name: comparison for comparison in result.comparisons}


def _verdict(
    run: ModelValues, index: int, node: onnx.NodeProto, judge: Check, visible: Mapping[str, Comparison] | str
) -> NodeVerdict:
    case = node_case(run, node)
    with events.span("case", f"{node.op_type} {node.name}"):
        alone = judge(case)
    if isinstance(visible, str):
        # The model does not compile with all values visible: look at the part up to here instead.
        prefix = prefix_case(run, index)
        with events.span("case", f"everything up to {node.op_type} {node.name}"):
            accumulated = judge(prefix)
    else:
        rows = tuple(visible[name] for name in node.output if name in visible)
        prefix, accumulated = None, CaseResult(case.name, rows) if rows else None
    wrong = case if not alone.passed else None
    if wrong is None and accumulated is not None and not accumulated.passed:
        wrong = prefix or prefix_case(run, index)
    return NodeVerdict(index, node, alone, accumulated, wrong)


def _first_bad_prefix(
    run: ModelValues, nodes: list[tuple[int, onnx.NodeProto]], judge: Check
) -> list[NodeVerdict]:
    for index, node in nodes:
        case = prefix_case(run, index)
        with events.span("case", f"everything up to {node.op_type} {node.name}"):
            result = judge(case)
        if not result.passed:
            return [NodeVerdict(index, node, None, result, case)]
    return []
