"""Running sums that no PE could hold as one are those of pieces; many short ones are sums of doubling reach."""

import numpy as np
import pytest
from onnx import parser

import mnc

from .random_models import failure_of_model


@pytest.mark.parametrize(
    ("kind", "shape", "flags"),
    [
        ("float", "40001", ""),
        ("int32", "3,4099", "<exclusive=1, reverse=1>"),
        ("float", "2,67,64", "<exclusive=1>"),
        ("float", "520,16", "<reverse=1>"),
    ],
)
def test_many(kind: str, shape: str, flags: str) -> None:
    axis = 1 if shape.count(",") == 2 else -1
    model = parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 18]> g ({kind}[{shape}] x) => ({kind}[{shape}] y) {{
            axis = Constant<value_int={axis}>()
            y = CumSum{flags}(x, axis)
        }}"""
    )
    assert failure_of_model(model, 1, mnc.Options(prefer=())) is None


def test_what_comes_later_does_not_change_what_comes_first() -> None:
    """Neither an infinite element, nor the bits of a small one beside a large one."""
    model = parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 18]> g (float[512,32] x) => (float[512,32] y) {
            axis = Constant<value_int=1>()
            y = CumSum(x, axis)
        }"""
    )
    x = np.random.default_rng(0).uniform(1e-6, 2e-6, (512, 32)).astype(np.float32)
    x[:, 20], x[::2, 21] = 1e6, np.inf
    y = mnc.compile(model, mnc.Options(effort="quick")).run({"x": x})["y"]
    np.testing.assert_allclose(y, np.cumsum(x, 1), rtol=1e-6)
