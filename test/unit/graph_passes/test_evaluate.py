"""The graph evaluator against the ONNX node tests: the graph level runs by itself and is right."""

from typing import Any

import numpy as np
import pytest
from onnx.backend.test.loader import load_model_tests

from mnc.accuracy.graphs import result_names
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.run_time_extents import without_padding
from mnc.dialects.graph.run_time_extents import noted_extents
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.support import OPERATORS
from mnc.passes.graph.evaluate import evaluate


def _cases() -> dict[str, list[Any]]:
    cases: dict[str, list[Any]] = {}
    for case in load_model_tests(kind="node"):
        if case.model is None or not case.data_sets or "expanded" in case.name or "bfloat16" in case.name:
            continue
        kinds = [node.op_type for node in case.model.graph.node]
        if len(kinds) == 1 and kinds[0] in OPERATORS and "cast" not in case.name and "empty_set" not in case.name:
            cases.setdefault(kinds[0], []).append(case)
    return cases


CASES = _cases()


def _imported(case: Any, data: dict[str, Any], context: Any) -> Any:
    """The module, with every input but the first given at compile time where that is needed; None if refused."""
    for fixed in ({}, {name: data[name] for name in case.model.graph.node[0].input[1:] if name in data}):
        try:
            return import_model(case.model, context, constants=fixed)
        except CompileError:
            continue
    return None


def _runs(case: Any, context: Any) -> bool:
    """Compare one case; False when the importer refuses it."""
    inputs, outputs = case.data_sets[0]
    if not all(isinstance(value, np.ndarray | np.generic) for value in (*inputs, *outputs)):
        return False  # element types that numpy does not have come as protocol buffers
    names = [value.name for value in case.model.graph.input]
    data = dict(zip(names, inputs, strict=False))
    module = _imported(case, data, context)
    if module is None:
        return False
    with context:
        results = dict(zip(result_names(module), evaluate(module, data), strict=True))
        found = without_padding(results, noted_extents(module)).values()
    for got, wanted in zip(found, map(np.asarray, outputs), strict=True):
        assert got.shape == wanted.shape and got.dtype == wanted.dtype, case.name
        if got.dtype.kind == "f":
            bound = 2e-3 if got.dtype.itemsize == 2 else 2e-6
            np.testing.assert_allclose(got, wanted, rtol=max(case.rtol, bound), atol=1e-6, err_msg=case.name)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=case.name)
    return True


# Refused in every case: values known only at run time, or element types that the dialect lacks.
_NEVER = {"Not", "ConstantOfShape", "Range", "OneHot", "Trilu"}


@pytest.mark.parametrize("operator", sorted(set(CASES) - _NEVER))
def test_operator(operator: str) -> None:
    """All importable cases of the operator, of which there is at least one."""
    context = make_context(["graph"])
    ran = [_runs(case, context) for case in CASES[operator]]
    assert any(ran)
