"""TfIdfVectorizer on integers: how often each n-gram of a list occurs in a row, with equal gaps or without."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, reshape, shape_of
from mnc.lowering.onnx_to_graph.unsupported_hints import STRINGS


def tf_idf(node: Node) -> Any:
    """TfIdfVectorizer: every n-gram is compared with what begins at every place of a row."""
    x = node.operand(0)
    shape = shape_of(x)
    rows = reshape(x, [*[1] * (2 - len(shape)), *shape])
    places, counted, own = node.attribute("ngram_indexes"), [], []
    for grams in _grams(node).values():
        counted.append(_counts(node, rows, np.array(list(grams))))
        own += [places[number] for number in grams.values()]
    count = max(places) + 1
    result = _weighted(node, _at_places(shape_of(rows)[0], counted, own, count))
    return reshape(result, [*shape[:-1], count])


def _grams(node: Node) -> dict[int, dict[tuple[int, ...], int]]:
    """Size -> n-grams of that size and their numbers; of equal ones the last counts."""
    if node.attribute("pool_strings"):
        raise node.error("its n-grams are strings", hint=STRINGS)
    pool, starts = node.attribute("pool_int64s", []), [*node.attribute("ngram_counts")]
    found: dict[int, dict[tuple[int, ...], int]] = {}
    number = 0
    for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        own = {}
        for first in range(start, end - size + 1, size):
            own[tuple(pool[first : first + size])] = number
            number += 1
        if own and node.attribute("min_gram_length") <= size <= node.attribute("max_gram_length"):
            found[size] = own
    return found


def _counts(node: Node, rows: Any, grams: np.ndarray) -> Any:
    """How often n-grams of one size occur in each row: floats of shape rows x n-grams."""
    count, size = grams.shape
    length, total = shape_of(rows)[1], None
    furthest = node.attribute("max_skip_count") + 1 if size > 1 else 1
    for distance in range(1, furthest + 1):
        starts = length - distance * (size - 1)
        if starts <= 0:
            break
        hits = None
        for i in range(size):
            low = i * distance
            part = graph.Slice.build(rows, starts=[0, low], limits=[shape_of(rows)[0], low + starts], steps=[1, 1])
            tokens = reshape(part.result, [shape_of(rows)[0], 1, starts])
            hit = graph.Equal.build(tokens, constant(grams[:, i].reshape(1, count, 1), like=rows)).result
            hits = hit if hits is None else graph.And.build(hits, hit).result
        found = graph.Reduce.build(cast(hits, ir.F32Type.get()), kind="sum", axes=[2], keepdims=False).result
        total = found if total is None else graph.Add.build(total, found).result
    return constant(np.zeros((shape_of(rows)[0], count), np.float32)) if total is None else total


def _at_places(rows: int, counted: list[Any], places: list[int], count: int) -> Any:
    """Counts of n-grams at their places among the results; several may have one, and others none."""
    nothing = constant(np.zeros((rows, 1), np.float32))
    columns = nothing
    for own in counted:
        columns = graph.Concat.build(columns, own, axis=1).result
    taken = [[i for i, place in enumerate(places, 1) if place == wanted] for wanted in range(count)]
    total = None
    for turn in range(max(map(len, taken))):
        chosen = np.array([own[turn] if turn < len(own) else 0 for own in taken])
        part = graph.Gather.build(columns, constant(chosen), axis=1).result
        total = part if total is None else graph.Add.build(total, part).result
    return constant(np.zeros((rows, count), np.float32)) if total is None else total


def _weighted(node: Node, counts: Any) -> Any:
    """Counts, whether there are any, or both times the weight of the place."""
    mode, weights = node.attribute("mode"), node.attribute("weights")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise node.error(f"mode '{mode}' does not exist", hint="use 'TF', 'IDF' or 'TFIDF'")
    if mode == "IDF":
        counts = cast(graph.Greater.build(counts, constant(0, like=counts)).result, ir.F32Type.get())
    if mode == "TF" or not weights:
        return counts
    scales = constant(np.array(weights[: shape_of(counts)[1]], np.float32))
    return graph.Mul.build(counts, scales).result
