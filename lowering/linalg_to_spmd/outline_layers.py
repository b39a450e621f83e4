"""outline-layers: a model of equal layers becomes three functions: what comes before, one layer, what comes after; one
of several rows of layers, as an encoder and a decoder, one function more for each row and for what is between.

before:  func.func @main(%x) { %1 = layer(%x, %w0); %2 = layer(%1, %w1); ... %12 = layer(%11, %w11); return %12 }
after:   module @before { func.func @main(%x) -> carried.0 }
         module @layer { func.func @main(%carried.0 {mnc.updated = "next.0"}) -> next.0
                           attributes {mncore.trips = 12, mncore.weights = [[dense<w0>, dense<w1>, ...]]} }
         module @after { func.func @main(%carried.0) -> ... }

The layer is compiled once, and its text repeated. What it hands to the next stays in local memory. Its weights are
numbers of elements, see `lowering/linalg_to_spmd/numbered_weights.py`. What comes behind a row reads what its last
layer hands over, and makes anew what else it needs of what comes before.

The steps of a recurrence are layers, too. Their weights are the same and stay in local memory, as do the tensor of
which each step reads a row (``scanned.0``) and the one of which each makes a row (``stacked.0``); rows are at addresses
of their own, see `mncore_backend/codegen/trips.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from mnc.core.bindings import arith, func, ir
from mnc.core.diagnostics import node_name
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.dialects.mncore.trips import FIRST_ROW, NODES, SLICE, TRIPS, WEIGHTS, slice_attribute
from mnc.lowering.linalg_to_spmd.demand import whole
from mnc.lowering.linalg_to_spmd.homes import KEPT
from mnc.lowering.linalg_to_spmd.keep_resident import NAME, UPDATED
from mnc.lowering.linalg_to_spmd.numbered_weights import MOST, numbered, weights_attribute
from mnc.lowering.linalg_to_spmd.part_demands import demand_of
from mnc.lowering.linalg_to_spmd.reading import shape_of
from mnc.lowering.linalg_to_spmd.rearranging import RESHAPES
from mnc.lowering.linalg_to_spmd.repeats import Layers, find_rows, operations_of, weights_of
from mnc.lowering.linalg_to_spmd.scanned_slices import slice_before
from mnc.lowering.linalg_to_spmd.sequences import stack_apart
from mnc.mncore_backend.codegen.trips import Slice

BEFORE, LAYER, BETWEEN, AFTER = "before", "layer", "between", "after"
"""Names of the modules. Where there are several rows, those of layers and of what is between have numbers."""
LATENCY = 16.0
"""Statements that an operation of a recurrence takes at least: results come late, and the next one waits for them."""
MULTIPLE = 4
"""Steps of recurrences that are split off are so many, or a multiple: `unroll-trips` does several at once."""
STACKED = "stacked"
"""The name, before its number, of a tensor of which each layer makes a row."""
TWICE = 1.02
"""Factor by which the parts may be more work than the whole, since they share what they read and not what they make."""


@dataclass(frozen=True)
class OutlineLayers(Pass):
    """Split functions that would have more than ``steps`` statements, and far fewer if equal layers were one: if
    ``percent`` of them need not be compiled. A row of layers counts that saves ``least`` percent by itself. Recurrences
    are looked for in functions of ``operations`` and more."""

    name = "outline-layers"
    steps: int = at_least(0, 16_000)
    percent: int = at_least(0, 60)
    least: int = at_least(0, 20)
    operations: int = at_least(0, 400)

    def run(self, module: Any) -> None:
        """Rewrite a module of one function whose arguments and results have names, by which the parts find what the
        others leave; others stay as they are."""
        functions = [view.operation for view in functions_of(module)]
        if len(functions) != 1 or len(list(module.body.operations)) != 1 or not _is_named(functions[0]):
            return
        with module.context, ir.Location.unknown():
            block = functions[0].regions[0].blocks[0]
            sizes = [_size(op) for op in operations_of(block)]
            if max(sum(sizes) - self.steps, len(sizes) - self.operations) <= 0:
                return
            rows = self._long_rows(find_rows(block, sizes), sizes)
            scanned = dict.fromkeys((own.source, own.dim) for row in rows for own in row.scanned)
            changed = [slice_before(source, dim) for source, dim in scanned]
            if any(changed):
                sizes = [_size(op) for op in operations_of(block)]
                rows = self._long_rows(find_rows(block, sizes), sizes)
            if rows:
                _split(module, functions[0], rows)

    def _long_rows(self, found: Sequence[Layers], sizes: Sequence[float]) -> list[Layers]:
        """Those of the rows of a function to split off, if that has so many statements, or its recurrences have."""
        recurrences = [row for row in found if row.is_recurrence]
        if not recurrences:
            return self._wanted(found, sizes) if sum(sizes) > self.steps else []
        waits = [0.0 if op.name in RESHAPES else LATENCY for op in found[0].operations]
        if sum(sum(waits[row.start : row.end]) for row in recurrences) <= self.steps:
            return []
        return self._wanted(found, [size + wait for size, wait in zip(sizes, waits, strict=True)])

    def _wanted(self, rows: Sequence[Layers], sizes: Sequence[float]) -> list[Layers]:
        """The rows to split off: all that save enough, or the one that saves most where parts of several would make too
        much twice; none if that is not enough together."""
        rows = [row.of_multiple(MULTIPLE) if row.is_recurrence else row for row in rows]
        saved = {row.start: _saved(row, sizes) for row in rows}
        least = min(self.least, self.percent) * sum(sizes)
        own = [row for row in _with_own_stacks(rows) if 100 * saved[row.start] >= least and _has_numbers(row)]
        if len(own) > 1 and _work(own, sizes) > TWICE * sum(sizes):
            own = [max(own, key=lambda row: saved[row.start])]
        return own if 100 * sum(saved[row.start] for row in own) >= self.percent * sum(sizes) else []


def _layer_names(count: int) -> list[str]:
    """The names of the layers of so many rows."""
    return [LAYER] if count == 1 else [f"{LAYER}.{number}" for number in range(count)]


def _size(op: Any) -> float:
    """Statements that an operation will take, roughly: those of its own."""
    if len(op.results) != 1 or not isinstance(op.results[0].type, ir.RankedTensorType):
        return 0.0
    demand = demand_of([(op.results[0], whole(op.results[0]))], alone=True)
    return 0.0 if demand is None else demand.size


def _is_named(function: Any) -> bool:
    """Whether all arguments and results of a function have names."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    for name, types in (("arg_attrs", type_.inputs), ("res_attrs", type_.results)):
        entries = list(function.attributes[name]) if name in function.attributes else []
        if len(entries) != len(types) or not all(NAME in ir.DictAttr(entry) for entry in entries):
            return False
    return True


