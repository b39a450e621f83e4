"""Passes of users: known by their names to pipeline text, in Python and from files of their own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mnc
from mnc import registry
from mnc.tools.plugins import load_plugin

PLUGIN = """
from dataclasses import dataclass
import mnc

@mnc.register_pass
@dataclass(frozen=True)
class Nothing(mnc.Pass):
    name = "nothing-{0}"
    def run(self, module):
        pass
"""


@dataclass(frozen=True)
class Marked(mnc.Pass):
    """Write a number on the module."""

    name = "mark-it"
    number: int = 1

    def run(self, module: Any) -> None:
        """Set the attribute `test.number`."""
        from mnc.core.bindings import ir

        module.operation.attributes["test.number"] = ir.StringAttr.get(str(self.number), module.context)


@pytest.fixture(autouse=True)
def none_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_registered", {})
    return iter([None])


def test_text_names_it_with_its_options() -> None:
    with pytest.raises(mnc.CompileError, match="mark-it"):
        mnc.parse_pipeline("builtin.module(mark-it)")
    assert mnc.register_pass(Marked) is Marked
    pipeline = mnc.parse_pipeline("builtin.module(cse,mark-it{number=3})")
    assert pipeline.entries[1] == Marked(3) and "mark-it{number=3}" in str(pipeline)
    assert mnc.Pipeline(["mark-it"]).entries == (Marked(),)  # pyright: ignore[reportArgumentType]
    assert mnc.default_pipeline().insert_before("graph-to-linalg", "mark-it{number=2}")
    mnc.register_pass(Marked)  # once more, as when its file is read anew


def _named(own: Any) -> type[mnc.Pass]:
    return type("Other", (mnc.Pass,), {"name": own, "__module__": __name__})


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (int, "is no pass"),
        (3, "is no pass"),
        (mnc.Pass, "the pass Pass has the name ''"),
        (_named("Do It"), "has the name 'Do It'"),
        (_named("fold-constants"), "there is a pass 'fold-constants' already: mnc.passes"),
        (_named("cse"), "there is a pass 'cse' already: one of MLIR"),
        (_named("affine-parallelize"), "there is a pass 'affine-parallelize' already: one of MLIR"),
    ],
)
def test_what_is_refused(own: Any, message: str) -> None:
    with pytest.raises(mnc.CompileError, match=message):
        mnc.register_pass(own)
    assert not registry._registered


def test_a_class_inside_of_a_function_is_refused() -> None:
    @dataclass(frozen=True)
    class Inside(mnc.Pass):
        name = "inside"

    with pytest.raises(mnc.CompileError, match="inside of a function"):
        mnc.register_pass(Inside)


def test_a_file_of_passes_may_be_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "plugin_of_a_test.py"
    for name in ("one", "two"):
        path.write_text(PLUGIN.format(name))
        load_plugin(path)
        assert str(mnc.parse_pipeline(f"builtin.module(nothing-{name})")) == f"builtin.module(nothing-{name})"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("absent.py", None, "there is no such file"),
        ("my-passes.py", "", "is no name of a Python module"),
        ("passes.txt", "", "is no name of a Python module"),
        ("json.py", "", "there is a Python module 'json' already"),
        ("plugin_that_fails.py", "def", "fails with SyntaxError"),
        ("plugin_that_divides.py", "1 / 0", "fails with ZeroDivisionError: division by zero"),
        ("plugin_of_numbers.py", "import mnc\nmnc.register_pass(3)", "3 is no pass"),
    ],
)
def test_files_that_are_refused(name: str, text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(mnc.CompileError, match=message) as caught:
        load_plugin(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value) and caught.value.hint
