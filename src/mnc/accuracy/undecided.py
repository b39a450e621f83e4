"""Choices that rounding may turn: which side of a comparison is larger, which element is the largest.

No bound can be given for them: a boolean is right or wrong, and the place of another element is any number. But where
the two sides are closer to each other than rounding explains, either choice is right. The difference of both sides is
judged, so that errors which they share count nothing: bounds come from the deviations of the difference in the
disturbed evaluations, one for every choice (`margin_of_choices`).

What follows from such a choice is found by evaluating it: the operations behind it are evaluated without any rounding,
several times, with every undecided choice drawn by lot. What takes another value in any of these evaluations, or in
any that is disturbed, is undecided as well.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mnc.accuracy.error_rules import kind_of
from mnc.accuracy.margins import SAMPLES, margin_of_choices
from mnc.accuracy.near_places import evaluate_near
from mnc.core.bindings import ir
from mnc.passes.graph.evaluate import evaluate_operation, python_attributes

COMPARISONS = ("equal", "greater", "less", "greater_or_equal", "less_or_equal")
STEPS = ("floor", "ceil", "round", "sign")
"""What jumps where its operand crosses an edge; casts to integers do, too."""
DRAWS = SAMPLES
"""Evaluations with choices drawn by lot; a choice stays what it was in all of them once in 2^16 times."""

Array = np.ndarray
Samples = list[Array]
"""The undisturbed value, then the disturbed ones."""


class Choices:
    """What the values of a graph may become by undecided choices. Values that are the same in all evaluations are not
    kept."""

    def __init__(self, block: ir.Block, results: Sequence[Any], rng: np.random.Generator) -> None:
        """
        Args:
            results: the values of `block` that are asked for; only what leads to them is followed.
        """
        self._asked = _sources(block, results)
        self._drawn: dict[Any, list[Array]] = {}
        self._rng = rng

    def follow(self, op: Any, operands: list[Samples], results: list[Samples]) -> None:
        """Take up what an operation makes of the choices in its operands, and those of its own."""
        if not any(result in self._asked for result in op.operation.results):
            return
        exact = [own[0] for own in results]
        given = [self._drawn.get(value) for value in op.operation.operands]
        drawn = [exact] * DRAWS
        if any(own is not None for own in given):
            columns = [[own[0]] * DRAWS if lots is None else lots for own, lots in zip(operands, given, strict=True)]
            drawn = [evaluate_near(op, list(values)) for values in zip(*columns, strict=True)]
        of_results = [list(own) for own in zip(*drawn, strict=True)]
        of_results[0] = self._own(op, operands, of_results[0], results[0])
        for result, own, value in zip(op.operation.results, of_results, exact, strict=True):
            if any(not np.array_equal(one, value, equal_nan=one.dtype.kind == "f") for one in own):
                self._drawn[result] = own

    def forget(self, value: Any) -> None:
        """Of a value that nothing reads any more."""
        self._drawn.pop(value, None)

    def undecided(self, value: Any, samples: Samples) -> Array:
        """Which elements differ in any evaluation: a mask."""
        others = [*samples[1:], *self._drawn.get(value, [])]
        mask = np.zeros(samples[0].shape, bool)
        for other in others:
            mask |= other != samples[0]
        return mask

    def _own(self, op: Any, operands: list[Samples], drawn: list[Array], result: Samples) -> list[Array]:
        """The drawn results, with the operation's own choices drawn as well."""
        kind, to_integers = kind_of(op), result[0].dtype.kind in "iub"
        if kind in COMPARISONS:
            return self._turned(drawn, _near_equal(*operands))
        if kind == "arg_reduce":
            return self._places(op, operands[0], drawn)
        if kind == "cast" and result[0].dtype.kind == "b":
            return self._turned(drawn, _near_equal(operands[0], [np.zeros(())] * (DRAWS + 1)))
        if not operands or operands[0][0].dtype.kind != "f" or not (kind in STEPS or to_integers):
            return drawn
        if kind in (*STEPS, "cast"):
            bound = _bound(operands[0])
            ends = [evaluate_operation(op, [operands[0][0] + sign * bound], wide=True)[0] for sign in (-1, 1)]
            changed = [(ends[number % 2], ends[number % 2] != result[0]) for number in range(DRAWS)]
        else:
            changed = [(one, one != result[0]) for one in result[1:]]
        return [np.where(by, new, one) for one, (new, by) in zip(drawn, changed, strict=True)]

    def _turned(self, drawn: list[Array], undecided: Array) -> list[Array]:
        """Booleans, of which in the first evaluation all undecided ones are turned, later each by lot."""
        if not undecided.any():
            return drawn
        turned = [undecided, *(undecided & (self._rng.random(undecided.shape) < 0.5) for _ in drawn[1:])]
        return [one ^ by for one, by in zip(drawn, turned, strict=True)]

    def _places(self, op: Any, operand: Samples, drawn: list[Array]) -> list[Array]:
        """Places of elements that may be the largest, drawn by lot; in the first evaluation another one than that of
        the undisturbed."""
        attributes = python_attributes(op)
        axis, keepdims = attributes["axis"], attributes["keepdims"]
        best = np.expand_dims(np.argmax(operand[0], axis) if attributes["kind"] == "max"
                              else np.argmin(operand[0], axis), axis)  # fmt: skip
        rivals = _near_equal(operand, [np.take_along_axis(own, best, axis) for own in operand])
        undecided = rivals.any(axis=axis, keepdims=True)
        if not undecided.any():
            return drawn
        np.put_along_axis(rivals, best, undecided, axis)
        found = []
        for number, one in enumerate(drawn):
            weights = rivals * (1 + self._rng.random(rivals.shape))
            if number == 0:
                np.put_along_axis(weights, best, 0.5, axis)
            place = np.argmax(weights, axis=axis, keepdims=True)
            as_result = (place, undecided) if keepdims else (place.squeeze(axis), undecided.squeeze(axis))
            found.append(np.where(as_result[1], as_result[0], one).astype(one.dtype))
        return found


def _sources(block: ir.Block, results: Sequence[Any]) -> set[Any]:
    """The values that lead to results."""
    found = set(results)
    for op in reversed(list(block.operations)):
        if any(result in found for result in op.operation.results):
            found.update(op.operation.operands)
    return found


def _near_equal(left: Samples, right: Samples) -> Array:
    """Where two values, which broadcast, are closer to each other than the deviations of their difference explain. Two
    that differ by the same in every evaluation are not, equal ones included."""
    if is_exact(left) and is_exact(right):
        return np.zeros(np.broadcast_shapes(left[0].shape, right[0].shape), bool)
    with np.errstate(all="ignore"):
        gaps = [a.astype(np.float64) - b.astype(np.float64) for a, b in zip(left, right, strict=True)]
        bound = _bound(gaps)
        return (bound > 0) & (np.abs(gaps[0]) <= bound)  # neither holds for what is no number


def _bound(samples: Samples) -> Array:
    """Of the error of every element, to both sides; 0 where an evaluation gives no number."""
    if is_exact(samples):
        return np.zeros(samples[0].shape)
    total = np.zeros(samples[0].shape)
    for sample in samples[1:]:
        total += np.square(sample - samples[0])
    return margin_of_choices(2 * total.size) * np.sqrt(np.nan_to_num(total, nan=0.0, posinf=np.inf) / SAMPLES)


def is_exact(samples: Samples) -> bool:
    """Whether no evaluation disturbs a value."""
    return all(sample is samples[0] for sample in samples)
