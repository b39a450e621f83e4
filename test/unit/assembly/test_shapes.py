"""Lines that differ from earlier ones in addresses only are not parsed again, and give the same records."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assembly.strategies import ALL_HEALTH_CHECKS, STEPS
from mnc.mncore_backend.assembly import parse_program, parser, print_statement
from mnc.mncore_backend.assembly.errors import AsmSyntaxError
from mnc.mncore_backend.assembly.parser import parse_line
from mnc.mncore_backend.assembly.records import Step
from mnc.mncore_backend.assembly.shapes import form_of


def moved(step: Step, rng: random.Random) -> Step:
    """The same step at other addresses."""
    forms = [form_of(expression) for expression in step.expressions]
    return Step(tuple(shape.at(tuple(rng.randrange(1 << 20) for _ in own)) for shape, own in forms), step.line)


@settings(max_examples=200, deadline=None, suppress_health_check=ALL_HEALTH_CHECKS)
@given(STEPS, st.integers(0, 1 << 30))
def test_lines_of_a_known_shape_are_what_the_parser_makes(step: Step, seed: int) -> None:
    rng = random.Random(seed)
    lines = [print_statement(one) for one in (step, moved(step, rng), moved(step, rng))]
    assert parse_program("\n".join(lines)) == [parse_line(text, line) for line, text in enumerate(lines, 1)]


@settings(max_examples=200, deadline=None, suppress_health_check=ALL_HEALTH_CHECKS)
@given(STEPS, st.integers(0, 1 << 30))
def test_a_shape_and_addresses_are_the_expression(step: Step, seed: int) -> None:
    for expression in (*step.expressions, *moved(step, random.Random(seed)).expressions):
        shape, addresses = form_of(expression)
        assert shape.at(addresses) == expression
        assert form_of(shape.at(addresses)) == (shape, addresses)


def test_addresses_are_cut_out_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_program("l1bmm@2 $lm0v $lb0; iadd -$r0 $lln0v4j1 $ls0v/$imr3 $omr4")
    monkeypatch.setattr(parser, "parse_line", None)
    (step,) = parse_program("l1bmm@2 $lm16v $lb48; iadd -$r7 $lln4v4j1 $ls010v/$imr3 $omr4")
    assert isinstance(step, Step)
    found = [o.address for e in step.expressions for o in (*e.sources, *e.destinations)]
    assert found == [16, 48, 7, 4, 10, 4]


@pytest.mark.parametrize("text", ["iadd $lr12345678901v $ls0v $ln0v", "iadd $lr0v $ls0v $ln0v0", "iadd $l r0v $ls0v"])
def test_a_known_shape_lets_nothing_else_through(text: str) -> None:
    parse_program("iadd $lr0v $ls0v $ln0v")
    try:
        expected = [parse_line(text)]
    except AsmSyntaxError as error:
        with pytest.raises(AsmSyntaxError) as caught:
            parse_program(text)
        assert str(caught.value) == str(error)
    else:
        assert parse_program(text) == expected


def test_comments_are_no_operands() -> None:
    texts = [f"lpassa $lr{8 * i}v $ls{8 * i}v # $lm{8 * i}" for i in range(3)]
    found = parse_program("\n".join(texts))
    assert found == [parse_line(text, i) for i, text in enumerate(texts, 1)]
