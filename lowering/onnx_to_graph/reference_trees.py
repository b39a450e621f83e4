"""TreeEnsemble of ai.onnx.ml 5, which the ONNX reference gets wrong in parts.

It ends a set of members at 0, takes sets in the order in which it walks instead of that of the nodes, takes another
leaf for a tree of one leaf, forgets the post-transform, and gives doubles for MIN and MAX.
"""

from typing import Any

import numpy as np
from onnx.reference.ops.aionnxml._common_classifier import logistic, probit, softmax, softmax_zero
from onnx.reference.ops.aionnxml._op_run_aionnxml import OpRunAiOnnxMl

_AVERAGE, _SUM, _MIN, _MAX = range(4)
_MEMBER = 6
_COMPARE = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
_TRANSFORMS: dict[int, Any] = {1: softmax, 2: logistic, 3: softmax_zero, 4: probit}


class TreeEnsemble(OpRunAiOnnxMl):
    """Every row walks through every tree."""

    def _run(self, X: np.ndarray, **given: Any) -> Any:
        kind = given.get("aggregate_function", _SUM)
        targets = given.get("n_targets") or 1
        start = {_MIN: np.finfo(X.dtype).max, _MAX: np.finfo(X.dtype).min}.get(kind, 0)
        scores = np.full((len(X), targets), start, X.dtype)
        members = _members(given)
        for row, own in zip(X, scores, strict=True):
            for root in given["tree_roots"]:
                leaf = _leaf(row, root, members, given)
                target, weight = given["leaf_targetids"][leaf], given["leaf_weights"][leaf]
                own[target] = {_MIN: min, _MAX: max}.get(kind, lambda a, b: a + b)(own[target], weight)
        if kind == _AVERAGE:
            scores /= len(given["tree_roots"])
        transform = _TRANSFORMS.get(given.get("post_transform") or 0)
        return ((scores if transform is None else np.asarray(transform(scores))).astype(X.dtype),)


def _members(given: dict[str, Any]) -> dict[int, list[float]]:
    """Node -> the set that it looks its feature up in; sets stand in the order of the nodes and end with NaN."""
    values = given.get("membership_values")
    if values is None:
        return {}
    ends = np.flatnonzero(np.isnan(values))
    sets = [values[start:end].tolist() for start, end in zip([0, *(ends[:-1] + 1)], ends, strict=True)]
    return dict(zip(np.flatnonzero(given["nodes_modes"] == _MEMBER).tolist(), sets, strict=True))


def _leaf(row: np.ndarray, node: int, members: dict[int, list[float]], given: dict[str, Any]) -> int:
    """Number of the leaf that a row reaches from a node on."""
    missing = given.get("nodes_missing_value_tracks_true")
    while True:
        value, mode = row[given["nodes_featureids"][node]], given["nodes_modes"][node]
        if np.isnan(value):
            side = "true" if missing is not None and missing[node] else "false"
        elif mode == _MEMBER:
            side = "true" if value in members[node] else "false"
        else:
            side = "true" if _COMPARE[mode](value, given["nodes_splits"][node]) else "false"
        is_leaf, node = given[f"nodes_{side}leafs"][node], given[f"nodes_{side}nodeids"][node]
        if is_leaf:
            return node
