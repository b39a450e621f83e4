"""Modules inside of modules, and modules as bytes."""

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.modules import (
    copy_module,
    module_bytes,
    module_from_bytes,
    name_of,
    parts_of,
    put_part,
    take_over,
    take_parts,
    wrap,
)

TEXT = """
module @whole {
  module @first { func.func @f() { return } }
  module @second { func.func @g() { return } func.func @h() { return } }
}
"""


def module(text: str = TEXT) -> ir.Module:
    with make_context(), ir.Location.unknown():
        return ir.Module.parse(text)


def test_parts_are_taken_and_put_back() -> None:
    whole = module()
    before = str(whole)
    assert list(parts_of(whole)) == ["first", "second"]
    taken = take_parts(whole)
    assert not list(whole.body.operations) and [name_of(part) for part in taken.values()] == ["first", "second"]
    assert len(list(taken["second"].body.operations)) == 2
    for name, part in taken.items():
        assert part.operation.verify()
        put_part(whole, name, part)
    assert whole.operation.verify() and str(whole) == before


def test_a_module_is_wrapped() -> None:
    whole = module("func.func @f() { return }")
    assert name_of(whole) == "" and not parts_of(whole)
    wrap(whole, "main")
    assert str(whole) == str(module("module { module @main { func.func @f() { return } } }"))


def test_a_copy_is_apart_and_taken_over() -> None:
    whole, other = module(), copy_module(module())
    take_parts(whole)
    assert list(parts_of(other)) == ["first", "second"]
    again = copy_module(module())
    take_over(other, again)
    assert list(parts_of(other)) == ["first", "second"] and not list(again.body.operations)


def test_bytes_are_the_same_module() -> None:
    assert str(module_from_bytes(module_bytes(module()))) == str(module())
