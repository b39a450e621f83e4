"""Random graphs whose steps take any earlier value, any number of times: diamonds, multiples of multiples.

A graph is a plain list of steps, so that hypothesis shrinks it and a failing one can be kept as it is. A step is the
name of a family and some numbers; every decision takes the next number modulo the choices that there are.
"""

import functools
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from mnc.core.bindings import func, ir
from mnc.core.context import make_context
from mnc.dialects import graph

from .graph_builder import Builder
from .graph_steps import EXTENTS, FAMILIES, LINEAR

Step = tuple[str, tuple[int, ...]]
CHOICES = 8


def argument_types(size: tuple[int, int], dtype: str) -> list[tuple[tuple[int, ...], str]]:
    """Shapes and element types of the arguments: few shapes, so that values fit each other."""
    s, t = size
    floats = [(s, s), (s, s), (t, s), (s,), (), (2, s, t)]
    return [*((shape, dtype) for shape in floats), ((s, s), "int64"), ((t, 1), "bool"), ((s,), "bool")]


@functools.cache
def _context() -> ir.Context:
    """One for all graphs: making it takes longer than a graph and its passes."""
    return make_context(["graph"])


def grown(arguments: Sequence[ir.Value], dtype: str, steps: Sequence[Step]) -> Builder:
    """The values of a graph at the insertion point: steps that find no operands are left out."""
    builder = Builder(arguments, dtype)
    for family, numbers in steps:
        builder.numbers = iter(numbers)
        try:
            FAMILIES[family](builder)
        except (IndexError, ValueError):  # no such operands, or a window that does not fit
            continue
    return builder


def build(
    steps: Sequence[Step], results: Sequence[int], size: tuple[int, int] = (3, 2), dtype: str = "float32"
) -> ir.Module:
    """The module of a graph; results count from the last value backwards."""
    with _context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [graph.tensor(shape, graph.element_type(kind)) for shape, kind in argument_types(size, dtype)]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", (types, []))
        with ir.InsertionPoint(function.add_entry_block()):
            builder = grown(function.arguments, dtype, steps)
            chosen = [builder.values[-1 - r % len(builder.values)] for r in results]
            func.ReturnOp(chosen)
        signature = ir.FunctionType.get(types, [value.type for value in chosen])
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        assert module.operation.verify()
    return module


@st.composite
def steps(draw: Any, families: Sequence[str] = tuple(FAMILIES), most: int = 10) -> list[Step]:
    """Steps of a few families, which then meet each other; `LINEAR` as often as not."""
    among = draw(st.sampled_from((tuple(families), LINEAR)))
    few = draw(st.lists(st.sampled_from(among), min_size=2, max_size=5, unique=True))
    numbers = st.lists(st.integers(0, draw(st.sampled_from((3, 8, 40)))), max_size=CHOICES).map(tuple)
    return draw(st.lists(st.tuples(st.sampled_from(few), numbers), min_size=2, max_size=most))


RESULTS = st.lists(st.integers(0, 12), min_size=1, max_size=4)
SIZES = st.tuples(st.sampled_from(EXTENTS), st.sampled_from(EXTENTS))
