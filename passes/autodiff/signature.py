"""Reading and extending the arguments and results of a function, by their names."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.modules import functions_of
from mnc.passes.autodiff.build import Value

NAME = "onnx.name"


class Signature:
    """Arguments and results of one function; changes are written back by `write`."""

    def __init__(self, function: Any) -> None:
        self.function = function.operation
        self.block = self.function.regions[0].blocks[0]
        self.terminator = list(self.block.operations)[-1].operation
        self.results: list[Value] = list(self.terminator.operands)
        self._arguments = self._attributes("arg_attrs", len(self.block.arguments))
        self._results = self._attributes("res_attrs", len(self.results))

    def _attributes(self, name: str, count: int) -> list[dict[str, Any]]:
        if name not in self.function.attributes:
            return [{} for _ in range(count)]
        return [{item.name: item.attr for item in ir.DictAttr(entry)} for entry in self.function.attributes[name]]

    def result_names(self) -> list[str]:
        """Names of the results; ``result0`` and so on where there is none."""
        return [_name(entry, f"result{i}") for i, entry in enumerate(self._results)]

    def argument_names(self) -> list[str]:
        """Names of the arguments; ``arg0`` and so on where there is none."""
        return [_name(entry, f"arg{i}") for i, entry in enumerate(self._arguments)]

    def constants(self) -> dict[str, Any]:
        """Named constants of the function: initializers."""
        named = {}
        for view in self.block.operations:
            op = view.operation
            if op.name == "graph.constant" and NAME in op.attributes:
                named[ir.StringAttr(op.attributes[NAME]).value] = op
        return named

    def add_argument(self, name: str, type_: Any, location: Any, **attributes: Any) -> Value:
        """A new argument behind the others.

        Raises:
            CompileError: there is one of this name.
        """
        if name in self.argument_names():
            raise CompileError(f"the function has an argument '{name}' already", hint="rename that input")
        self._arguments.append({NAME: ir.StringAttr.get(name), **attributes})
        return self.block.add_argument(type_, location)

    def promote(self, name: str, constant: Any) -> Value:
        """Make an argument of a constant."""
        argument = self.add_argument(name, constant.results[0].type, constant.location)
        constant.results[0].replace_all_uses_with(argument)
        self.results = [argument if value == constant.results[0] else value for value in self.results]
        constant.erase()
        return argument

    def mark(self, argument: Value, **attributes: Any) -> None:
        """Add attributes to an argument; underscores stand for dots."""
        added = {key.replace("_", ".", 1): value for key, value in attributes.items()}
        self._arguments[argument.arg_number].update(added)

    def add_result(self, name: str, value: Value) -> None:
        """A new result behind the others.

        Raises:
            CompileError: there is one of this name.
        """
        if name in self.result_names():
            raise CompileError(f"the function has a result '{name}' already", hint="rename that output")
        self.results.append(value)
        self._results.append({NAME: ir.StringAttr.get(name)})

    def write(self) -> None:
        """Write type, attributes and terminator of the function."""
        from mnc.core.bindings import func

        with self.terminator.location, ir.InsertionPoint(self.terminator):
            func.ReturnOp(self.results)
        self.terminator.erase()
        inputs = [argument.type for argument in self.block.arguments]
        outputs = [value.type for value in self.results]
        self.function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs))
        for key, entries in (("arg_attrs", self._arguments), ("res_attrs", self._results)):
            if entries:
                self.function.attributes[key] = ir.ArrayAttr.get([ir.DictAttr.get(entry) for entry in entries])


def _name(entry: dict[str, Any], default: str) -> str:
    return ir.StringAttr(entry[NAME]).value if NAME in entry else default


def find_main(module: Any) -> Any:
    """The function ``@main``.

    Raises:
        CompileError: there is none.
    """
    for view in functions_of(module):
        op = view.operation
        if ir.StringAttr(op.attributes["sym_name"]).value == "main":
            return op
    raise CompileError("there is no function 'main' to differentiate", hint="name the function so, and give it a body")


def choices(names: Sequence[str]) -> str:
    """Names for a hint."""
    return ", ".join(names) or "none"
