"""Einsum -> diagonals, transpositions, a matrix product per pair of operands, a sum."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, broadcast_to, constant, reshape, shape_of


@dataclass(frozen=True)
class _Term:
    """An operand whose dimensions have distinct labels."""

    value: Any
    labels: str

    def extent(self, label: str) -> int:
        return shape_of(self.value)[self.labels.index(label)]

    def ordered(self, labels: str) -> Any:
        """The operand with its dimensions in this order; labels that it lacks get extent 1."""
        own = [label for label in labels if label in self.labels]
        permutation = [self.labels.index(label) for label in own]
        value = self.value
        if permutation != list(range(len(permutation))):
            value = graph.Transpose.build(value, permutation=permutation).result
        return reshape(value, [self.extent(label) if label in self.labels else 1 for label in labels])

    def summed(self, kept: str) -> "_Term":
        """Without the labels that nobody else needs."""
        axes = [i for i, label in enumerate(self.labels) if label not in kept]
        if not axes:
            return self
        value = graph.Reduce.build(self.value, kind="sum", axes=axes, keepdims=False).result
        return _Term(value, "".join(label for label in self.labels if label in kept))


def _without_ellipsis(node: Node, equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """Labels of each operand and of the result; an ellipsis becomes labels of its own."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise node.error(f"equation '{equation}' names {len(inputs)} operands of {len(ranks)}")
    hidden = [rank - len(text.replace("...", "")) for text, rank in zip(inputs, ranks, strict=True) if "..." in text]
    spare = "".join(chr(0x100 + i) for i in range(max(hidden, default=0)))
    if not arrow:
        count = Counter(left.replace("...", "").replace(",", ""))
        right = ("..." if hidden else "") + "".join(sorted(label for label, times in count.items() if times == 1))
    labels = []
    for text, rank in zip(inputs, ranks, strict=True):
        own = rank - len(text.replace("...", ""))
        labels.append(text.replace("...", spare[len(spare) - own :]))
    if any(len(text) != rank for text, rank in zip(labels, ranks, strict=True)):
        raise node.error(f"equation '{equation}' does not fit operands of rank {ranks}")
    return labels, right.replace("...", spare)


def _diagonal(value: Any, labels: str) -> _Term:
    """Keep the elements whose indices agree where a label occurs twice."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            shape = shape_of(value)
            rank = len(shape)
            rows = np.arange(shape[first]).reshape([-1 if i == first else 1 for i in range(rank)])
            columns = np.arange(shape[second]).reshape([-1 if i == second else 1 for i in range(rank)])
            kept = graph.Where.build(constant(rows == columns), value, constant(0, like=value)).result
            value = graph.Reduce.build(kept, kind="sum", axes=[second], keepdims=False).result
            labels = labels[:second] + labels[second + 1 :]
    return _Term(value, labels)


def _product(left: _Term, right: _Term, kept: str) -> _Term:
    """Contract two operands over the labels that only they have."""
    left = left.summed(kept + right.labels)
    right = right.summed(kept + left.labels)
    shared = [label for label in left.labels if label in right.labels]
    wide = [label for label in shared if left.extent(label) == right.extent(label)]
    contracted = "".join(label for label in wide if label not in kept)
    batch = "".join(label for label in shared if label not in contracted)
    rows = "".join(label for label in left.labels if label not in shared)
    columns = "".join(label for label in right.labels if label not in shared)
    sizes = {label: max(t.extent(label) for t in (left, right) if label in t.labels)
             for label in batch + rows + columns + contracted}  # fmt: skip

    def matrix(term: _Term, *groups: str) -> Any:
        """The operand as a stack of matrices, one dimension per group of labels."""
        labels = batch + "".join(groups)
        value = broadcast_to(term.ordered(labels), [sizes[label] for label in labels])
        return reshape(value, [math.prod(sizes[label] for label in group) for group in (batch, *groups)])

    product = graph.MatMul.build(matrix(left, rows, contracted), matrix(right, contracted, columns)).result
    labels = batch + rows + columns
    return _Term(reshape(product, [sizes[label] for label in labels]), labels)


def einsum(node: Node) -> Any:
    """Einsum: operands are contracted from the left, two at a time."""
    operands = node.operands()
    inputs, output = _without_ellipsis(node, node.attribute("equation"), [len(shape_of(x)) for x in operands])
    terms = [_diagonal(value, labels) for value, labels in zip(operands, inputs, strict=True)]
    total = terms[0]
    for i, term in enumerate(terms[1:], 1):
        later = "".join(other.labels for other in terms[i + 1 :])
        total = _product(total, term, output + later)
    return total.summed(output).ordered(output)
