"""Probabilities of two classes from that of the first against the second, by the iteration of libsvm.

The solution is this probability itself, but the iteration (Wu, Lin and Weng, *Probability Estimates for Multi-class
Classification by Pairwise Coupling*, 2004, algorithm 2) begins at a half and stops when it is near; so the reference of
ONNX and libsvm are off by up to 0.005. For two classes it stops after two rounds at most.
"""

from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import constant

_ROUNDS = 2
_TOLERANCE = 0.005 / 2
_LEAST = 1e-7


def _add(a: Any, b: Any) -> Any:
    return graph.Add.build(a, b).result


def _sub(a: Any, b: Any) -> Any:
    return graph.Sub.build(a, b).result


def _mul(a: Any, b: Any) -> Any:
    return graph.Mul.build(a, b).result


def _div(a: Any, b: Any) -> Any:
    return graph.Div.build(a, b).result


def two_class_probabilities(first: Any) -> list[Any]:
    """Probabilities of both classes, each of the shape of `first`, the probability of the first against the second."""
    p = graph.Clip.build(first, min=_LEAST, max=1 - _LEAST).result
    q = _sub(constant(1, like=p), p)
    mixed = graph.Neg.build(_mul(p, q)).result
    matrix = [[_mul(q, q), mixed], [mixed, _mul(p, p)]]
    half = _mul(p, constant(0, like=p))
    guess = [_add(half, constant(0.5, like=p))] * 2
    is_near = None
    for _ in range(_ROUNDS):
        guess, is_near = _round(matrix, guess, is_near)
    return guess


def _round(matrix: list[list[Any]], guess: list[Any], is_near: Any) -> tuple[list[Any], Any]:
    """One round; where a guess is or was near, it stays."""
    slopes = [_add(_mul(row[0], guess[0]), _mul(row[1], guess[1])) for row in matrix]
    value = _add(_mul(guess[0], slopes[0]), _mul(guess[1], slopes[1]))
    error = graph.Max.build(*(graph.Abs.build(_sub(slope, value)).result for slope in slopes)).result
    now = graph.Less.build(error, constant(_TOLERANCE, like=error)).result
    is_near = now if is_near is None else graph.Or.build(is_near, now).result
    found, two = list(guess), constant(2, like=value)
    for t in range(2):
        own = matrix[t][t]
        step = _div(_sub(value, slopes[t]), own)
        scale = _add(step, constant(1, like=step))
        grown = _add(value, _mul(step, _add(_mul(step, own), _mul(two, slopes[t]))))
        value = _div(grown, _mul(scale, scale))
        found[t] = _add(found[t], step)
        found = [_div(entry, scale) for entry in found]
        slopes = [_div(_add(slopes[i], _mul(step, matrix[t][i])), scale) for i in range(2)]
    return [graph.Where.build(is_near, old, new).result for old, new in zip(guess, found, strict=True)], is_near
