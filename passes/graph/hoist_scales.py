"""The pass `hoist-scales`: one factor in front of linear operations instead of one behind each of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.passes.graph.algebra.common import build, operands_of, representable, result_of
from mnc.passes.graph.matching import constant, constant_of, is_float, producer, shape_of, size_of, splat_of

_ELEMENTS_STAY = ("transpose", "reshape")
_MOVES = (*_ELEMENTS_STAY, "neg", "broadcast_to")


@dataclass(frozen=True)
class HoistScales(Pass):
    """Multiply a tensor by a constant once, where all that is computed from it is linear and multiplied by that later.

    before: ``%w - c * (%x @ %d)``, ``%b - c * sum(%d)``; after: ``%e = -c * %d``, ``%w + %x @ %e``, ``%b + sum(%e)``

    Done where fewer elements are multiplied than before. A training step is the case that matters: the learning rate
    moves from every parameter's gradient into the gradient of the loss, which has constant factors anyway.
    """

    name: ClassVar[str] = "hoist-scales"

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        with module.context, ir.Location.unknown():
            for op in functions_of(module):
                _hoist(op.operation)


@dataclass(frozen=True)
class _Multiple:
    """``product = value * factor``, and the subtraction whose second operand it alone is, moved or not."""

    product: Any
    value: ir.Value
    factor: float
    subtraction: Any


def _hoist(function: Any) -> None:
    """One factor after another: what is made of one changes what is multiplied by the next."""
    found = list(_multiples(function))
    for factor in sorted({multiple.factor for multiple in found}):
        if _Hoisting({m.product: m for m in found if m.factor == factor}, factor).run():
            found = list(_multiples(function))


def _multiples(function: Any) -> Iterable[_Multiple]:
    """Products of a float tensor with one constant; subtracted, they count as added with the factor's negative."""
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name != "graph.mul" or not is_float(result_of(op)):
            continue
        value, factor = operands_of(op)
        number = splat_of(factor)
        if number is None or shape_of(value) != shape_of(result_of(op)) or isinstance(value.owner, ir.Block):
            continue
        users = list(result_of(op).uses)
        while len(users) == 1 and users[0].owner.operation.name.removeprefix("graph.") in _ELEMENTS_STAY:
            users = list(users[0].owner.operation.results[0].uses)
        subtraction = None
        if len(users) == 1 and users[0].owner.operation.name == "graph.sub" and users[0].operand_number == 1:
            subtraction = users[0].owner.operation
        yield _Multiple(op.operation, value, -float(number) if subtraction is not None else float(number), subtraction)


@dataclass
class _Hoisting:
    """One factor in one function: first everything that may be a multiple is found, then all multiples are computed
    beside the values themselves, so that no value ever stands for another.

    `wanted`: values of which every use wants the multiple. `made`: those of them whose multiples are computed, with the
    operand each takes its factor from; None where it is multiplied.
    """

    multiples: dict[Any, _Multiple]
    factor: float
    wanted: set[Any] = field(default_factory=set)
    made: dict[Any, ir.Value | None] = field(default_factory=dict)

    def run(self) -> bool:
        """Rewrite if it saves multiplications; says whether it did."""
        self._find_wanted()
        self._find_made()
        saved = sum(size_of(m.value) for m in self.multiples.values() if m.value in self.made)
        spent = sum(size_of(value) for value, source in self.made.items() if source is None)
        if spent >= saved or not all(self._dies(value) for value in self.made):
            return False
        self._rewrite()
        return True

    def _find_wanted(self) -> None:
        """From the multiples towards their operands. A value is asked again for every use that turns out to want it."""
        pending = [m.value for m in self.multiples.values()]
        while pending:
            value = pending.pop()
            if value in self.wanted or isinstance(value.owner, ir.Block) or not self._is_wanted(value):
                continue
            self.wanted.add(value)
            op = value.owner.operation
            pending += [v for i, v in enumerate(op.operands) if _is_linear(op, i)]

    def _is_wanted(self, value: ir.Value) -> bool:
        return is_float(value) and all(self._wants(use.owner.operation, use.operand_number) for use in value.uses)

    def _wants(self, user: Any, number: int) -> bool:
        if user in self.multiples:
            return number == 0
        return _is_linear(user, number) and user.results[0] in self.wanted

    def _find_made(self) -> None:
        pending = [m.value for m in self.multiples.values() if m.value in self.wanted]
        while pending:
            value = pending.pop()
            if value in self.made:
                continue
            source = self.made[value] = self._source(value)
            if source is not None:
                pending.append(source)

    def _source(self, value: ir.Value) -> ir.Value | None:
        """The operand that carries the factor to `value`: of two the smaller one."""
        op = value.owner.operation
        if op in self.multiples:
            return None
        able = [v for i, v in enumerate(op.operands) if _is_linear(op, i) and v in self.wanted]
        return min(able, key=size_of, default=None)

    def _dies(self, value: ir.Value) -> bool:
        """Whether nobody needs the value itself any more, so that its multiple comes in its place."""
        for user in (use.owner.operation for use in value.uses):
            if user in self.multiples:
                if user.results[0] in self.made:
                    return False
            else:
                source = self.made.get(user.results[0])
                if source is None or source != value:
                    return False
        return True

    def _rewrite(self) -> None:
        multiple: dict[Any, ir.Value] = {}
        for value in self._in_order():
            op, source = value.owner.operation, self.made[value]
            with ir.InsertionPoint.after(op) as behind, op.location:
                if source is None:
                    multiple[value] = _scaled(value, self.factor)
                    continue
                clone = op.clone(ip=behind)
            clone.operands[list(op.operands).index(source)] = multiple[source]
            multiple[value] = clone.results[0]
        for found in self.multiples.values():
            if found.value in self.made:
                _replace(found, multiple[found.value])

    def _in_order(self) -> list[Any]:
        """Values that are made, each behind the one it takes its factor from."""
        ordered: dict[Any, None] = {}
        for value in self.made:
            chain = []
            at: ir.Value | None = value
            while at is not None and at not in ordered:
                chain.append(at)
                at = self.made[at]
            ordered.update(dict.fromkeys(reversed(chain)))
        return list(ordered)


