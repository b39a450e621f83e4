"""docs/pass-examples.md shows what the passes do today, and shows nearly all of them."""

from types import ModuleType

import pytest

from mnc.registry import pass_table

from .tree import script

UNCHANGED = {"plan-movements", "verify-schedule", "count-work"}
"""Passes that leave the functions as they are: they plan, check, or note something on the module."""


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return script("gen_pass_examples")


def test_page_is_up_to_date(generator: ModuleType) -> None:
    assert generator.PAGE.read_text(encoding="utf-8") == generator.page(), "run make docs"


def test_nearly_all_passes_are_shown(generator: ModuleType) -> None:
    text = generator.PAGE.read_text(encoding="utf-8")
    missing = {name for name in pass_table() if f"\n## {name}\n" not in text} - UNCHANGED
    assert len(missing) <= 2, missing


def test_elements_of_a_pipeline(generator: ModuleType) -> None:
    assert generator.elements("a{x=1,2},func.func(b,c),d") == ["a{x=1,2}", "func.func(b,c)", "d"]


def test_long_functions_are_cut(generator: ModuleType) -> None:
    body = "\n".join(f"  %c{i} = arith.constant {i} : i32" for i in range(50))
    module = generator._run(f"func.func @f() {{\n{body}\n  return\n}}", [])
    lines = generator._function(module, "f").splitlines()
    assert len(lines) == generator.MOST_LINES and lines[-2:] == ["  ...", "}"]
