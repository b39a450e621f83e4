"""A forest of decision trees as arrays: which conditions there are, and which of them lead to a leaf.

A program without branches evaluates all conditions of a tree at once, and a leaf is reached if all conditions on its
way hold (the strategy "GEMM" of Nakandala et al., *A Tensor Compiler for Unified Machine Learning Prediction Serving*,
OSDI 2020). Every tree has a matrix of conditions x leaves with 1 where the leaf is on the side on which the condition
holds, and -1 where it is on the other. The product with the conditions, which are 0 or 1, is the number of those with 1
if and only if the leaf is reached: small integers, which every precision of products has exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

LARGEST = float(np.finfo(np.float32).max)
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
COMPARISONS = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_EQ")
"""What is left of the modes: the others are one of these with their branches exchanged, or several of them."""
_NEGATED = {"BRANCH_GTE": "BRANCH_LT", "BRANCH_GT": "BRANCH_LEQ", "BRANCH_NEQ": "BRANCH_EQ"}


@dataclass(frozen=True)
class Branching:
    """An inner node: its feature is compared with the threshold in `values`, or looked up in them.

    Branches are numbers of inner nodes, or -1 - number of a leaf.
    """

    feature: int
    mode: str
    values: tuple[float, ...]
    missing_is_true: bool
    if_true: int
    if_false: int


@dataclass(frozen=True)
class Forest:
    """Inner nodes; (target, weight) pairs of every leaf; where each tree begins, coded as branches are."""

    nodes: list[Branching]
    leaves: list[list[tuple[int, float]]]
    roots: list[int]


@dataclass(frozen=True)
class Condition:
    """A comparison of a feature with a threshold. A missing feature is the largest number in it, so that it does not
    hold; with `low`, the least one, so that it does."""

    feature: int
    comparison: str
    threshold: float
    low: bool


@dataclass
class Tree:
    """The conditions of a tree and its leaves: (their number, {condition: whether it must hold}).

    Of the conditions of one node at most one holds; `needed` is how many of those that a leaf names must hold.
    """

    conditions: list[Condition]
    leaves: list[tuple[int, dict[int, bool], int]]


def _threshold(value: float, comparison: str, low: bool) -> float:
    """The float32 with which float32 numbers compare as with `value`; finite, and such that missing features differ."""
    single = np.float32(np.clip(value, -LARGEST, LARGEST))
    if comparison == "BRANCH_LEQ" and single > value:
        single = np.nextafter(single, np.float32(-np.inf))
    if comparison == "BRANCH_LT" and single < value:
        single = np.nextafter(single, np.float32(np.inf))
    below = np.nextafter(np.float32(LARGEST), np.float32(0))
    return float(single if low else min(single, below))


def _conditions(node: Branching) -> tuple[list[Condition], bool]:
    """Conditions of which at most one holds, and whether one that holds leads to the true branch."""
    comparison = _NEGATED.get(node.mode, "BRANCH_EQ" if node.mode == "BRANCH_MEMBER" else node.mode)
    holds_is_true = node.mode not in _NEGATED
    missing_holds = node.missing_is_true == holds_is_true
    if comparison != "BRANCH_EQ":
        threshold = _threshold(node.values[0], comparison, missing_holds)
        return [Condition(node.feature, comparison, threshold, missing_holds)], holds_is_true
    members = [value for value in dict.fromkeys(node.values) if np.float32(value) == value]
    found = [Condition(node.feature, comparison, value, False) for value in members]
    if missing_holds:
        found.append(Condition(node.feature, comparison, -LARGEST, True))
    return found, holds_is_true


def _tree(forest: Forest, root: int) -> Tree:
    """Raises ValueError for a node that is reached twice."""
    tree = Tree([], [])
    seen: set[int] = set()
    waiting: list[tuple[int, dict[int, bool], int]] = [(root, {}, 0)]
    while waiting:  # no recursion: trees may be deep
        place, path, needed = waiting.pop()
        if place < 0:
            tree.leaves.append((-1 - place, path, needed))
            continue
        if place in seen:
            raise ValueError(f"node {place} is reached by two branches, so this is no tree")
        seen.add(place)
        node = forest.nodes[place]
        found, holds_is_true = _conditions(node)
        numbers = range(len(tree.conditions), len(tree.conditions) + len(found))
        tree.conditions += found
        for branch, is_true in ((node.if_false, False), (node.if_true, True)):
            holds = is_true == holds_is_true
            waiting.append((branch, {**path, **dict.fromkeys(numbers, holds)}, needed + holds))
    return tree


@dataclass(frozen=True)
class ForestArrays:
    """T trees of at most N conditions and L leaves, padded.

    Attributes:
        conditions: [T][N]; the last ones of a tree are no more than padding.
        paths: [T, N, L] of 1, -1 and 0.
        needed: [T, L], what the product of conditions and paths is where the leaf is reached; -1 for padding.
        leaves: [T][L], the number of each leaf, None for padding.
    """

    conditions: list[list[Condition]]
    paths: np.ndarray
    needed: np.ndarray
    leaves: list[list[int | None]]


def sizes(forest: Forest) -> tuple[int, int, int]:
    """T, N and L of the arrays.

    Raises:
        ValueError: a node is reached twice.
    """
    trees = [_tree(forest, root) for root in forest.roots]
    return len(trees), max(max(len(t.conditions) for t in trees), 1), max(len(t.leaves) for t in trees)


def to_arrays(forest: Forest) -> ForestArrays:
    """The arrays of a forest of at least one tree; raises ValueError for a node that is reached twice."""
    trees = [_tree(forest, root) for root in forest.roots]
    count, wide, most = sizes(forest)
    paths, needed = np.zeros((count, wide, most), np.float32), np.full((count, most), -1, np.float32)
    padding = Condition(0, COMPARISONS[0], 0.0, False)
    conditions: list[list[Condition]] = []
    leaves: list[list[int | None]] = []
    for t, tree in enumerate(trees):
        conditions.append(tree.conditions + [padding] * (wide - len(tree.conditions)))
        leaves.append([number for number, _, _ in tree.leaves] + [None] * (most - len(tree.leaves)))
        for place, (_, path, wanted) in enumerate(tree.leaves):
            needed[t, place] = wanted
            for condition, holds in path.items():
                paths[t, condition, place] = 1 if holds else -1
    return ForestArrays(conditions, paths, needed, leaves)


def each_weight(forest: Forest, arrays: ForestArrays) -> Iterator[tuple[int, int, int, float]]:
    """(tree, leaf, target, weight) of everything that leaves add."""
    for t, places in enumerate(arrays.leaves):
        for place, number in enumerate(places):
            for target, weight in forest.leaves[number] if number is not None else ():
                yield t, place, target, weight
