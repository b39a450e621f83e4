"""Every graph operation with a lowering to linalg also reaches C++, and gives what ONNX expects."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from mnc.case_folders import STRUCTURAL_INPUTS
from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.cpp_target import CPP
from mnc.lowering.cpp import CppSource, print_cpp
from mnc.lowering.graph_to_linalg.convert import handlers
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.element_types import held
from mnc.lowering.onnx_to_graph.support import OPERATORS
from mnc.registry import parse_pipeline

from .harness import build_together, needs_compiler

CASES_PER_OPERATOR = 6
"""Looked at; only those with a graph operation that no earlier case has are compiled."""


def _array(value: Any) -> np.ndarray:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def _fixed(model: onnx.ModelProto, data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = [
        node.input[position]
        for node in model.graph.node
        for position in STRUCTURAL_INPUTS.get(node.op_type, ())
        if position < len(node.input)
    ]
    return {name: data[name] for name in names if name in data}


def _graph_operations(module: ir.Module) -> set[str]:
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.add(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return {name for name in found if name.startswith("graph.")}


def _print(case: Any, number: int, covered: set[str]) -> tuple[CppSource, dict[str, np.ndarray]] | None:
    """The program of a case and its inputs; None where the importer refuses the case."""
    values = [_array(value) for value in case.data_sets[0][0]]
    data = dict(zip((value.name for value in case.model.graph.input), values, strict=False))
    context = make_context(["graph"])
    try:
        module = import_model(case.model, context, constants=_fixed(case.model, data))
    except CompileError:
        return None
    with context:
        operations = _graph_operations(module)
        if operations <= covered:
            return None
        parse_pipeline(f"builtin.module({','.join(CPP)})").run(module, reproducer=False)
        source = print_cpp(module, f"case{number}_{case.name}")
    covered |= operations
    return source, data


def _is_usable(case: Any) -> bool:
    """One node of an operator that the importer knows, on tensors."""
    if case.model is None or not case.data_sets or len(case.model.graph.node) > 1:
        return False
    skip = "bfloat16" in case.name or case.name.startswith("test_cast")
    known = case.model.graph.node[0].op_type in OPERATORS
    tensors = all(isinstance(v, np.ndarray | np.generic | onnx.TensorProto) for v in case.data_sets[0][0])
    return known and tensors and not skip


@needs_compiler
def test_every_graph_operation(tmp_path: Path) -> None:
    """A case for every graph operation that ONNX's node tests reach."""
    covered: set[str] = set()
    programs = []
    tried: Counter[str] = Counter()
    cases: list[Any] = load_model_tests(kind="node")
    for number, case in enumerate(cases):
        if not _is_usable(case) or tried[case.model.graph.node[0].op_type] >= CASES_PER_OPERATOR:
            continue
        tried[case.model.graph.node[0].op_type] += 1
        made = _print(case, number, covered)
        if made is not None:
            programs.append((case, *made))
    missing = set(handlers()) - covered
    assert missing <= {"graph.cast"}, f"no node test reaches {sorted(missing)}"
    assert programs
    compiled = build_together([source for _, source, _ in programs], tmp_path)
    for (case, _, data), program in zip(programs, compiled, strict=True):
        results = program.run({parameter.name: held(np.asarray(data[parameter.name])) for parameter in program.inputs})
        for got, given in zip(results.values(), map(_array, case.data_sets[0][1]), strict=True):
            want = held(given)
            assert got.shape == want.shape and got.dtype == want.dtype, case.name
            if want.dtype.kind == "f":
                bound = 2e-3 if want.dtype.itemsize == 2 else 1e-5
                np.testing.assert_allclose(got, want, rtol=max(case.rtol, bound), atol=1e-6, err_msg=case.name)
            else:
                np.testing.assert_array_equal(got, want, err_msg=case.name)


def test_operations_without_c_are_our_mistake() -> None:
    from mnc.core.diagnostics import InternalError

    from .harness import printed

    with pytest.raises(InternalError, match=r"has no 'math.ctpop'"):
        printed(
            "func.func @main(%x: memref<2xi32>, %y: memref<2xi32> {mnc.result}) { affine.for %i = 0 to 2 {"
            " %a = affine.load %x[%i] : memref<2xi32> %b = math.ctpop %a : i32"
            " affine.store %b, %y[%i] : memref<2xi32> } return }"
        )
    with pytest.raises(InternalError, match="static layouts"):
        printed(
            "func.func @main(%x: memref<4xf32, strided<[?]>>, %y: memref<4xf32> {mnc.result}) {\n"
            "affine.for %i = 0 to 4 { %a = affine.load %x[%i] : memref<4xf32, strided<[?]>>\n"
            "affine.store %a, %y[%i] : memref<4xf32> } return }"
        )
