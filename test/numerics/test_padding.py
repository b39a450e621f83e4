"""Padding with a number that comes with the run."""

from typing import Any

import numpy as np
import onnx
import pytest

import mnc
from mnc.lowering.onnx_to_graph.evaluator import evaluator

CASES = [
    ("float", "float", np.float32(2.5), [1, 2, 0, 3]),
    ("float", "float[1]", np.array([-np.inf], np.float32), [-1, 2, 0, -2]),
    ("int64", "int64", np.int64(-7), [0, 0, 2, 1]),
    ("bool", "bool", np.bool_(True), [1, 0, 0, 1]),
    ("float", "float", np.float32(2.5), [0, 0, 0, 0]),
]


@pytest.mark.parametrize(("kind", "of_number", "number", "pads"), CASES)
def test_a_number_of_the_run(kind: str, of_number: str, number: Any, pads: list[int]) -> None:
    weights = f"<int64[4] p = {{{', '.join(map(str, pads))}}}>"
    text = f"g ({kind}[3,5] x, {of_number} v) => ({kind}[?,?] y) {weights} {{ y = Pad (x, p, v) }}"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> {text}')
    x = (np.arange(15).reshape(3, 5) % 4).astype(np.asarray(number).dtype)
    program = mnc.compile(model)
    names = {tensor.name for tensor in program.inputs}
    found = program.run({name: value for name, value in {"x": x, "v": number}.items() if name in names})["y"]
    np.testing.assert_array_equal(found, evaluator(model).run(None, {"x": x, "v": np.asarray(number)})[0])