def _replace(found: _Multiple, multiple: ir.Value) -> None:
    """The multiple in place of the product; a subtraction of it becomes an addition."""
    found.product.results[0].replace_all_uses_with(multiple)
    found.product.erase()
    if found.subtraction is not None:
        with ir.InsertionPoint(found.subtraction), found.subtraction.location:
            total = build("add", *found.subtraction.operands)
        found.subtraction.results[0].replace_all_uses_with(total)
        found.subtraction.erase()


def _is_linear(op: Any, number: int) -> bool:
    """Whether a multiple of an operand makes the same multiple of the result."""
    kind = op.name.removeprefix("graph.")
    if kind in _MOVES:
        return True
    if kind == "reduce":
        return ir.StringAttr(op.attributes["kind"]).value in ("sum", "mean")
    if kind == "where":
        return number > 0 and splat_of(op.operands[3 - number]) == 0
    if kind in ("mul", "matmul"):
        return op.operands[0] != op.operands[1]  # a square takes the square of a factor
    return kind == "div" and number == 0 and op.operands[0] != op.operands[1]


def _is_free(value: ir.Value) -> bool:
    """Whether the multiple takes no operation more than the value itself."""
    if producer(value, "constant") is not None:
        return constant_of(value) is not None
    chosen = producer(value, "where")
    if chosen is not None:
        return all(splat_of(v) is not None for v in operands_of(chosen)[1:])
    product = producer(value, "mul")
    return product is not None and any(_is_free(v) for v in operands_of(product))


def _scaled(value: ir.Value, factor: float) -> ir.Value:
    """`value * factor`, the factor moved into constants where that saves the multiplication."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    kind = "" if op is None else op.name.removeprefix("graph.")
    if op is not None and kind == "constant":
        number = splat_of(value)
        array = constant_of(value)
        assert array is not None
        product = np.asarray(array if number is None else number, np.float64) * factor + 0.0  # no zero below zero
        if representable(product, value):
            return constant(product if number is None else np.full(shape_of(value), product), like=value)
    elif op is not None and kind == "where" and _is_free(value):
        condition, *sides = op.operands
        return build("where", condition, *(_scaled(side, factor) for side in sides))
    elif op is not None and kind == "mul" and _is_free(value):
        a, b = op.operands
        return build("mul", a, _scaled(b, factor)) if _is_free(b) else build("mul", _scaled(a, factor), b)
    elif op is not None and kind in ("add", "sub") and all(_is_free(v) for v in op.operands):
        return build(kind, *(_scaled(v, factor) for v in op.operands))
    return build("mul", value, constant(factor, like=value))
