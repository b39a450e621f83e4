"""Loop order for vector units: the innermost loop is parallel and walks memory with unit stride."""

from typing import Any

from mnc.core.bindings import ir


def best_innermost(maps: list[list[set[int]]], parallel: list[bool]) -> int | None:
    """The parallel loop that gives most operands unit stride, or None when none is worth it.

    Args:
        maps: per operand and dimension the set of loops in its index; a result is the last operand.
        parallel: per loop.
    """
    scores = {}
    for loop, is_parallel in enumerate(parallel):
        if not is_parallel or not maps[-1] or loop not in maps[-1][-1]:
            continue
        unit = sum(bool(dims) and loop in dims[-1] for dims in maps)
        strided = sum(any(loop in d for d in dims[:-1]) for dims in maps)
        scores[loop] = unit - strided
    best = max(scores, key=lambda loop: scores[loop], default=None)
    return best if best is not None and scores[best] >= 0 else None


def _loops_in(expression: Any) -> set[int]:
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position}
    if isinstance(expression, ir.AffineBinaryExpr):
        return _loops_in(expression.lhs) | _loops_in(expression.rhs)
    return set()


def _uses_loop_numbers(op: ir.Operation) -> bool:
    return any(inner.operation.name == "linalg.index" for inner in op.regions[0].blocks[0].operations)


def vectorizable_order(op: ir.Operation) -> None:
    """Reorder the loops of a `linalg.generic` with reductions so that LLVM can vectorize the innermost one.

    Summation order per element stays as it was.
    """
    maps = [ir.AffineMapAttr(attribute).value for attribute in op.attributes["indexing_maps"]]
    kinds = list(op.attributes["iterator_types"])
    parallel = ["parallel" in str(kind) for kind in kinds]
    if all(parallel) or _uses_loop_numbers(op):
        return
    loops = [[_loops_in(expression) for expression in map_.results] for map_ in maps]
    innermost = best_innermost(loops, parallel)
    if innermost is None:
        return
    order = [loop for loop in range(len(kinds)) if loop != innermost] + [innermost]
    new_names = [ir.AffineExpr.get_dim(order.index(loop)) for loop in range(len(kinds))]
    rename = ir.AffineMap.get(len(kinds), 0, new_names)
    new_maps = [
        ir.AffineMap.get(len(kinds), 0, [expression.compose(rename) for expression in map_.results]) for map_ in maps
    ]
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in new_maps])
    op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in order])
