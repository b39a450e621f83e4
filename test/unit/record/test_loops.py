"""Loops of a compiled program, as the record keeps and `mnc explain --loops` explains them."""

import pytest

from mnc.core.diagnostics import CompileError
from mnc.explanation.loops import explain_loops

from .small_models import perceptron, recorded


@pytest.fixture(scope="module")
def record() -> dict:
    return recorded(perceptron((512, 256), rows=128))[1]


def test_loops_of_a_product(record: dict) -> None:
    loops = record["loops"]
    assert loops and all(loop["trips"] >= 4 and loop["operations"] > 1 for loop in loops)
    assert any("layer0" in loop["nodes"] for loop in loops)
    work = [loop["least"] * loop["trips"] * loop["times"] for loop in loops]
    assert work == sorted(work, reverse=True)
    for loop in loops:
        assert loop["least"] == max(loop["recurrence"], *(steps for _, steps in loop["resources"]))
        if loop["interval"] is not None:
            assert loop["interval"] >= loop["least"] and len(loop["kernel"]) == loop["interval"]
            assert sum(map(len, loop["kernel"])) == loop["operations"]


def test_what_is_said_of_them(record: dict) -> None:
    text = "\n".join(explain_loops(record))
    first = record["loops"][0]
    assert f"{first['trips']} trips of {first['operations']} operations" in text
    assert f"{first['resources'][0][0]}" in text and "in the long run, none takes less than" in text


def test_programs_without_loops_and_without_a_record() -> None:
    assert explain_loops({"loops": []}) == ["no operations repeat"]
    with pytest.raises(CompileError, match="not recorded"):
        explain_loops({"loops": None})
    with pytest.raises(CompileError, match="not recorded"):
        explain_loops({})