def _saved(layers: Layers, sizes: Sequence[float]) -> float:
    """Statements of all layers but one."""
    return sum(sizes[layers.start + layers.period : layers.end])


def _with_own_stacks(rows: Iterable[Layers]) -> Iterator[Layers]:
    """The rows but those whose layers make parts of a tensor of which layers of an earlier row make others."""
    known: set[Any] = set()
    for row in rows:
        wholes = {own.whole for own in row.stacked}
        if not wholes & known:
            yield row
        known |= wholes


def _has_numbers(layers: Layers) -> bool:
    """Whether there are enough numbers for the elements of all weights of a layer."""
    return sum(_elements(own[0]) for own in weights_of(layers)) <= MOST


def _work(rows: Sequence[Layers], sizes: Sequence[float]) -> float:
    """Statements of all parts, with those of every layer."""
    size = dict(zip(rows[0].operations, sizes, strict=True))
    total = sum(sum(sizes[row.start : row.end]) for row in rows)
    for given, results in _borders(rows):
        total += sum(size.get(op, 0.0) for op in _needed(results, given))
    return total


def _borders(rows: Sequence[Layers]) -> Iterator[tuple[list[Any], list[Any]]]:
    """What the parts between rows, the first of which is before all of them, find and leave: values."""
    for front, row in zip([None, *rows], [*rows, None], strict=True):
        given = [] if front is None else _leaving(front)
        block = rows[0].operations[0].block
        end = list(list(block.operations)[-1].operation.operands) if row is None else _entering(row)
        yield given, end


def _leaving(row: Layers) -> list[Any]:
    """What layers leave in local memory: what is carried, and tensors of rows."""
    return [*row.final, *(own.source for own in row.scanned), *(own.whole.results[0] for own in row.stacked)]


def _entering(row: Layers) -> list[Any]:
    """What layers find in local memory: what is carried, what they share, and rows."""
    rows = [value for own in row.stacked for _, value in own.others]
    return [*row.first, *row.inner, *row.weights, *(own.source for own in row.scanned), *rows]


