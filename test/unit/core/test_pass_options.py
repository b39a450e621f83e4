"""Values of options: what is refused, and that a pass is read back from its own text."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

import mnc
from mnc.core.diagnostics import CompileError
from mnc.core.pass_base import at_least, parse_value, print_value


@dataclass(frozen=True)
class Example(mnc.Pass):
    """A pass with a list."""

    name = "example"
    names: tuple[str, ...] = ("a", "b")
    counts: tuple[int, ...] = at_least(0, ())
    share: float = 0.5
    kind: Literal["a", "b"] = "a"
    limit: int | None = None

    def run(self, module: object) -> None:
        """Nothing."""


TABLE = {"example": f"{__name__}:Example"}


@pytest.mark.parametrize("names", [(), ("a",), ("a b", "c"), ("a b", "c,d"), ('"', "\\"), ("(", "{", "x y")])
def test_lists_of_texts_are_read_back(names: tuple[str, ...]) -> None:
    pipeline = mnc.Pipeline((Example(names),))
    assert mnc.Pipeline.parse(str(pipeline), TABLE) == pipeline
    assert parse_value("a,b", tuple[str, ...]) == ("a", "b") and print_value(("a", "b")) == "a,b"


def test_numbers_are_not_too_small() -> None:
    for text in ("spill-buffers{percent=-5}", "tile{sizes=8,-1}", "choose-tiles{multiple=0}", "unroll{repeats=-1}"):
        with pytest.raises(CompileError, match=r"option '[\w-]+' is (-\d+|0)"):
            mnc.parse_pipeline(f"builtin.module({text})")
    with pytest.raises(CompileError, match="option 'counts' is -2"):
        Example(counts=(1, -2))


WRONG = {
    "names": (3, ["a"], ("a", 1), "ab", None), "counts": ("x", (1.5,), (True,), [1], {1: 2}),
    "share": ("x", None, True), "kind": ("c", None, ["a"]), "limit": (1.5, "x", True),
}  # fmt: skip


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in WRONG.items() for value in values])
def test_values_have_the_type_of_the_option(field: str, value: Any) -> None:
    with pytest.raises(CompileError, match=f"pass 'example': option '{field}' is ") as caught:
        Example(**{field: value})
    assert caught.value.hint and "typing" not in caught.value.hint


def test_numbers_of_numpy_are_numbers() -> None:
    made = Example(counts=(np.int64(3),), share=1, limit=np.int32(2))  # pyright: ignore[reportArgumentType]
    assert str(made) == "example{counts=3 share=1 limit=2}"


def test_what_is_no_number_is_said_in_plain_words() -> None:
    with pytest.raises(CompileError, match="option 'steps': 'x' is not an integer"):
        mnc.parse_pipeline("builtin.module(loop-over-parts{steps=x})")


def test_a_pass_in_capitals_is_proposed() -> None:
    with pytest.raises(CompileError, match="did you mean 'cse'"):
        mnc.parse_pipeline("builtin.module(CSE)")


@pytest.mark.parametrize("entries", ["cse", "builtin.module(cse)", None, 5, [None], [Example]])
def test_pipelines_are_made_of_passes(entries: object) -> None:
    with pytest.raises(CompileError, match=r"is no (list of passes|pass)"):
        mnc.Pipeline(entries)  # pyright: ignore[reportArgumentType]


def test_pipelines_take_text_of_passes() -> None:
    pipeline = mnc.Pipeline(["cse", Example(), "tile{sizes=8,8}"])  # pyright: ignore[reportArgumentType]
    assert [entry.name for entry in pipeline.entries] == ["cse", "example", "tile"]
    with pytest.raises(TypeError):
        pipeline + "cse"  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


def test_default_pipeline_takes_options_as_compile_does() -> None:
    assert mnc.default_pipeline({"precision": "single"}) == mnc.default_pipeline(mnc.Options(precision="single"))
    with pytest.raises(CompileError, match="precisio"):
        mnc.default_pipeline({"precisio": "single"})
