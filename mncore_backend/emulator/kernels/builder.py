"""Builder of one function in LLVM-dialect text: constants, loops, branches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .emitter import Value, literal


@dataclass
class Builder:
    """Collects the body of one function; `emit` numbers its values."""

    lines: list[str] = field(default_factory=list)
    _count: int = 0
    _constants: dict[tuple[str, int, int | float | str], Value] = field(default_factory=dict)
    _constant_lines: list[str] = field(default_factory=list)

    def line(self, text: str) -> None:
        """Append an operation without result."""
        self.lines.append("  " + text)

    def fresh(self, prefix: str = "%v") -> str:
        """A new SSA or block name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def emit(self, text: str, element: str, lanes: int = 0) -> Value:
        """Append an operation with one result."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return Value(self, name, element, lanes)

    def constant(self, element: str, lanes: int, value: int | float) -> Value:
        """A constant, the same in every lane; hoisted to the entry of the function, kept once."""
        text = literal(element, value)
        kind = f"vector<{lanes}x{element}>" if lanes else element
        if lanes:
            text = f"dense<{text}> : {kind}"
        elif element != "i1":
            text = f"{text} : {element}"
        return self._constant(element, lanes, text, kind)

    def vector(self, element: str, values: Sequence[int | float]) -> Value:
        """A constant vector with its own value per lane."""
        kind = f"vector<{len(values)}x{element}>"
        body = ", ".join(literal(element, value) for value in values)
        return self._constant(element, len(values), f"dense<[{body}]> : {kind}", kind)

    def scratch(self, size: int) -> Value:
        """A 64-byte aligned buffer of `size` bytes on the stack of the call."""
        name, count = self.fresh("%s"), self.constant("i64", 0, size)
        text = f"llvm.alloca {count.name} x i8 {{alignment = 64 : i64}} : (i64) -> !llvm.ptr"
        self._constant_lines.append(f"  {name} = {text}")
        return Value(self, name, "ptr")

    def _constant(self, element: str, lanes: int, text: str, kind: str) -> Value:
        key = (element, lanes, text)
        if key not in self._constants:
            name = self.fresh("%c")
            self._constant_lines.append(f"  {name} = llvm.mlir.constant({text}) : {kind}")
            self._constants[key] = Value(self, name, element, lanes)
        return self._constants[key]

    @contextmanager
    def loop(self, start: "Value | int", stop: "Value | int", step: int = 1) -> Iterator[Value]:
        """A counted loop over i64, run at least once when start < stop and never otherwise."""
        first = start if isinstance(start, Value) else self.constant("i64", 0, start)
        last = stop if isinstance(stop, Value) else self.constant("i64", 0, stop)
        head, body, leave = self.fresh("^head"), self.fresh("^body"), self.fresh("^leave")
        index = Value(self, self.fresh(), "i64")
        self.line(f"llvm.br {head}({first.name} : i64)")
        self.lines.append(f"{head}({index.name}: i64):")
        inside = index.compare("slt", last)
        self.line(f"llvm.cond_br {inside.name}, {body}, {leave}")
        self.lines.append(f"{body}:")
        yield index
        following = index + step
        self.line(f"llvm.br {head}({following.name} : i64)")
        self.lines.append(f"{leave}:")

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Run the body only if the scalar i1 `condition` holds."""
        body, leave = self.fresh("^then"), self.fresh("^done")
        self.line(f"llvm.cond_br {condition.name}, {body}, {leave}")
        self.lines.append(f"{body}:")
        yield
        self.line(f"llvm.br {leave}")
        self.lines.append(f"{leave}:")

    def function(self, name: str, arguments: str) -> str:
        """The text of the finished function."""
        body = "\n".join([*self._constant_lines, *self.lines])
        return f"llvm.func @{name}({arguments}) {{\n{body}\n  llvm.return\n}}\n"