def _elements(value: Any) -> int:
    count = 1
    for extent in value.type.shape:
        count *= extent
    return count


def _split(module: Any, function: Any, rows: Sequence[Layers]) -> None:
    """Put the parts of a function in its place, each in a module."""
    rows = [replace(row, stacked=tuple(map(stack_apart, row.stacked))) for row in rows]
    for name, built in _parts(function, rows):
        nested = built.operation.clone()
        nested.attributes["sym_name"] = _text(name)
        module.body.append(nested)
    function.erase()


def _parts(function: Any, rows: Sequence[Layers]) -> Iterator[tuple[str, Any]]:
    """The parts by name, in the order in which they run."""
    arguments = _named_arguments(function)
    given: list[tuple[Any, dict[str, Any]]] = []
    borders = _borders(rows)
    named = _Names()
    for number, (row, layer) in enumerate(zip(rows, _layer_names(len(rows)), strict=True)):
        names = named.of(row)
        made = _function([*arguments, *given], next(borders)[1], names.entering(row))
        yield (f"{BETWEEN}.{number}" if number else BEFORE), made
        yield layer, _layer(row, arguments, names)
        names_left = *names.carried, *names.scanned, *names.stacked
        given = [(value, {NAME: _text(name)}) for value, name in zip(_leaving(row), names_left, strict=True)]
    results = [{item.name: item.attr for item in ir.DictAttr(entry)} for entry in function.attributes["res_attrs"]]
    yield AFTER, _function([*arguments, *given], next(borders)[1], results)


@dataclass(frozen=True)
class _RowNames:
    """Names of what the layers of a row find in local memory and leave there."""

    carried: list[str]
    shared: list[str]
    scanned: list[str]
    stacked: list[str]

    def entering(self, row: Layers) -> list[dict[str, Any]]:
        """Of all that layers find there, as `_entering` has it."""
        first = ir.IntegerType.get_signless(64)
        rows = [{NAME: _text(name), FIRST_ROW: ir.IntegerAttr.get(first, number)}
                for name, own in zip(self.stacked, row.stacked, strict=True) for number, _ in own.others]  # fmt: skip
        return [*({NAME: _text(name)} for name in (*self.carried, *self.shared, *self.scanned)), *rows]


class _Names:
    """Numbers what rows of layers hand over, so that no two have one name."""

    def __init__(self) -> None:
        self._numbers = {field.name: 0 for field in fields(_RowNames)}

    def of(self, row: Layers) -> _RowNames:
        shared = len(row.inner) + len(row.weights)
        counts = {"carried": len(row.first), "shared": shared, "scanned": len(row.scanned), "stacked": len(row.stacked)}
        return _RowNames(**{kind: self._next(kind, count) for kind, count in counts.items()})

    def _next(self, kind: str, count: int) -> list[str]:
        first, self._numbers[kind] = self._numbers[kind], self._numbers[kind] + count
        return [f"{kind}.{number}" for number in range(first, first + count)]


def _text(value: str) -> Any:
    return ir.StringAttr.get(value)


def _named_arguments(function: Any) -> list[tuple[Any, dict[str, Any]]]:
    block = function.regions[0].blocks[0]
    entries = function.attributes["arg_attrs"] if len(block.arguments) else []
    return [(a, {i.name: i.attr for i in ir.DictAttr(e)}) for a, e in zip(block.arguments, entries, strict=True)]


def _needed(results: Sequence[Any], given: Iterable[Any]) -> list[Any]:
    """Operations that results depend on, up to what is given, in an order in which they can stand."""
    known, found, waiting = set(given), {}, [(value, False) for value in reversed(results)]
    while waiting:
        value, is_done = waiting.pop()
        if is_done:
            found[value.owner] = None
        elif value not in known and not isinstance(value.owner, ir.Block):
            known.add(value)
            waiting.append((value, True))
            waiting += [(below, False) for below in reversed(_read(value.owner))]
    return list(found)


def _read(op: Any) -> list[Any]:
    """Values that an operation or its body takes from outside."""
    inside = {result for region in op.regions for block in region.blocks for view in block.operations
              for result in view.operation.results}  # fmt: skip
    inside |= {argument for region in op.regions for block in region.blocks for argument in block.arguments}
    inner = [value for region in op.regions for block in region.blocks for view in block.operations
             for value in view.operation.operands if value not in inside]  # fmt: skip
    return [*op.operands, *inner]


