"""The pass `split-products`."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass, at_least
from mnc.core.rewrite import Pattern, apply_greedily, refuse
from mnc.passes.graph.algebra.common import build, operands_of, result_of
from mnc.passes.graph.algebra.scaling import name_after_weight_of
from mnc.passes.graph.matching import constant, constant_of, has_one_use, is_constant, producer, shape_of
from mnc.passes.graph.tensors.kinds import BINARY, UNARY, rebuilt_elementwise
from mnc.passes.graph.tensors.slices_of_views import is_shared_out
from mnc.passes.graph.tensors.views import ranges_of


def chain_from_product(value: ir.Value) -> list[Any]:
    """Element-wise work with constants that makes a value, the last operation first, and the product in front of it;
    empty if that is something else. Nothing else reads what is between."""
    found: list[Any] = []
    while not found or has_one_use(value):
        op = producer(value, "matmul", *UNARY, *BINARY)
        if op is None:
            return []
        found.append(op)
        if op.operation.name == "graph.matmul":
            return found
        rest = [own for own in operands_of(op) if not is_constant(own)]
        if len(rest) != 1 or shape_of(rest[0]) != shape_of(result_of(op)):
            return []
        value = rest[0]
    return []


def _columns(value: ir.Value, columns: range) -> ir.Value:
    """Part of the last dimension of a constant, named after it; a constant that is broadcast there stays whole."""
    array = constant_of(value)
    assert array is not None  # `Split.match` has read it
    if not array.ndim or array.shape[-1] == 1:
        return value
    made = constant(array[..., columns.start : columns.stop], like=value)
    name_after_weight_of(value, made, f"columns_{columns.start}")
    return made


@dataclass(frozen=True)
class Split(Pattern):
    """``(x @ w + b)[:, r] -> x @ w[:, r] + b[r]`` for constants w and b, where only such parts are read."""

    root = "graph.slice"
    lanes: int

    def match(self, op: Any) -> Any:
        value = operands_of(op)[0]
        chain = chain_from_product(value)
        if not chain or len(ranges := ranges_of(op)[-1]) == shape_of(value)[-1]:
            return None
        if not is_shared_out(value):
            return refuse("the product has other uses, or is not shared out among a few slices")
        x, weight = operands_of(chain[-1])
        if len(shape_of(weight)) != 2 or len(shape_of(x)) < 2 or constant_of(weight) is None:
            return refuse("the second factor is no constant matrix")
        others = [own for link in chain[:-1] for own in operands_of(link) if is_constant(own)]
        if any(constant_of(own) is None for own in others):
            return refuse("a constant cannot be read back")
        if ranges.start % self.lanes or len(ranges) % self.lanes:
            return refuse(f"a slice of columns {ranges.start} to {ranges.stop} is no multiple of {self.lanes}")
        return chain, ranges

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        (*work, product), columns = match
        x, weight = operands_of(product)
        with product.location:
            value = build("matmul", x, _columns(weight, columns))
        for own in reversed(work):
            parts = [_columns(other, columns) if is_constant(other) else value for other in operands_of(own)]
            with own.location:
                value = rebuilt_elementwise(own, *parts)
        rewriter.replace_op(op, [value])


@dataclass(frozen=True)
class SplitProducts(Pass):
    """Make several products of one whose columns are shared out, as of the one that makes queries, keys and values.

    before: ``%q = slice(x @ %w)``, ``%k = slice(x @ %w)``; after: ``%q = x @ %w0``, ``%k = x @ %w1``

    The parts are as much to multiply together as the whole. But each of them may lie where its reader wants it, and
    what is constant for one, as the scale of the queries, goes into its matrix. The matrix has to be constant. Parts
    are multiples of ``lanes`` columns: others would be padded to that.
    """

    name: ClassVar[str] = "split-products"
    lanes: int = at_least(1, 8)

    def run(self, module: ir.Module) -> None:
        """Split everywhere; refusals are explained."""
        apply_greedily(module, [Split(self.lanes)])
