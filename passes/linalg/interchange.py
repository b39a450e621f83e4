"""The pass `interchange`: another order of the loops."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.explanation import explain
from mnc.core.pass_base import Pass, at_least
from mnc.passes.linalg.iteration import body_operations, named


@dataclass(frozen=True)
class Interchange(Pass):
    """Permute the loops of `linalg.generic` operations.

    before: loops (m, n, k); after, for ``order=0,2,1``: loops (m, k, n)

    Options:
        order: loop i of the result is loop ``order[i]`` of the operation.
        kinds: which operations; those with another number of loops are left alone.
    """

    name: ClassVar[str] = "interchange"
    order: tuple[int, ...] = at_least(0, ())
    kinds: tuple[str, ...] = ("contraction",)

    def run(self, module: ir.Module) -> None:
        """Raises CompileError when `order` is not a permutation."""
        with module.context, ir.Location.unknown():
            for iteration in list(named(module, self.kinds)):
                if sorted(self.order) != list(range(len(self.order))):
                    raise error_at(iteration.op, f"{list(self.order)} is not a permutation of its loops")
                if len(self.order) != len(iteration.extents):
                    reason = f"it has {len(iteration.extents)} loops and the order names {len(self.order)}"
                    explain(type(self).__name__, iteration.op, reason)
                    continue
                permute_loops(iteration.op, self.order)


def permute_loops(op: ir.Operation, order: tuple[int, ...]) -> None:
    """Make loop ``order[i]`` of `op` its loop i: maps, iterator types and `linalg.index`."""
    count = len(order)
    rename = ir.AffineMap.get(count, 0, [ir.AffineExpr.get_dim(order.index(loop)) for loop in range(count)])
    maps = [ir.AffineMapAttr(attribute).value for attribute in op.attributes["indexing_maps"]]
    permuted = [ir.AffineMap.get(count, 0, [result.compose(rename) for result in map_.results]) for map_ in maps]
    kinds = list(op.attributes["iterator_types"])
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in permuted])
    op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in order])
    i64 = ir.IntegerType.get_signless(64)
    for inner in body_operations(op):
        if inner.name == "linalg.index":
            loop = ir.IntegerAttr(inner.attributes["dim"]).value
            inner.attributes["dim"] = ir.IntegerAttr.get(i64, order.index(loop))