def _function(
    given: Sequence[tuple[Any, dict[str, Any]]],
    results: Sequence[Any],
    entries: Sequence[dict[str, Any]],
    replaced: dict[Any, Any] | None = None,
) -> Any:
    """A module with the function that makes `results` of those of the `given` values that they need; `replaced`:
    constants that stand for others."""
    operations = _needed(results, [value for value, _ in given])
    read = {*results, *(value for op in operations for value in _read(op))}
    given = [(value, attributes) for value, attributes in given if value in read]
    made = ir.Module.create()
    with ir.InsertionPoint(made.body):
        types = [value.type for value, _ in given], [value.type for value in results]
        function = func.FuncOp("main", ir.FunctionType.get(*types))
        entry = function.add_entry_block()
    values = dict(zip((value for value, _ in given), entry.arguments, strict=True))
    with ir.InsertionPoint(entry):
        for op in operations:
            with op.location:
                copy = _copy(op, values, replaced or {})
            values.update(zip(op.results, copy.results, strict=True))
        func.ReturnOp([values[value] for value in results])
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(attributes) for _, attributes in given])
    function.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(entry) for entry in entries])
    return made


def _copy(op: Any, values: dict[Any, Any], replaced: dict[Any, Any]) -> Any:
    if len(op.results) == 1 and op.results[0] in replaced:
        made = arith.ConstantOp(op.results[0].type, replaced[op.results[0]]).operation
        if NAME in op.attributes:
            made.attributes[NAME] = op.attributes[NAME]
        return made
    made = op.clone().operation
    for own in [made, *(v.operation for region in made.regions for block in region.blocks for v in block.operations)]:
        for number, value in enumerate(own.operands):
            if value in values:
                own.operands[number] = values[value]
    return made


def _layer(layers: Layers, arguments: Sequence[tuple[Any, dict[str, Any]]], names: _RowNames) -> Any:
    """The module of one layer: the first, with numbers for weights."""
    first = layers.layer(0)
    results = [*(first[i].results[0] for i, _ in layers.carried), *(own.first for own in layers.stacked)]
    following = [name.replace("carried", "next") for name in names.carried]
    rows = [_slice(own.source, own.dim, own.rows) for own in layers.scanned]
    shared = zip([*layers.inner, *layers.weights], names.shared, strict=True)
    given = [
        *((value, {NAME: _text(name), UPDATED: _text(updated)})
          for value, name, updated in zip(layers.first, names.carried, following, strict=True)),
        *((value, {NAME: _text(name), KEPT: ir.UnitAttr.get()}) for value, name in shared),
        *((first[own.number].results[0], {NAME: _text(name), KEPT: ir.UnitAttr.get(), SLICE: row})
          for own, name, row in zip(layers.scanned, names.scanned, rows, strict=True)),
        *((value, entry) for value, entry in arguments if value not in layers.first),
    ]  # fmt: skip
    entries = [{NAME: _text(name)} for name in following]
    entries += [{NAME: _text(name), KEPT: ir.UnitAttr.get(), SLICE: _slice(own.whole.results[0], own.dim, own.rows)}
                for own, name in zip(layers.stacked, names.stacked, strict=True)]  # fmt: skip
    weights = weights_of(layers)
    replaced, start = {}, 0
    for own in weights:
        array = numbered(list(own[0].type.shape), start)
        replaced[own[0]] = ir.DenseElementsAttr.get(array)
        start += array.size
    made = _function(given, results, entries, replaced)
    function = next(iter(made.body.operations)).operation
    function.attributes[WEIGHTS] = weights_attribute([[value.owner for value in own] for own in weights])
    nodes = [[node_name(op.location) or "" for op in layers.layer(number)] for number in range(layers.count)]
    function.attributes[NODES] = ir.ArrayAttr.get([ir.ArrayAttr.get([_text(n) for n in own]) for own in nodes])
    function.attributes[TRIPS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), layers.count)
    return made


def _slice(whole: Any, dim: int, rows: Sequence[int]) -> Any:
    """The attribute of what takes these rows of a tensor, one in each layer."""
    shape = shape_of(whole)
    starts = tuple(tuple(row if d == dim else 0 for d in range(len(shape))) for row in rows)
    return slice_attribute(Slice(shape, starts))
