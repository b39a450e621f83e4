"""Names of elements, values of a run by the names of tensors, and what is refused."""

from typing import Any

import numpy as np
import pytest

from mnc.core.diagnostics import CompileError
from mnc.core.sequences import (
    HostSequence,
    as_lists,
    element_index,
    element_name,
    given_tensors,
    missing_hint,
    read_sequences,
    shapes_of,
    tensors_of,
)
from mnc.options import Options

SEQUENCES = (
    HostSequence("s", "input", ("s[0]", "s[1]")),
    HostSequence("e", "input", ()),
    HostSequence("o", "input", None),
    HostSequence("y", "output", ("y[0]",)),
    HostSequence("p", "output", None),
)


def test_names_of_elements() -> None:
    assert element_name("s", 12) == "s[12]"
    assert element_index("s[12]", "s") == 12 and element_index("s[1][2]", "s[1]") == 2
    for name in ("s", "s[]", "s[01]", "s[-1]", "s[1][2]", "st[1]", "s[1]x", "t[1]"):
        assert element_index(name, "s") is None, name


def test_values_say_shapes() -> None:
    values = {"s": [np.zeros((2, 3)), np.zeros(())], "e": [], "o": None, "x": np.zeros(4)}
    assert shapes_of(values) == {"s": (2,), "s[0]": (2, 3), "s[1]": (), "e": (0,), "o": None, "x": (4,)}
    assert list(tensors_of(values)) == ["s[0]", "s[1]", "x"]


def test_lists_and_tensors() -> None:
    values = {"s": (1, 2), "e": [], "o": None, "x": 3}
    tensors = given_tensors(values, SEQUENCES)
    assert tensors == {"s[0]": 1, "s[1]": 2, "x": 3}
    assert given_tensors(tensors, SEQUENCES) == tensors  # element by element
    assert as_lists(tensors, SEQUENCES, "input") == {"s": [1, 2], "e": [], "o": None, "x": 3}
    found = as_lists({"y[0]": 1, "z": 2}, SEQUENCES, "output")
    assert found == {"y": [1], "p": None, "z": 2}
    assert [*found][:2] == ["y", "z"], "the order of tensors"


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ({"s": [1]}, "input 's' has 1 element, the program takes 2", "a list of 2 arrays"),
        ({"s": [1, 2, 3]}, "input 's' has 3 elements, the program takes 2", "the other length"),
        ({"e": [1]}, "input 'e' has 1 element, the program takes 0", "a list of 0 arrays"),
        ({"s": np.zeros((2, 3))}, "'s' is a sequence, and a value of type ndarray was given", "a list of 2 arrays"),
        ({"s": [1, 2], "s[1]": 3}, r"input 's\[1\]' is given twice", "leave one of them out"),
        ({"o": 1}, "compiled without a value for input 'o'", "give the shape of 'o' when compiling"),
    ],
)
def test_refused(values: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(CompileError, match=message) as raised:
        given_tensors(values, SEQUENCES)
    assert hint in (raised.value.hint or "")


def test_what_a_missing_element_belongs_to() -> None:
    assert missing_hint("s[1]", SEQUENCES) == "give 's' as a list of 2 arrays"
    assert missing_hint("x", SEQUENCES) is None and missing_hint("y[0]", SEQUENCES) is None


def test_json_holds_them() -> None:
    entries = [
        {"name": "s", "role": "input", "elements": ["s[0]", "s[1]"]},
        {"name": "o", "role": "input", "elements": None},
    ]
    assert read_sequences(entries) == (SEQUENCES[0], SEQUENCES[2])


def test_options_take_lists_of_shapes() -> None:
    given: Any = {"s": [(4,), [3, 2], ()], "e": [], "o": None, "n": 2, "x": [1, 64]}
    assert Options(shapes=given).shapes == {
        "s": (3,), "s[0]": (4,), "s[1]": (3, 2), "s[2]": (), "e": (), "o": None, "n": (2,), "x": (1, 64),
    }  # fmt: skip
    for wrong in ({"s": [(4,), (-3,)]}, {"s": [(4,), "ab"]}, {"s": [(4,), None]}):
        with pytest.raises(CompileError, match=r"the shape of 's") as raised:
            Options(shapes=wrong)  # pyright: ignore[reportArgumentType]
        assert raised.value.hint
