"""Support vector machines against the reference of ONNX."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from ml_models import check_ml, ml_model

KERNELS = {
    "LINEAR": [0.0, 0.0, 0.0], "RBF": [0.4, 0.0, 3.0], "POLY": [0.1, 1.0, 3.0], "SIGMOID": [0.2, -0.5, 0.0]
}  # fmt: skip
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
FEATURES = 4


def _features(rows: int, kind: Any = np.float32) -> np.ndarray:
    return (np.random.default_rng(rows).standard_normal((rows, FEATURES)) * 2).astype(kind)


def _kernel(name: str, vectors: int) -> dict[str, Any]:
    rng = np.random.default_rng(vectors)
    return {"kernel_type": name, "kernel_params": KERNELS[name],
            "support_vectors": list(rng.standard_normal(vectors * FEATURES))}  # fmt: skip


@pytest.mark.parametrize("kind", [np.float32, np.int64])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_regressor(kernel: str, one_class: int, kind: Any) -> None:
    coefficients = list(np.random.default_rng(1).standard_normal(7))
    more = {"coefficients": coefficients, "n_supports": 7, "rho": [0.25], "one_class": one_class}
    check_ml("SVMRegressor", {"x": _features(9, kind)}, **_kernel(kernel, 7), **more)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_regressor_without_vectors(transform: str) -> None:
    more = {"coefficients": [0.5, -1.0, 2.0, 0.1], "rho": [0.25], "post_transform": transform}
    check_ml("SVMRegressor", {"x": _features(9)}, **more)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("sizes", [[3, 4], [2, 3, 1], [1, 2, 3, 2]])
@pytest.mark.parametrize("positive", [False, True])
def test_classifier(kernel: str, transform: str, sizes: list[int], positive: bool) -> None:
    rng = np.random.default_rng(len(sizes))
    count, total = len(sizes), sum(sizes)
    coefficients = rng.standard_normal((count - 1) * total)
    more = {
        "coefficients": list(np.abs(coefficients) if positive else coefficients), "vectors_per_class": sizes,
        "rho": list(rng.standard_normal(count * (count - 1) // 2)), "classlabels_ints": list(range(3, 3 + count)),
        "post_transform": transform,
    }  # fmt: skip
    check_ml("SVMClassifier", {"x": _features(15)}, outputs=2, **_kernel(kernel, total), **more)


@pytest.mark.parametrize("slope", [-2.0, -0.1, 3.0, -40.0])
def test_probabilities_of_two_classes(slope: float) -> None:
    more = {"coefficients": list(np.random.default_rng(3).standard_normal(7)), "vectors_per_class": [3, 4],
            "rho": [0.1], "prob_a": [slope], "prob_b": [0.3], "classlabels_ints": [0, 1]}  # fmt: skip
    check_ml("SVMClassifier", {"x": _features(40)}, outputs=2, **_kernel("RBF", 7), **more)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(("labels", "rho"), [([4, 9], 1), ([0, 1, 2], 3)])
@pytest.mark.parametrize("positive", [False, True])
def test_classifier_without_vectors(labels: list[int], rho: int, transform: str, positive: bool) -> None:
    coefficients = np.random.default_rng(rho).standard_normal(len(labels) * FEATURES)
    more = {"coefficients": list(np.abs(coefficients) if positive else coefficients), "rho": [0.2, 0.1, -0.3][:rho],
            "classlabels_ints": labels, "post_transform": transform}  # fmt: skip
    check_ml("SVMClassifier", {"x": _features(12)}, outputs=2, **more)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kernel_type": "ODD"}, "kernel_type is 'ODD'"),
        ({"support_vectors": [1.0, 2.0]}, "2 numbers for 6 support vectors of 4 features"),
        ({"rho": [1.0]}, "1 numbers, and 3 are needed"),
        ({"prob_a": [1.0] * 3, "prob_b": [1.0] * 3}, "depends on the input"),
        ({"coefficients": [1.0]}, "1 coefficients for 6 vectors"),
    ],
)
def test_refusals(changed: dict[str, Any], message: str) -> None:
    more = {"coefficients": [1.0] * 12, "vectors_per_class": [2, 3, 1], "rho": [0.0] * 3, "classlabels_ints": [0, 1, 2]}
    given = {**_kernel("RBF", 6), **more, **changed}
    with pytest.raises(CompileError, match=message):
        import_model(ml_model("SVMClassifier", {"x": _features(3)}, outputs=2, **given), make_context(["graph"]))
