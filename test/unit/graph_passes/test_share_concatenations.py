"""Concatenations that share what they join give what they gave."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context

from .random_graphs import check_unchanged


def module(rows: int, joins: list[tuple[int, int, int]], read: list[int]) -> ir.Module:
    """Concatenations of two of the tensors so far, by number and axis; where that cannot be, along the rows of one.

    `read`: what else is read, by number.
    """
    shapes = [(rows, 3), (rows, 3)]
    lines = []
    for left, right, axis in joins:
        a, b = left % len(shapes), right % len(shapes)
        if shapes[a][1 - axis] != shapes[b][1 - axis]:
            b = a
        shape = list(shapes[a])
        shape[axis] += shapes[b][axis]
        shapes.append((shape[0], shape[1]))
        types = [f"tensor<{s[0]}x{s[1]}xf32>" for s in (shapes[a], shapes[b], shapes[-1])]
        join = f'"graph.concat"(%{a}, %{b}) {{axis = {axis}}}'
        lines.append(f"%{len(shapes) - 1} = {join} : ({types[0]}, {types[1]}) -> {types[2]}")
    kept = sorted({number % len(shapes) for number in read} | {len(shapes) - 1})
    types = [f"tensor<{shapes[n][0]}x{shapes[n][1]}xf32>" for n in kept]
    first = f"tensor<{rows}x3xf32>"
    text = f"""func.func @main(%a: {first}, %b: {first}) -> ({", ".join(types)}) {{
      %0 = "graph.exp"(%a) : ({first}) -> {first}
      %1 = "graph.exp"(%b) : ({first}) -> {first}
      {" ".join(lines)}
      return {", ".join(f"%{n}" for n in kept)} : {", ".join(types)} }}"""
    return ir.Module.parse(text, make_context(["graph"]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_numbers(data: Any) -> None:
    join = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 1))
    joins = data.draw(st.lists(join, min_size=1, max_size=9))
    read = data.draw(st.lists(st.integers(0, 30), max_size=4))
    rows = data.draw(st.integers(1, 3))
    passes = "share-concatenations" + data.draw(st.sampled_from(["", ",canonicalize,cse"]))
    check_unchanged(module(rows, joins, read), passes, 0, False, 0, 0)
