"""Det of small matrices."""

from itertools import combinations
from math import prod
from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, reshape, shape_of

LARGEST = 6
"""Rows of a matrix: minors of n rows take n * 2^(n - 1) products, and have no pivots."""


def det(node: Node) -> Any:
    """Det: minors of the last rows, from one row upwards."""
    x = node.operand(0)
    *lead, size, _ = shape_of(x)
    if size > LARGEST:
        message = f"its matrices have {size} rows, and those of more than {LARGEST} need pivots"
        raise node.error(message, hint="compute it on the host: cut the model before it")
    if size == 0:
        raise node.error("its matrices are empty", hint="a determinant needs a row")
    count = prod(lead)
    matrices = reshape(x, [count, size, size])

    def entry(row: int, column: int) -> Any:
        place = [0, row, column], [count, row + 1, column + 1]
        return graph.Slice.build(matrices, starts=place[0], limits=place[1], steps=[1] * 3).result

    minors: dict[tuple[int, ...], Any] = {(column,): entry(size - 1, column) for column in range(size)}
    for row in reversed(range(size - 1)):
        entries = [entry(row, column) for column in range(size)]
        minors = {columns: _expanded(entries, columns, minors) for columns in combinations(range(size), size - row)}
    return reshape(minors[tuple(range(size))], lead)


def _expanded(entries: list[Any], columns: tuple[int, ...], minors: dict[tuple[int, ...], Any]) -> Any:
    """Laplace's expansion along the first row."""
    total = None
    for number, column in enumerate(columns):
        term = graph.Mul.build(entries[column], minors[columns[:number] + columns[number + 1 :]]).result
        if total is None:
            total = term
        else:
            total = (graph.Sub if number % 2 else graph.Add).build(total, term).result
    return total
