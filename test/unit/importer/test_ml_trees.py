"""Tree ensembles against the reference of ONNX, which walks through every tree."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import mnc
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.evaluator import evaluator

sys.path.insert(0, str(Path(__file__).parent))
from ml_models import check_ml, ml_model
from random_trees import MODES, by_position, random_features, random_forest


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("modes", [*((mode,) for mode in MODES), MODES[:2], MODES])
@pytest.mark.parametrize(("trees", "depth", "targets"), [(1, 1, 1), (4, 3, 1), (3, 4, 3), (2, 0, 2)])
def test_regressor(trees: int, depth: int, targets: int, modes: tuple[str, ...], missing: bool) -> None:
    rng = np.random.default_rng([trees, depth, len(modes), MODES.index(modes[0]), missing])
    forest = random_forest(rng, "target", trees, depth, 5, targets, modes, missing)
    check_ml("TreeEnsembleRegressor", {"x": random_features(rng, 40, 5, missing)}, **forest, n_targets=targets)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("base", [0, 1, 3])
def test_aggregates_base_values_and_transforms(aggregate: str, base: int, transform: str) -> None:
    rng = np.random.default_rng(base)
    forest = random_forest(rng, "target", 3, 3, 4, 3)
    more: dict[str, Any] = {"base_values": list(rng.standard_normal(base))} if base else {}
    if aggregate in ("MIN", "MAX"):  # every tree has a weight for every target: without one, it is the largest number
        forest = random_forest(rng, "target", 6, 3, 4, 1)
        more.pop("base_values", None)
    inputs = {"x": random_features(rng, 20, 4)}
    count = 1 if aggregate in ("MIN", "MAX") else 3
    more |= {"aggregate_function": aggregate, "post_transform": transform, "n_targets": count}
    check_ml("TreeEnsembleRegressor", inputs, **forest, **more)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float64])
def test_features_of_other_types(kind: Any) -> None:
    rng = np.random.default_rng(5)
    forest = random_forest(rng, "target", 3, 3, 4, 1, MODES, missing=True)
    check_ml("TreeEnsembleRegressor", {"x": random_features(rng, 20, 4).astype(kind)}, **forest, n_targets=1)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize(("targets", "labels"), [(3, [0, 1, 2]), (3, [7, -3, 5]), (1, [0, 1]), (1, [3, 8])])
@pytest.mark.parametrize("base", [False, True])
def test_classifier(targets: int, labels: list[int], transform: str, base: bool) -> None:
    rng = np.random.default_rng(targets)
    forest = random_forest(rng, "class", 3, 3, 4, targets)
    if base:
        forest["base_values"] = list(rng.standard_normal(targets))
    more = {"classlabels_int64s": labels, "post_transform": transform}
    check_ml("TreeEnsembleClassifier", {"x": random_features(rng, 30, 4)}, outputs=2, **forest, **more)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
def test_tree_ensemble_of_opset_5(aggregate: int, kind: Any) -> None:
    rng = np.random.default_rng(aggregate)
    forest = by_position(random_forest(rng, "target", 3, 3, 4, 1, MODES, missing=True), kind)
    x = random_features(rng, 25, 4, missing=True).astype(kind)
    check_ml("TreeEnsemble", {"x": x}, version=5, **forest, n_targets=1, aggregate_function=aggregate)


def test_members_of_sets() -> None:
    numbers = {"nodes_splits": [0.0, 0.5, 0.0], "leaf_weights": [1.0, 10.0, 100.0, 1000.0],
               "membership_values": [1.0, 2.0, np.nan, -1.0, 0.5, 2.0, np.nan]}  # fmt: skip
    attributes: dict[str, Any] = {
        "nodes_featureids": [0, 1, 0], "nodes_truenodeids": [1, 0, 2], "nodes_falsenodeids": [2, 1, 3],
        "nodes_trueleafs": [0, 1, 1], "nodes_falseleafs": [0, 1, 1], "leaf_targetids": [0, 0, 0, 0],
        "tree_roots": [0], "nodes_missing_value_tracks_true": [1, 0, 1],
        **{name: helper.make_tensor(name, TensorProto.FLOAT, [len(v)], v) for name, v in numbers.items()},
        "nodes_modes": helper.make_tensor("modes", TensorProto.UINT8, [3], [6, 0, 6]),
    }  # fmt: skip
    x = random_features(np.random.default_rng(0), 60, 2, missing=True)
    check_ml("TreeEnsemble", {"x": x}, version=5, **attributes, n_targets=1)


def test_a_shape_that_the_exporter_declares_wrongly() -> None:
    """skl2onnx declares [?, 1] for regressors of several targets."""
    forest = random_forest(np.random.default_rng(0), "target", 2, 2, 3, 4)
    model = ml_model("TreeEnsembleRegressor", {"x": np.ones((5, 3), np.float32)}, **forest, n_targets=4)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", TensorProto.FLOAT, [None, 1]))
    assert "-> tensor<5x4xf32>" in str(import_model(model, make_context(["graph"])))


def _refused(message: str, **changed: Any) -> None:
    forest = random_forest(np.random.default_rng(0), "target", 2, 2, 3, 1)
    model = ml_model("TreeEnsembleRegressor", {"x": np.ones((2, 3), np.float32)}, **{**forest, **changed}, n_targets=1)
    with pytest.raises(CompileError, match=message):
        import_model(model, make_context(["graph"]))


def test_refusals() -> None:
    forest = random_forest(np.random.default_rng(0), "target", 2, 2, 3, 1)
    modes, children = list(forest["nodes_modes"]), list(forest["nodes_truenodeids"])
    _refused("mode of a node is 'BRANCH_ODD'", nodes_modes=["BRANCH_ODD", *modes[1:]])
    _refused("leads to node 99", nodes_truenodeids=[99, *children[1:]])
    _refused("reached by two branches", nodes_truenodeids=[0, *children[1:]])
    _refused("different lengths", nodes_truenodeids=children[1:])
    _refused("beyond the 3 of the input", nodes_featureids=[3] * len(modes))
    _refused("target beyond", target_ids=[5] * len(forest["target_ids"]))
    _refused("PROBIT is not supported", post_transform="PROBIT")


@pytest.mark.parametrize("targets", [1, 4])
def test_sums_of_a_compiled_forest_are_exact_to_singles(targets: int) -> None:
    """Which leaf is reached is exact, and weights of very different sizes keep their digits in products."""
    rng = np.random.default_rng(targets)
    forest = random_forest(rng, "target", 6, 3, 6, targets, MODES[:2], missing=True)
    forest["target_weights"] = [w * 10.0 ** float(rng.integers(-4, 2)) for w in forest["target_weights"]]
    model = ml_model("TreeEnsembleRegressor", {"x": np.ones((24, 6), np.float32)}, **forest, n_targets=targets)
    x = random_features(rng, 24, 6, missing=True)
    want = np.asarray(next(iter(evaluator(model).run(None, {"x": x}))))
    got = mnc.compile(model).run({"x": x})["y0"]
    np.testing.assert_allclose(got, want, rtol=0, atol=6 * 2.0**-23 * np.abs(forest["target_weights"]).max())
