"""The pass `count-work`: what the model asks for, before anything is padded, copied or distributed."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.core.static_shapes import check_static
from mnc.dialects.graph.contraction import PRECISION
from mnc.mncore_backend.target import LONG_BYTES, WORD_BYTES, Precision, chip
from mnc.passes.graph.matching import constant_of, producer, shape_of, size_of, splat_of
from mnc.passes.graph.mixed_precision import CONTRACTIONS, multiply_adds

WORK = "mnc.work"
"""Attribute of the module: multiply_adds, compute_cycles and dram_long_words."""
NAME, UPDATED = "onnx.name", "mnc.updated"
_SAME_ELEMENTS = ("reshape", "transpose", "broadcast_to", "cast", "bitcast")


@dataclass(frozen=True)
class CountWork(Pass):
    """Note on the module how much work the model itself is: the numbers of the report's roofline.

    after: ``module attributes {mnc.work = {multiply_adds = 512, compute_cycles = ..., dram_long_words = 112}}``

    Multiply-adds are those of contractions (convolutions count the places of their padding, transposed ones do not
    count the zeros between elements) that something needs; products with one-hot matrices are lookups and do not
    count. Long words of DRAM are inputs, constants and outputs once, a word per element; of a table that is only
    looked up the rows that are read; constants that are one number and indices known when compiling are free; of
    constants that only products of halves read half a word per element, as they can lie in DRAM as halves. What
    ``resident`` keeps on the chip between runs is no traffic. Cycles are at the matrix peak of ``precision``.
    """

    name: ClassVar[str] = "count-work"
    precision: Precision = "pseudo-single"
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"

    def run(self, module: ir.Module) -> None:
        """Annotate the module; several functions add up. Raises CompileError for open shapes."""
        work, cycles, words = 0, 0.0, 0
        for view in functions_of(module):
            check_static(view.operation)
            needed = _needed(view.operation.regions[0].blocks[0])
            for op in needed:
                count = _contraction_work(op)
                work += count
                cycles += count / chip().peak_multiply_adds(self._precision_of(op))
            words += self._long_words(view.operation, needed)
        with module.context, ir.Location.unknown():
            i64, f64 = ir.IntegerType.get_signless(64), ir.F64Type.get()
            numbers = {
                "multiply_adds": ir.IntegerAttr.get(i64, work),
                "compute_cycles": ir.FloatAttr.get(f64, cycles),
                "dram_long_words": ir.IntegerAttr.get(i64, words),
            }
            module.operation.attributes[WORK] = ir.DictAttr.get(numbers)

    def _precision_of(self, op: Any) -> Precision:
        return ir.StringAttr(op.attributes[PRECISION]).value if PRECISION in op.attributes else self.precision

    def _long_words(self, function: Any, needed: list[Any]) -> int:
        """What crosses the DRAM port once: arguments, constants and results that are not kept on the chip."""
        block = function.regions[0].blocks[0]
        arguments = _names(function, "arg_attrs", UPDATED, len(block.arguments))
        results = _names(function, "res_attrs", NAME, len(needed[0].operands))
        kept = {name for name in arguments if name} if self.resident != "nothing" else set()
        alive = set(needed)
        sources = [value for value, updated in zip(block.arguments, arguments, strict=True) if updated not in kept]
        sources = [value for value in sources if isinstance(value.type, ir.RankedTensorType)]
        if self.resident in ("nothing", "updates"):
            sources += [op.results[0] for op in needed if op.name == "graph.constant"]
        returned = zip(needed[0].operands, results, strict=True)
        returned = [(value, name) for value, name in returned if isinstance(value.type, ir.RankedTensorType)]
        sizes = [_words_read(value, alive) // (2 if self._is_of_halves(value, alive) else 1) for value in sources]
        sizes += [size_of(value) for value, name in returned if name not in kept]
        return sum(-(-size * WORD_BYTES // LONG_BYTES) for size in sizes)


    def _is_of_halves(self, value: ir.Value, alive: Iterable[Any]) -> bool:
        """Whether a constant is a factor of products of halves only: the host can make halves of it."""
        users = [(use.owner.operation, use.operand_number) for use in value.uses if use.owner.operation in alive]
        if producer(value, "constant") is None or not users:
            return False
        factors = all(op.name in CONTRACTIONS and number < 2 for op, number in users)
        return factors and all(self._precision_of(op) == "half" for op, _ in users)


def _names(function: Any, attribute: str, key: str, count: int) -> list[str | None]:
    """A string attribute of every argument or result, None where it is missing."""
    if attribute not in function.attributes:
        return [None] * count
    entries = [ir.DictAttr(entry) for entry in function.attributes[attribute]]
    return [ir.StringAttr(entry[key]).value if key in entry else None for entry in entries]


def _needed(block: Any) -> list[Any]:
    """Operations that the results depend on; the first is the terminator."""
    operations = [view.operation for view in block.operations]
    found, wanted = [], set()
    for op in reversed(operations):
        if op is operations[-1] or any(result in wanted for result in op.results):
            found.append(op)
            wanted.update(op.operands)
    return found


def _contraction_work(op: Any) -> int:
    """Multiply-adds of a contraction, of those places only that somebody reads; 0 for other operations."""
    if op.name not in CONTRACTIONS or any(_is_one_hot(value) for value in list(op.operands)[:2]):
        return 0
    total, places = multiply_adds(op), size_of(op.results[0])
    users = [use.owner.operation for use in op.results[0].uses]
    if op.name != "graph.conv" or len(users) != 1 or users[0].name != "graph.slice":
        return total
    return total // places * size_of(users[0].results[0]) if places else 0


def _is_one_hot(value: ir.Value) -> bool:
    """Whether a matrix is a comparison, spread over numbers: a product with it looks up or adds up rows."""
    op = producer(value, *_SAME_ELEMENTS)
    while op is not None:
        value = op.operation.operands[0]
        op = producer(value, *_SAME_ELEMENTS)
    chosen = producer(value, "where")
    if chosen is not None and splat_of(chosen.operation.operands[2]) == 0:
        value = chosen.operation.operands[0]
    return producer(value, "equal") is not None


def _words_read(value: ir.Value, alive: Iterable[Any]) -> int:
    """Elements of an argument or constant that have to come from DRAM."""
    users = [(use.owner.operation, use.operand_number) for use in value.uses if use.owner.operation in alive]
    if splat_of(value) is not None or not users:
        return 0
    lookups = [op for op, number in users if op.name == "graph.gather" and number == 0]
    indices = [op for op, number in users if op.name == "graph.gather" and number == 1]
    if len(lookups) + len(indices) < len(users) or (indices and producer(value, "constant") is None):
        return size_of(value)
    return min(size_of(value), sum(_rows_read(op) for op in lookups))


def _rows_read(gather: Any) -> int:
    """Elements of the different rows that a lookup reads."""
    table, indices = gather.operands
    extent = shape_of(table)[ir.IntegerAttr(gather.attributes["axis"]).value]
    known = constant_of(indices)
    rows = math.prod(shape_of(indices)) if known is None else len(np.unique(known % max(extent, 1)))
    return min(rows, extent) * (size_of(table) // max(extent, 1))
