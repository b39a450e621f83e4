"""Reductions of what is computed, where every PE has several of the values.

Element-wise work is part of the loops that reduce. Clean-ups write both together in other forms, of which not all may
combine partial results.
"""

import numpy as np
import onnx
import pytest

import mnc
from mnc.accuracy.worst_case import error_bounds
from mnc.lowering.onnx_to_graph.evaluator import evaluator

WORK = {
    "negated": "n = Neg (x)",
    "difference from a number": "n = Sub (c, x)",
    "negated product": "m = Neg (x) n = Mul (m, c)",
    "negated exponential": "m = Exp (x) n = Neg (m)",
    "difference": "m = Mul (x, x) n = Sub (x, m)",
    "negated quotient": "m = Sigmoid (x) p = Neg (m) n = Div (p, c)",
}
REDUCTIONS = [
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
]  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("work", WORK)
def test_reductions_of_work(work: str, reduction: str) -> None:
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 18]>
        g (float[16,6,16] x) => (float[16,16] y) {{
            a = Constant <value_ints = [1]> () c = Constant <value_float = 1.5> ()
            {WORK[work]} y = {reduction} <keepdims = 0> (n, a)
        }}""")
    inputs = {"x": np.random.default_rng(0).standard_normal((16, 6, 16)).astype(np.float32)}
    options = mnc.Options(precision="single", machine="small", prefer=())
    found = mnc.compile(model, options).run(inputs)
    (want,), (bound,) = evaluator(model).run(None, inputs), error_bounds(model, inputs, "single")
    assert np.all(np.abs(found["y"] - want) <= bound + 1e-30)
