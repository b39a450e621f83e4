"""Statements: loops, conditions, loads and stores of one C++ function."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mnc.core.bindings import ir
from mnc.core.diagnostics import InternalError
from mnc.lowering.cpp.affine import address, constraints_of, delinearized, extreme, linearized, map_results
from mnc.lowering.cpp.scalar import Scalar
from mnc.lowering.cpp.text import SUM, Expression, Names, number
from mnc.lowering.cpp.types import SHORT_FLOATS, c_type

_LONGEST_EXPRESSION = 96
_LOOP_NAMES = "ijklmnpq"
_VALUE_NAMES = {
    "addf": "sum", "subf": "difference", "mulf": "product", "divf": "quotient", "maximumf": "largest", "cmpf": "holds",
    "minimumf": "smallest", "cmpi": "holds", "select": "chosen", "exp": "power", "negf": "negated", "sqrt": "root",
}  # fmt: skip
_VIEWS = frozenset(["memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.subview"])
_TERMINATORS = frozenset(["affine.yield", "scf.yield", "func.return"])


@dataclass(frozen=True)
class Buffer:
    """A memref: pointer expression and the layout of its elements (strides and offset in elements)."""

    pointer: str
    strides: tuple[int, ...]
    offset: int
    shape: tuple[int, ...]


def buffer_of(pointer: str, type_: ir.Type) -> Buffer:
    """A buffer of the layout that its type states; raises InternalError when it is not static."""
    memref = ir.MemRefType(type_)
    strides, offset = memref.get_strides_and_offset()
    numbers = [*strides, offset, *memref.shape]
    if any(n < 0 for n in numbers) or not memref.has_static_shape:
        raise InternalError(f"the C++ printer needs static layouts, not {type_}")
    return Buffer(pointer, tuple(strides), offset, tuple(memref.shape))


class BodyPrinter:
    """Prints operations as statements; `buffers` and `values` say what the values from outside are called.

    Attributes:
        lines: the statements so far.
        helpers: names of the helper functions that they call.
    """

    def __init__(self, names: Names, buffers: dict[ir.Value, Buffer], values: dict[ir.Value, Expression]) -> None:
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self._names = names
        self._buffers = buffers
        self._values = values
        self._depth = 1
        self._loops = 0
        self._waiting: dict[ir.Value, str] = {}
        self._statements: dict[str, Callable[[ir.Operation], None]] = {
            "affine.load": self._load, "memref.load": self._load, "affine.store": self._store,
            "memref.store": self._store, "affine.for": self._affine_for, "scf.for": self._scf_for,
            "affine.if": self._if, "scf.if": self._if, "memref.alloc": self._allocate, "memref.alloca": self._allocate,
            "affine.apply": self._apply, "affine.min": self._extreme, "affine.max": self._extreme,
            "affine.delinearize_index": self._delinearize, "affine.linearize_index": self._linearize,
        }  # fmt: skip

    def print_operations(self, operations: Iterable[ir.Operation]) -> None:
        """Statements of `operations`, which stand in one block, in order, except what its terminator yields."""
        for op in operations:
            if op.name in _TERMINATORS or op.name == "memref.dealloc":
                continue
            if op.name in _VIEWS:
                self._buffers[op.results[0]] = buffer_of(self._buffers[op.operands[0]].pointer, op.results[0].type)
            elif op.name in self._statements:
                self._statements[op.name](op)
            elif len(op.results) != 1:
                raise InternalError(f"the C++ printer has no statement for {op.name}")
            else:
                self._define(op.results[0], Scalar(op, self._number, self._value, self.helpers.add).expression())

    # Values

    def _value(self, value: ir.Value) -> Expression:
        """Text of a value as it is stored. A value that waited for its only use is written there."""
        self._waiting.pop(value, None)
        return self._values[value]

    def _number(self, value: ir.Value) -> Expression:
        """Text of a value in the type that C++ computes in."""
        expression = self._value(value)
        if str(value.type) not in SHORT_FLOATS:
            return expression
        return Expression(f"to_float({expression.text})", reads_memory=expression.reads_memory)

    def _define(self, value: ir.Value, expression: Expression, name: str = "") -> None:
        """Remember the text of a value; one used several times, or inside a loop, gets a variable."""
        uses = list(value.uses)
        if not uses:
            return
        self._values[value] = expression
        maker = value.owner.operation
        wanted = name or _VALUE_NAMES.get(maker.name.split(".", 1)[1], "value")
        if expression.constant is not None or maker.name == "arith.constant":
            return
        owner = uses[0].owner.operation
        if len(uses) > 1 or owner.block != maker.block or len(expression.text) > _LONGEST_EXPRESSION:
            self._declare(value, wanted)
        elif expression.reads_memory:
            self._waiting[value] = wanted

    def _declare(self, value: ir.Value, wanted: str) -> None:
        name = self._names.take(wanted)
        self._line(f"const {c_type(value.type)} {name} = {self._values[value].text};")
        self._values[value] = Expression(name)

    def _flush(self) -> None:
        """Give variables to what was read from memory and is still waiting, before memory changes."""
        for value, wanted in list(self._waiting.items()):
            self._declare(value, wanted)
        self._waiting.clear()

    def _line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    # Memory

    def _element(self, memref: ir.Value, indices: Sequence[Expression], checked: bool) -> Expression:
        buffer = self._buffers[memref]
        if checked:
            indices = [self._within(i, extent) for i, extent in zip(indices, buffer.shape, strict=True)]
        place = address(indices, buffer.strides, buffer.offset)
        return Expression(f"{buffer.pointer}[{place.text}]", reads_memory=True)

    def _within(self, index: Expression, extent: int) -> Expression:
        """Indices that were computed from data may be anything; loop variables are in range by construction."""
        if not index.reads_memory and index.text.isidentifier() and index.text in self._loop_variables:
            return index
        self.helpers.add("within")
        return Expression(f"within({index.text}, {extent})", reads_memory=index.reads_memory)

    @property
    def _loop_variables(self) -> set[str]:
        return {e.text for value, e in self._values.items() if isinstance(value.owner, ir.Block)}

    def _indices(self, op: ir.Operation, first: int) -> list[Expression]:
        operands = [self._value(value) for value in list(op.operands)[first:]]
        if "map" not in op.attributes:
            return operands
        return map_results(ir.AffineMapAttr(op.attributes["map"]).value, operands, self.helpers.add)

    def _load(self, op: ir.Operation) -> None:
        checked = op.name == "memref.load"
        self._define(op.results[0], self._element(op.operands[0], self._indices(op, 1), checked), "element")

    def _store(self, op: ir.Operation) -> None:
        value = self._value(op.operands[0]).text
        target = self._element(op.operands[1], self._indices(op, 2), op.name == "memref.store").text
        self._flush()
        self._line(f"{target} = {value};")

    def _allocate(self, op: ir.Operation) -> None:
        """A buffer of this block; its memory ends with the block."""
        self._flush()
        buffer = buffer_of("", op.results[0].type)
        name, size = self._names.take("tile"), max(1, _elements(buffer.shape))
        element = c_type(ir.MemRefType(op.results[0].type).element_type)
        self._line(f"const std::unique_ptr<{element}[]> {name}(new {element}[{size}]);")
        self._buffers[op.results[0]] = buffer_of(name, op.results[0].type)

    # Indices

    def _apply(self, op: ir.Operation) -> None:
        self._define(op.results[0], self._indices(op, 0)[0], "index")

    def _extreme(self, op: ir.Operation) -> None:
        function = "std::min" if op.name == "affine.min" else "std::max"
        self._define(op.results[0], extreme(self._indices(op, 0), function), "index")

    def _delinearize(self, op: ir.Operation) -> None:
        digits = delinearized(self._atom(op.operands[0]), list(op.attributes["static_basis"]), len(op.results))
        for result, digit in zip(op.results, digits, strict=True):
            self._define(result, digit, "index")

    def _atom(self, value: ir.Value) -> Expression:
        """The value as something that may be written several times: a name, or a number."""
        expression = self._value(value)
        if expression.constant is None and not expression.text.isidentifier():
            self._values[value] = expression
            self._declare(value, "index")
        return self._values[value]

    def _linearize(self, op: ir.Operation) -> None:
        indices = [self._value(value) for value in op.operands]
        self._define(op.results[0], linearized(indices, list(op.attributes["static_basis"])), "index")

    # Control

    def _affine_for(self, op: ir.Operation) -> None:
        lower, upper, initial = (int(n) for n in op.attributes["operandSegmentSizes"])
        operands = [self._value(value) for value in op.operands]
        low_map, high_map = (ir.AffineMapAttr(op.attributes[f"{side}BoundMap"]).value for side in ("lower", "upper"))
        low = extreme(map_results(low_map, operands[:lower], self.helpers.add), "std::max")
        high = extreme(map_results(high_map, operands[lower : lower + upper], self.helpers.add), "std::min")
        step = number(ir.IntegerAttr(op.attributes["step"]).value)
        self._loop(op, (low, high, step), operands[lower + upper : lower + upper + initial])

    def _scf_for(self, op: ir.Operation) -> None:
        low, high, step, *initial = [self._value(value) for value in op.operands]
        self._loop(op, (low, high, step), initial)

    def _loop(self, op: ir.Operation, bounds: tuple[Expression, ...], initial: Sequence[Expression]) -> None:
        low, high, step = bounds
        self._flush()
        block = op.regions[0].blocks[0]
        carried = [self._variable(result, "total", start) for result, start in zip(op.results, initial, strict=True)]
        for argument, name in zip(list(block.arguments)[1:], carried, strict=True):
            self._values[argument] = Expression(name)
        counts = [bound.constant for bound in (low, high, step)]
        if None not in counts and counts[0] < counts[1] <= counts[0] + counts[2]:  # pyright: ignore
            # One round: no loop.
            self._values[block.arguments[0]] = low
            self._inside(block, carried, nested=False)
            return
        name = Names(self._names).take(self._loop_name())
        self._values[block.arguments[0]] = Expression(name)
        increment = f"++{name}" if step.constant == 1 else f"{name} += {step.text}"
        self._line(f"for (std::int64_t {name} = {low.text}; {name} < {high.at_least(SUM)}; {increment}) {{")
        self._loops += 1
        self._inside(block, carried, nested=True)
        self._loops -= 1
        self._line("}")

    def _loop_name(self) -> str:
        return _LOOP_NAMES[self._loops] if self._loops < len(_LOOP_NAMES) else f"i{self._loops}"

    def _variable(self, result: ir.Value, name: str, start: Expression | None = None) -> str:
        """Declare a variable that regions assign to; it stands for `result` afterwards."""
        text = self._names.take(name)
        self._line(f"{c_type(result.type)} {text}{f' = {start.text}' if start else '{}'};")
        self._values[result] = Expression(text)
        return text

    def _inside(self, block: ir.Block, targets: Sequence[str], nested: bool) -> None:
        """The statements of a region, which end by assigning what it yields to `targets`."""
        outer, self._names = self._names, Names(self._names)
        self._depth += nested
        operations = [view.operation for view in block.operations]
        self.print_operations(operations)
        yielded = list(operations[-1].operands) if operations and operations[-1].name in _TERMINATORS else []
        texts = [self._value(value).text for value in yielded]
        self._flush()
        if len(targets) > 1:
            # All values are read before the first variable changes.
            fresh = [self._names.take("next") for _ in texts]
            for name, value, text in zip(fresh, yielded, texts, strict=True):
                self._line(f"const {c_type(value.type)} {name} = {text};")
            texts = fresh
        for target, text in zip(targets, texts, strict=False):
            if target != text:
                self._line(f"{target} = {text};")
        self._depth -= nested
        if nested:
            self._names = outer

    def _if(self, op: ir.Operation) -> None:
        condition = self._condition(op)
        self._flush()
        targets = [self._variable(result, "chosen") for result in op.results]
        self._line(f"if ({condition}) {{")
        self._inside(op.regions[0].blocks[0], targets, nested=True)
        if len(op.regions) > 1 and len(op.regions[1].blocks):
            self._line("} else {")
            self._inside(op.regions[1].blocks[0], targets, nested=True)
        self._line("}")

    def _condition(self, op: ir.Operation) -> str:
        operands = [self._value(value) for value in op.operands]
        if op.name == "scf.if":
            return operands[0].text
        map_, signs = constraints_of(op.attributes["condition"])
        results = map_results(map_, operands, self.helpers.add)
        return " && ".join(f"{r.at_least(SUM)} {sign} 0" for r, sign in zip(results, signs, strict=True))


def _elements(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
