"""The pass `share-concatenations`: what several concatenations join is joined once."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.dialects.graph.shape import concat_tree
from mnc.passes.graph.algebra.common import operands_of, result_of
from mnc.passes.graph.matching import producer


@dataclass(frozen=True)
class ShareConcatenations(Pass):
    """Concatenate what an earlier concatenation gave, in place of its operands once more.

    before: ``%1 = concat(%a, %b)``, ``%2 = concat(%a, concat(%b, %c))``
    after: ``%1 = concat(%a, %b)``, ``%2 = concat(%1, %c)``

    In a dense block every layer reads the results of all layers before it. Each of them has to be brought from where it
    was made to where it is read; once joined, they lie together, and the next layer copies them within local memory.
    """

    name: ClassVar[str] = "share-concatenations"

    def run(self, module: ir.Module) -> None:
        """Rewrite every function. What only concatenations along the same axis read is part of those."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                joined: dict[Any, list[Any]] = {}
                earlier: dict[tuple[Any, int], list[_Whole]] = {}
                for op in list(function.regions[0].blocks[0]):
                    if op.operation.name == "graph.concat":
                        _visit(op, joined, earlier)


class _Whole(NamedTuple):
    """A concatenation that something else reads: what it joins, and its result."""

    parts: tuple[Any, ...]
    result: Any


def _visit(op: Any, joined: dict[Any, list[Any]], earlier: dict[tuple[Any, int], list[_Whole]]) -> None:
    """Let one concatenation take what earlier ones gave.

    `joined`: what each concatenation so far joins. `earlier`: those that something else reads, by first part and axis.
    """
    axis, result = _axis_of(op), result_of(op)
    parts = [part for operand in operands_of(op) for part in _parts(operand, axis, joined)]
    if all(use.owner.name == op.operation.name and _axis_of(use.owner) == axis for use in result.uses):
        joined[result] = parts
        return
    shared = _with_earlier(tuple(parts), axis, earlier)
    if len(shared) < len(parts) and shared != operands_of(op):
        with ir.InsertionPoint(op), op.operation.location:
            whole = concat_tree(shared, axis)
        result.replace_all_uses_with(whole)
        result = whole
    joined[result] = parts
    earlier.setdefault((parts[0], axis), []).append(_Whole(tuple(parts), result))


def _axis_of(op: Any) -> int:
    return op.operation.attributes["axis"].value


def _parts(value: Any, axis: int, joined: dict[Any, list[Any]]) -> list[Any]:
    owner = producer(value, "concat")
    return [value] if owner is None or _axis_of(owner) != axis else joined.get(value, [value])


def _with_earlier(parts: tuple[Any, ...], axis: int, earlier: dict[tuple[Any, int], list[_Whole]]) -> list[Any]:
    """Parts, with runs replaced that earlier concatenations join: from the first part on, the longest ones."""
    shared: list[Any] = []
    start = 0
    while start < len(parts):
        found = [own for own in earlier.get((parts[start], axis), ()) if len(own.parts) <= len(parts) - start]
        fitting = sorted(found, key=lambda own: -len(own.parts))
        alone = _Whole(parts[start : start + 1], parts[start])
        longest = next((own for own in fitting if parts[start : start + len(own.parts)] == own.parts), alone)
        shared.append(longest.result)
        start += len(longest.parts)
    return shared
