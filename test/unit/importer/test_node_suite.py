"""Every ONNX node test whose operator the table holds: types as ONNX infers, numbers as ONNX expects."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from mnc.accuracy.graphs import result_names
from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.run_time_extents import without_padding
from mnc.core.sequences import Shapes, shapes_of, tensors_of
from mnc.dialects.graph.run_time_extents import noted_extents
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.element_types import held
from mnc.lowering.onnx_to_graph.support import OPERATORS, OTHER_DOMAINS

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate

# Operators whose inputs other than the first are given to the compiler in these tests, not at run time.
_FIXED_INPUTS = frozenset([
    "Reshape", "Squeeze", "Unsqueeze", "Slice", "Pad", "Expand", "Tile", "Split", "CumSum", "OneHot",
    "CenterCropPad", "Col2Im", "DFT", "CumProd", "Resize", "TopK", "Upsample",
    "ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "NonMaxSuppression", "ReduceLogSumExp", "ReduceSumSquare", "STFT",
])  # fmt: skip
_ALL_FIXED = frozenset(["ConstantOfShape", "Range"])
_NOT_IN_ORACLE = frozenset(["Conv", "ConvTranspose", "Col2Im", "ConvInteger"])
# Their cases ask for an opset below 7; the lit test of unary operators covers them.
_ONLY_OLD_CASES = frozenset(["Not"])
_REFUSED = ("training mode", "element type", "index", "indices", "opset", "must be known", "do not lie in")


def _cases() -> list[Any]:
    cases = []
    for case in load_model_tests(kind="node"):
        if case.model is None or not case.data_sets or case.name.endswith("_expanded"):
            continue
        operators = {node.op_type for node in case.model.graph.node}
        if operators <= set(OPERATORS) and not case.name.startswith(("test_castlike", "test_cast_")):
            cases.append(case)
    return cases


CASES = _cases()


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _fixed(case: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    out = {}
    for node in case.model.graph.node:
        for i, name in enumerate(node.input):
            if name in data and (node.op_type in _ALL_FIXED or (i and node.op_type in _FIXED_INPUTS)):
                out[name] = data[name]
    return out


def _shapes(case: Any, data: dict[str, Any]) -> Shapes:
    """What is said of inputs that are no tensors."""
    lists = [value.name for value in case.model.graph.input if not value.type.HasField("tensor_type")]
    return shapes_of({name: data[name] for name in lists})


def _check(case: Any, context: ir.Context) -> bool:
    """Import and compare; False when the case is refused for a reason that the table states."""
    inputs, outputs = ([_array(value) for value in values] for values in case.data_sets[0])
    data = dict(zip((value.name for value in case.model.graph.input), inputs, strict=False))
    try:
        module = import_model(case.model, context, _shapes(case, data), constants=_fixed(case, data))
    except CompileError as error:
        assert any(reason in error.message for reason in _REFUSED), error
        return False
    if any(node.op_type in _NOT_IN_ORACLE for node in case.model.graph.node):
        return True
    with context:
        results = evaluate(module, {name: held(np.asarray(value)) for name, value in tensors_of(data).items()})
        named = dict(zip(result_names(module), results, strict=True))
        found = without_padding(named, noted_extents(module)).values()
    tensors = tensors_of(dict(zip((value.name for value in case.model.graph.output), outputs, strict=True)))
    for got, wanted in zip(found, map(held, map(np.asarray, tensors.values())), strict=True):
        assert got.shape == wanted.shape and got.dtype == wanted.dtype
        if got.dtype.kind == "f":
            bound = 2e-3 if got.dtype.itemsize == 2 else 1e-4
            np.testing.assert_allclose(got, wanted, rtol=max(case.rtol, bound), atol=1e-5)
        else:
            np.testing.assert_array_equal(got, wanted)
    return True


def _skip(name: str) -> bool:
    # numpy has no identity for the maximum of nothing, and the dialect does not read bf16 constants back.
    return "empty_set" in name or "bfloat16" in name


@pytest.mark.parametrize("operator", sorted({node.op_type for case in CASES for node in case.model.graph.node}))
def test_operator(operator: str) -> None:
    """All cases of one operator; at least one is not refused."""
    cases = [c for c in CASES if operator in {n.op_type for n in c.model.graph.node} and not _skip(c.name)]
    context = make_context(["graph"])
    imported = [_check(case, context) for case in cases]
    assert any(imported) or operator in _ONLY_OLD_CASES, f"all {len(cases)} cases are refused"


def test_versions_of_other_domains() -> None:
    """Every version of an operator but those on strings only: such a LabelEncoder is refused."""
    for domain, operators in OTHER_DOMAINS.items():
        schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == domain]
        for name, operator in operators.items():
            history = {s.since_version for s in schemas if s.name == name} - ({1} if name == "LabelEncoder" else set())
            assert set(operator.versions) == history, name


def test_table_versions() -> None:
    """The table names every version that opsets 7 to the newest can ask for, and no other."""
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""]
    for name, operator in OPERATORS.items():
        history = {s.since_version for s in schemas if s.name == name}
        oldest = max((version for version in history if version <= 7), default=7)
        assert set(operator.versions) == {version for version in history if version >= oldest}, name
