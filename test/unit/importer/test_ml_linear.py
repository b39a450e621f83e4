"""LinearRegressor and LinearClassifier against the reference of ONNX."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from ml_models import check_ml, ml_model

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
X = np.random.default_rng(0).standard_normal((11, 4)).astype(np.float32)


def _attributes(count: int, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(count)
    return {"coefficients": list(rng.standard_normal(4 * count)), "intercepts": list(rng.random(count)), **more}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("targets", [1, 3])
def test_linear_regressor(targets: int, transform: str) -> None:
    check_ml("LinearRegressor", {"x": X}, **_attributes(targets, targets=targets, post_transform=transform))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float64])
def test_other_types_and_no_intercepts(kind: Any) -> None:
    x = (X * 10).astype(kind)
    given = _attributes(2)
    del given["intercepts"]
    check_ml("LinearRegressor", {"x": x}, **given, targets=2)
    check_ml("LinearClassifier", {"x": x}, outputs=2, **given, classlabels_ints=[3, 9])


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(("scores", "labels"), [(3, [0, 1, 2]), (3, [5, 9, -2]), (1, [0, 1]), (1, [4, 7]), (1, [3])])
def test_linear_classifier(scores: int, labels: list[int], transform: str) -> None:
    given = _attributes(scores, post_transform=transform, classlabels_ints=labels)
    check_ml("LinearClassifier", {"x": X}, outputs=2, **given)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (_attributes(2, post_transform="PROBIT", classlabels_ints=[0, 1]), "PROBIT is not supported"),
        (_attributes(2, post_transform="ODD", classlabels_ints=[0, 1]), "post_transform is 'ODD'"),
        ({"coefficients": [1.0, 2.0, 3.0], "classlabels_ints": [0, 1]}, "3 coefficients for 4 features"),
        (_attributes(3, classlabels_ints=[0, 1]), "2 labels for 3 scores"),
    ],
)
def test_refusals(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        import_model(ml_model("LinearClassifier", {"x": X}, outputs=2, **attributes), make_context(["graph"]))


def test_labels_that_are_strings_are_refused() -> None:
    model = ml_model("LinearClassifier", {"x": X}, outputs=2, **_attributes(2, classlabels_strings=["a", "b"]))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
    with pytest.raises(CompileError, match=r"are strings.*\n.*numbers"):
        import_model(model, make_context(["graph"]))
