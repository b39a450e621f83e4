"""Random decision trees as attributes of the tree ensembles of ai.onnx.ml."""

from typing import Any

import numpy as np
from onnx import TensorProto, helper

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def random_forest(
    rng: np.random.Generator, leaf: str, trees: int, depth: int, features: int, targets: int,
    modes: tuple[str, ...] = MODES[:1], missing: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Attributes of TreeEnsembleRegressor (`leaf` "target") or TreeEnsembleClassifier ("class"). Thresholds are small
    integers and halves, which features may equal."""
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
    nodes: dict[str, list[Any]] = {f"nodes_{name}": [] for name in names}
    leaves: dict[str, list[Any]] = {f"{leaf}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}

    def grow(tree: int, level: int, count: list[int]) -> int:
        number = count[0]
        count[0] += 1
        inner = level < depth and (level == 0 or rng.random() < 0.8)
        row = [tree, number, str(rng.choice(modes)) if inner else "LEAF", int(rng.integers(features)),
               float(rng.integers(-4, 5)) / 2, 0, 0]  # fmt: skip
        at = len(nodes["nodes_treeids"])
        for name, value in zip(names, row, strict=True):
            nodes[f"nodes_{name}"].append(value)
        if inner:
            nodes["nodes_truenodeids"][at] = grow(tree, level + 1, count)
            nodes["nodes_falsenodeids"][at] = grow(tree, level + 1, count)
        else:
            for target in rng.choice(targets, size=int(rng.integers(1, targets + 1)), replace=False):
                for name, value in zip(leaves, (tree, number, int(target), float(rng.standard_normal())), strict=True):
                    leaves[name].append(value)
        return number

    for tree in range(trees):
        grow(tree, 0 if depth else 1, [0])
    if missing:
        nodes["nodes_missing_value_tracks_true"] = [int(v) for v in rng.integers(0, 2, len(nodes["nodes_modes"]))]
    return {**nodes, **leaves}


def random_features(rng: np.random.Generator, rows: int, features: int, missing: bool = False) -> np.ndarray:
    """Integers and halves as random thresholds are; with NaN if `missing`."""
    x = (rng.integers(-5, 6, (rows, features)) / 2).astype(np.float32)
    if missing:
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def by_position(attributes: dict[str, Any], kind: type[np.floating[Any]] = np.float32) -> dict[str, Any]:
    """A forest of one target per leaf, as attributes of TreeEnsemble."""
    onnx_kind = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    keys = list(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True))
    modes = attributes["nodes_modes"]
    inner = {key: i for i, key in enumerate(key for key, mode in zip(keys, modes, strict=True) if mode != "LEAF")}
    weighted = list(zip(attributes["target_treeids"], attributes["target_nodeids"], strict=True))
    leaves = {key: i for i, key in enumerate(weighted)}
    chosen = [i for i, mode in enumerate(modes) if mode != "LEAF"]
    out: dict[str, Any] = {
        "nodes_featureids": [attributes["nodes_featureids"][i] for i in chosen],
        "leaf_targetids": attributes["target_ids"],
        "tree_roots": [inner[tree, 0] for tree in sorted(set(attributes["nodes_treeids"]))],
    }
    for side in ("true", "false"):
        ends = [(attributes["nodes_treeids"][i], attributes[f"nodes_{side}nodeids"][i]) for i in chosen]
        out[f"nodes_{side}leafs"] = [int(end in leaves) for end in ends]
        out[f"nodes_{side}nodeids"] = [leaves.get(end, inner.get(end, 0)) for end in ends]
    if "nodes_missing_value_tracks_true" in attributes:
        out["nodes_missing_value_tracks_true"] = [attributes["nodes_missing_value_tracks_true"][i] for i in chosen]
    numbers = {"nodes_splits": [attributes["nodes_values"][i] for i in chosen],
               "leaf_weights": attributes["target_weights"]}  # fmt: skip
    for name, values in numbers.items():
        out[name] = helper.make_tensor(name, onnx_kind, [len(values)], values)
    codes = [MODES.index(modes[i]) for i in chosen]
    out["nodes_modes"] = helper.make_tensor("modes", TensorProto.UINT8, [len(codes)], codes)
    return out
