"""The comparison of programs with their sequential form takes place and finds wrong schedules."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

import mnc
from mnc.mncore_backend.codegen.scheduling import scheduled_lines
from mnc.mncore_backend.codegen.scheduling.parts import Lines
from mnc.mncore_backend.program import Program

from .sequential_form import MOST, Comparisons, SchedulingFault


def softmax() -> onnx.ModelProto:
    return parser.parse_model("""<ir_version: 9, opset_import: ["": 18]> m (float[3, 5] x) => (float[3, 5] y) {
        y = Softmax<axis=0>(x)
        }""")


X = {"x": np.arange(15, dtype=np.float32).reshape(3, 5)}


def test_a_program_is_compared_once(comparisons: Comparisons) -> None:
    program = mnc.compile(softmax())
    program.run(X)
    program.run(X)
    assert (comparisons.compared, comparisons.left_out) == (1, 1)


def test_resident_programs_are_compared_in_all_their_parts(comparisons: Comparisons) -> None:
    weight = ", ".join(["0.5"] * 15)
    model = parser.parse_model(f"""<ir_version: 9, opset_import: ["": 18]> m (float[4, 3] x) => (float[4, 5] y)
        <float[3, 5] w = {{{weight}}}> {{
        y = MatMul(x, w)
        }}""")
    mnc.compile(model, mnc.Options(resident="state")).run({"x": np.ones((4, 3), np.float32)})
    assert comparisons.compared == 1


def test_large_programs_are_left_out(comparisons: Comparisons, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST > 1
    monkeypatch.setattr("numerics.sequential_form.MOST", 1)
    mnc.compile(softmax()).run(X)
    assert (comparisons.compared, comparisons.left_out) == (0, 1)


def test_a_wrong_schedule_is_found(comparisons: Comparisons, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, *arguments: Any, **options: Any) -> Lines:
        lines = scheduled_lines(program, *arguments, **options)
        return replace(lines, texts=[text.replace("fvmul", "fvadd") for text in lines.texts])

    monkeypatch.setattr("numerics.sequential_form.scheduled_lines", wrong)
    program = mnc.compile(softmax(), mnc.Options(prefer=()))
    with pytest.raises(SchedulingFault):
        program.run(X)
    assert comparisons.compared == 1
