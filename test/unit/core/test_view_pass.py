"""Passes that hand on a view: when it is read, and when the module gets it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.instrumentation import Instrumentation
from mnc.core.pass_base import Pass
from mnc.core.pipeline import Pipeline
from mnc.core.view_pass import View, ViewPass, view_of

READ: list[int] = []


class Number(View):
    """The number that a module has as an attribute."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.value = number_in(module)
        READ.append(self.value)

    def write(self) -> None:
        with self.module.context:
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.value)
            self.module.operation.attributes["test.number"] = number

    def count(self) -> int:
        return 1


@dataclass(frozen=True)
class Add(ViewPass):
    """Add one; refuse what is too large."""

    name: ClassVar[str] = "add"
    most: int = 100

    def process(self, module: Any, view: View | None) -> View:
        number = view if isinstance(view, Number) else Number(module)
        number.value += 1
        if number.value > self.most:
            raise CompileError("too large")
        return number


@dataclass(frozen=True)
class Double(Pass):
    """A pass that looks at the module itself."""

    name: ClassVar[str] = "double"

    def run(self, module: Any) -> None:
        number = Number(module)
        number.value *= 2
        number.write()


class Watch(Instrumentation):
    """What an observer sees in the module, or in the view if it does not ask for the module."""

    def __init__(self, *, looks: bool) -> None:
        self._looks = looks
        self.seen: list[int] = []

    def looks_at(self, entry: Any) -> bool:
        return self._looks

    def after(self, entry: Any, module: ir.Module) -> None:
        view = view_of(module)
        assert not (self._looks and view)
        self.seen.append(view.value if isinstance(view, Number) else number_in(module))


def number_in(module: Any) -> int:
    return ir.IntegerAttr(module.operation.attributes["test.number"]).value


@pytest.fixture
def module() -> Any:
    READ.clear()
    return ir.Module.parse("module attributes {test.number = 1 : i64} {}", make_context())


def test_passes_that_follow_each_other_read_once(module: Any) -> None:
    Pipeline((Add(), Add(), Add())).run(module)
    assert (READ, number_in(module)) == ([1], 4)


def test_a_pass_on_the_module_sees_what_was_done(module: Any) -> None:
    Pipeline((Add(), Double(), Add(), Add())).run(module)
    assert (READ, number_in(module)) == ([1, 2, 4], 6)


@pytest.mark.parametrize(("looks", "read"), [(False, [1]), (True, [1, 2, 3])])
def test_an_observer_sees_every_state(module: Any, looks: bool, read: list[int]) -> None:
    """Whether it looks at the module, which is then written after every pass, or at the view."""
    watch = Watch(looks=looks)
    Pipeline((Add(), Add(), Add())).run(module, (watch,))
    assert (watch.seen, READ) == ([2, 3, 4], read)
    assert view_of(module) is None


def test_a_failure_leaves_no_view(module: Any) -> None:
    with pytest.raises(CompileError):
        Pipeline((Add(), Add(most=2))).run(module)
    assert view_of(module) is None


def test_a_pass_runs_alone(module: Any) -> None:
    Add().run(module)
    assert number_in(module) == 2
