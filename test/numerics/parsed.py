"""Models of few lines, compiled, run and compared."""

import numpy as np
import onnx

import mnc
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.report import report


def cycles_of(text: str, inputs: dict[str, np.ndarray], tolerance: float = 0.0) -> int:
    """Compile and run a model with the result ``y``, compare it with the reference, and return the cycles. `tolerance`:
    part of the largest element, or of 1, that an element may be off."""
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> {text}')
    wanted = np.asarray(evaluator(model).run(None, dict(inputs))[0])
    program = mnc.compile(model, mnc.Options(effort="normal"))
    found = program.run(inputs)["y"]
    assert found.shape == wanted.shape
    assert np.abs(found.astype(float) - wanted).max() <= tolerance * max(np.abs(wanted).max(), 1)
    return report(program)["total"]["cycles"]


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normally distributed numbers of this shape."""
    return rng.standard_normal(shape).astype(np.float32)
