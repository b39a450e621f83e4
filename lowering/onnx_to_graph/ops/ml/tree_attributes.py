"""Forests from the attributes of TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble of ai.onnx.ml."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mnc.lowering.onnx_to_graph.node import Node
from mnc.lowering.onnx_to_graph.ops.ml.forest import MODES, Branching, Forest


def numbers(node: Node, name: str) -> list[Any]:
    """An attribute that is a list or, as doubles, a tensor; empty if it is absent."""
    tensor = node.attribute(f"{name}_as_tensor")
    given = node.attribute(name) if tensor is None else tensor
    return [] if given is None else np.asarray(given).reshape(-1).tolist()


def _columns(node: Node, prefix: str, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Entries of lists of one length."""
    columns = {name: numbers(node, f"{prefix}_{name}") for name in names}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{prefix}_{name} has {length}" for name, length in lengths.items())
        raise node.error(f"its lists have different lengths: {text}", hint="export the model again")
    return zip(*columns.values(), strict=True)


def _mode(node: Node, mode: str) -> str:
    if mode not in MODES:
        raise node.error(f"the mode of a node is '{mode}'", hint=f"it may be {', '.join(MODES)}")
    return mode


def by_tree_and_node(node: Node, leaf: str) -> Forest:
    """Forest of TreeEnsembleRegressor (`leaf` is "target") and TreeEnsembleClassifier ("class"): nodes have numbers of
    their own in each tree, the first of a tree is its root, and leaves are nodes without branches."""
    weights: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    for tree, place, target, weight in _columns(node, leaf, ("treeids", "nodeids", "ids", "weights")):
        weights[tree, place].append((target, weight))
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
    rows = list(_columns(node, "nodes", names))
    missing = numbers(node, "nodes_missing_value_tracks_true") or [0] * len(rows)
    codes: dict[tuple[int, int], int] = {}
    leaves: list[list[tuple[int, float]]] = []
    inner = []
    for row, tracks_true in zip(rows, missing, strict=False):
        key = row[:2]
        if row[2] == "LEAF":
            codes[key] = -1 - len(leaves)
            leaves.append(weights.get(key, []))
        else:
            codes[key] = len(inner)
            inner.append((row, bool(tracks_true)))
    roots = {row[0]: codes[row[:2]] for row in reversed(rows)}
    nodes = [_branching(node, row, tracks_true, codes) for row, tracks_true in inner]
    return _checked(node, Forest(nodes, leaves, [roots[tree] for tree in sorted(roots)]))


def _branching(node: Node, row: tuple[Any, ...], tracks_true: bool, codes: dict[tuple[int, int], int]) -> Branching:
    tree, place, mode, feature, value, *branches = row
    lost = [branch for branch in branches if (tree, branch) not in codes]
    if lost:
        raise node.error(f"node {place} of tree {tree} leads to node {lost[0]}, which it has not", "export it again")
    if_true, if_false = (codes[tree, branch] for branch in branches)
    return Branching(feature, _mode(node, mode), (value,), tracks_true, if_true, if_false)


def by_position(node: Node) -> Forest:
    """Forest of TreeEnsemble: nodes and leaves are numbered by where they stand in the lists."""
    names = ("modes", "featureids", "splits", "truenodeids", "trueleafs", "falsenodeids", "falseleafs")
    rows = list(_columns(node, "nodes", names))
    missing = numbers(node, "nodes_missing_value_tracks_true") or [0] * len(rows)
    sets = _memberships(numbers(node, "membership_values"))
    leaves = [[(target, weight)] for target, weight in _columns(node, "leaf", ("targetids", "weights"))]
    nodes = []
    for (mode, feature, split, *branches), tracks_true in zip(rows, missing, strict=False):
        name = MODES[mode] if 0 <= mode < len(MODES) else str(mode)
        values = next(sets, None) if name == "BRANCH_MEMBER" else (split,)
        if values is None:
            raise node.error("membership_values has fewer sets than there are nodes that ask", "export it again")
        if_true, if_false = (-1 - place if is_leaf else place for place, is_leaf in (branches[:2], branches[2:]))
        nodes.append(Branching(feature, _mode(node, name), values, bool(tracks_true), if_true, if_false))
    return _checked(node, Forest(nodes, leaves, numbers(node, "tree_roots")))


def _memberships(values: list[float]) -> Iterator[tuple[float, ...]]:
    """Sets, which end with NaN each."""
    members: list[float] = []
    for value in values:
        if np.isnan(value):
            yield tuple(members)
            members = []
        else:
            members.append(value)


def _checked(node: Node, forest: Forest) -> Forest:
    if not forest.roots:
        raise node.error("has no trees", hint="give at least one")
    places = [*forest.roots, *(place for entry in forest.nodes for place in (entry.if_true, entry.if_false))]
    if not all(-len(forest.leaves) <= place < len(forest.nodes) for place in places):
        raise node.error("a branch leads to a node or leaf that does not exist", hint="export the model again")
    return forest
