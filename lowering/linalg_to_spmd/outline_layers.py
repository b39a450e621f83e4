"""outline-layers: a model of equal layers becomes three functions: what comes before, one layer, what comes after.

before:  func.func @main(%x) { %1 = layer(%x, %w0); %2 = layer(%1, %w1); ... %12 = layer(%11, %w11); return %12 }
after:   module @before { func.func @main(%x) -> carried.0 }
         module @layer { func.func @main(%carried.0 {mnc.updated = "next.0"}) -> next.0
                           attributes {mncore.trips = 12, mncore.weights = [[dense<w0>, dense<w1>, ...]]} }
         module @after { func.func @main(%carried.0) -> ... }

The layer is compiled once, and its text repeated. What it hands to the next stays in local memory. Its weights are
numbers of elements, see `lowering/linalg_to_spmd/numbered_weights.py`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import arith, func, ir
from mnc.core.diagnostics import node_name
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.dialects.mncore.trips import NODES, TRIPS, WEIGHTS
from mnc.lowering.linalg_to_spmd.demand import whole
from mnc.lowering.linalg_to_spmd.homes import KEPT
from mnc.lowering.linalg_to_spmd.keep_resident import NAME, UPDATED
from mnc.lowering.linalg_to_spmd.numbered_weights import MOST, numbered, weights_attribute
from mnc.lowering.linalg_to_spmd.part_demands import demand_of
from mnc.lowering.linalg_to_spmd.repeats import Layers, find_layers, operations_of, weights_of

BEFORE, LAYER, AFTER = "before", "layer", "after"
"""Names of the modules."""


@dataclass(frozen=True)
class OutlineLayers(Pass):
    """Split functions that would have more than ``steps`` statements, and far fewer if equal layers were one."""

    name = "outline-layers"
    steps: int = at_least(0, 16_000)
    percent: int = at_least(0, 60)

    def run(self, module: Any) -> None:
        """Rewrite a module of one function whose arguments and results have names, by which the parts find what the
        others leave; others stay as they are."""
        functions = [view.operation for view in functions_of(module)]
        if len(functions) != 1 or len(list(module.body.operations)) != 1 or not _is_named(functions[0]):
            return
        with module.context, ir.Location.unknown():
            block = functions[0].regions[0].blocks[0]
            sizes = [_size(op) for op in operations_of(block)]
            if sum(sizes) <= self.steps:
                return
            layers = find_layers(block, sizes)
            if layers is None or not _is_wanted(layers, sizes, self.percent):
                return
            _split(module, functions[0], layers)


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


def _is_wanted(layers: Layers, sizes: Sequence[float], percent: int) -> bool:
    """Whether a part of the work large enough need not be compiled; and whether weights have numbers."""
    first = layers.start + layers.period
    saved = sum(sizes[first : layers.start + layers.count * layers.period])
    elements = sum(_elements(own[0]) for own in weights_of(layers))
    return 100 * saved >= percent * sum(sizes) and elements <= MOST


def _elements(value: Any) -> int:
    count = 1
    for extent in value.type.shape:
        count *= extent
    return count


def _split(module: Any, function: Any, layers: Layers) -> None:
    block = function.regions[0].blocks[0]
    terminator = list(block.operations)[-1].operation
    last = layers.layer(layers.count - 1)
    names = [f"carried.{number}" for number in range(len(layers.carried))]
    inner = [value for value in layers.invariant if not isinstance(value.owner, ir.Block)]
    shared = [f"shared.{number}" for number in range(len(inner))]
    arguments = _named_arguments(function)
    final = [(last[i].results[0], {NAME: _text(name)}) for (i, _), name in zip(layers.carried, names, strict=True)]
    results = [{item.name: item.attr for item in ir.DictAttr(entry)} for entry in function.attributes["res_attrs"]]
    made = {
        BEFORE: _function(arguments, [*(v for _, v in layers.carried), *inner], _entries([*names, *shared])),
        LAYER: _layer(layers, arguments, dict(zip(inner, shared, strict=True))),
        AFTER: _function([*arguments, *final], list(terminator.operands), results),
    }
    for name, built in made.items():
        nested = built.operation.clone()
        nested.attributes["sym_name"] = _text(name)
        module.body.append(nested)
    function.erase()


def _text(value: str) -> Any:
    return ir.StringAttr.get(value)


def _entries(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{NAME: _text(name)} for name in names]


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


def _layer(layers: Layers, arguments: Sequence[tuple[Any, dict[str, Any]]], shared: dict[Any, str]) -> Any:
    """The module of one layer: the first, with numbers for weights."""
    first = layers.layer(0)
    results = [first[i].results[0] for i, _ in layers.carried]
    names = [f"next.{number}" for number in range(len(results))]
    given = [
        *((value, {NAME: _text(f"carried.{number}"), UPDATED: _text(names[number])})
          for number, (_, value) in enumerate(layers.carried)),
        *((value, {NAME: _text(name), KEPT: ir.UnitAttr.get()}) for value, name in shared.items()),
        *((value, entry) for value, entry in arguments if value not in {own for _, own in layers.carried}),
    ]  # fmt: skip
    weights = weights_of(layers)
    replaced, start = {}, 0
    for own in weights:
        array = numbered(list(own[0].type.shape), start)
        replaced[own[0]] = ir.DenseElementsAttr.get(array)
        start += array.size
    made = _function(given, results, _entries(names), replaced)
    function = next(iter(made.body.operations)).operation
    function.attributes[WEIGHTS] = weights_attribute([[value.owner for value in own] for own in weights])
    nodes = [[node_name(op.location) or "" for op in layers.layer(number)] for number in range(layers.count)]
    function.attributes[NODES] = ir.ArrayAttr.get([ir.ArrayAttr.get([_text(n) for n in own]) for own in nodes])
    function.attributes[TRIPS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), layers.count)
    return made
