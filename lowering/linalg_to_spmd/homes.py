"""Arguments that results replace where they are, as the parameters of a training step that stay on the chip."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.mncore.attributes import placement_of
from mnc.lowering.linalg_to_spmd.reading import is_transposition, read_generic, transposition_order
from mnc.mncore_backend.layout import Layout, permute

KEPT, HOMES = "mncore.kept", "mncore.homes"
"""On an argument or result: it stays in local memory, and no result updates the argument. On arguments and results: the
buffers of another program in local memory that hold them."""


def waiting_arguments(function: Any) -> list[Any]:
    """Arguments of a function on tensors that are in local memory when it begins, but that no result replaces."""
    entries = map(ir.DictAttr, function.attributes.get("arg_attrs", []))
    pairs = zip(function.regions[0].blocks[0].arguments, entries, strict=False)
    return [argument for argument, entry in pairs if KEPT in entry or HOMES in entry]


def results_of(function: Any) -> list[Any]:
    """The results of a function on tensors."""
    return list(list(function.regions[0].blocks[0].operations)[-1].operation.operands)


def kept_arguments(function: Any) -> list[Any]:
    """Arguments of a function on tensors that stay in local memory and that no result replaces."""
    entries = map(ir.DictAttr, function.attributes.get("arg_attrs", []))
    pairs = zip(function.regions[0].blocks[0].arguments, entries, strict=False)
    return [argument for argument, entry in pairs if KEPT in entry]


def stored_results(function: Any) -> list[Any]:
    """Results of a function on tensors but for those that it leaves in local memory for another program."""
    values = results_of(function)
    entries = [*map(ir.DictAttr, function.attributes.get("res_attrs", []))] or [{}] * len(values)
    return [value for value, entry in zip(values, entries, strict=True) if HOMES not in entry and KEPT not in entry]


def homes_in(entry: Any) -> list[Layout]:
    """The layouts in which another program has an argument or a result with these attributes."""
    homes = ir.ArrayAttr(entry[HOMES]) if HOMES in entry else ()
    return [placement_of(ir.TypeAttr(ir.DictAttr(own)["type"]).value).layout for own in homes]


def placed_arguments(function: Any) -> list[tuple[Any, Layout]]:
    """Arguments of a function on tensors that another program has left in local memory, and where first of all."""
    return _placed(list(function.regions[0].blocks[0].arguments), function.attributes.get("arg_attrs", []))


def placed_results(function: Any) -> list[tuple[Any, Layout]]:
    """Results of a function on tensors that another program expects in local memory, and where first of all."""
    return _placed(results_of(function), function.attributes.get("res_attrs", []))


def _placed(values: Sequence[Any], entries: Any) -> list[tuple[Any, Layout]]:
    found = zip(values, map(homes_in, map(ir.DictAttr, entries)), strict=False)
    return [(value, layouts[0]) for value, layouts in found if layouts]


class Homes:
    """Which results replace which arguments."""

    def __init__(self, replaced: dict[Any, Any]) -> None:
        """`replaced`: result -> argument."""
        self._replaced = replaced

    @classmethod
    def of_function(cls, function: Any) -> "Homes":
        """Results of a function on tensors that are the next value of an argument, and that argument."""

        def named(attribute: str, values: Sequence[Any], name: str) -> dict[str, Any]:
            entries = function.attributes.get(attribute, [])
            dictionaries = [ir.DictAttr(entry) for entry in entries]
            return {ir.StringAttr(d[name]).value: v for d, v in zip(dictionaries, values, strict=False) if name in d}

        block = function.regions[0].blocks[0]
        results = named("res_attrs", list(list(block.operations)[-1].operation.operands), "onnx.name")
        arguments = named("arg_attrs", list(block.arguments), "mnc.updated")
        return cls({results[name]: argument for name, argument in arguments.items() if name in results})

    @staticmethod
    def has_home(function: Any, number: int) -> bool:
        """Whether a result of a function on tensors stays in local memory: another program finds it there, or it is the
        next value of an argument."""
        results, arguments = ([*map(ir.DictAttr, function.attributes.get(n, []))] for n in ("res_attrs", "arg_attrs"))
        if number >= len(results):
            return False
        own, name, updated = results[number], "onnx.name", "mnc.updated"
        is_next = any(name in own and updated in a and a[updated] == own[name] for a in arguments)
        return HOMES in own or KEPT in own or is_next

    @property
    def arguments(self) -> list[Any]:
        """What is replaced."""
        return list(self._replaced.values())

    def replaced_by(self, value: Any) -> Any | None:
        """The argument that a value replaces."""
        return self._replaced.get(value)

    def updated_by(self, value: Any) -> Any | None:
        """The argument that a value replaces, itself or by way of one element-wise operation."""
        if not self._replaced:
            return None
        results = (value, *element_wise_results(value))
        return next((self._replaced[r] for r in results if r in self._replaced), None)

    def values_for(self, argument: Any) -> list[Any]:
        """Values that replace an argument: the next one itself, and what is read where that is element-wise work."""
        results = [result for result, own in self._replaced.items() if own == argument]
        made = [r.owner for r in results if not isinstance(r.owner, ir.Block) and r.owner.name == "linalg.generic"]
        operands = [operand for op in made for operand in op.operands]
        found = [(value, self.updated_by(value)) for value in (*results, *operands)]
        return [value for value, own in found if own is not None and own == argument]

    def is_kept(self, value: Any) -> bool:
        """Whether a tensor is, under any order of dimensions, an argument that a result replaces."""
        return bool(self._replaced) and untransposed(value)[0] in self._replaced.values()


def element_wise_results(value: Any) -> list[Any]:
    """The results of element-wise operations that read a value."""
    return [use.owner.operation.results[0] for use in value.uses if _is_element_wise(use.owner, value)]


def _is_element_wise(op: Any, value: Any) -> bool:
    """Whether every element of the result is made of the one of `value` at its place."""
    if op.operation.name != "linalg.generic":
        return False
    generic = read_generic(op.operation.opview)
    return all(generic.parallel) and any(i.value == value and i.access == generic.result for i in generic.inputs)


def untransposed(value: Any, layout: Any = None) -> tuple[Any, Any]:
    """What transpositions make `value` of, and how that lies if `value` has a layout."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == "linalg.generic":
        generic = read_generic(value.owner.opview)
        if not is_transposition(generic):
            break
        order = transposition_order(generic)
        layout = None if layout is None else permute(layout, [order.index(i) for i in range(len(order))])
        value = generic.inputs[0].value
    return value, layout
