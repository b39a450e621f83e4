"""Running sums that no PE could hold as one: they are those of pieces."""

import pytest
from onnx import parser

import mnc

from .random_models import failure_of_model


@pytest.mark.parametrize(
    ("kind", "shape", "flags"), [("float", "40001", ""), ("int32", "3,4099", "<exclusive=1, reverse=1>")]
)
def test_long(kind: str, shape: str, flags: str) -> None:
    model = parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 18]> g ({kind}[{shape}] x) => ({kind}[{shape}] y) {{
            axis = Constant<value_int=-1>()
            y = CumSum{flags}(x, axis)
        }}"""
    )
    assert failure_of_model(model, 1, mnc.Options(prefer=())) is None
