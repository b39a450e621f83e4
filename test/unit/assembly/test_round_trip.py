"""Printing and parsing are inverse whatever the blanks; the formatter keeps the meaning; nothing crashes the parser."""

import dataclasses
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assembly.strategies import STATEMENTS
from mnc.mncore_backend.assembly import AsmSyntaxError, parse_line, parse_program, print_program, print_statement
from mnc.mncore_backend.assembly.format import format_program
from mnc.mncore_backend.assembly.records import Quit, RepeatedNop, Statement, Step, Transfer

THOROUGH = settings(max_examples=700, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@THOROUGH
@given(STATEMENTS)
def test_a_printed_statement_parses_to_itself(statement: Statement) -> None:
    text = print_statement(statement)
    parsed = parse_line(text)
    assert parsed is not None
    assert dataclasses.replace(parsed, line=0) == statement
    assert print_statement(parsed) == text


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATEMENTS, st.randoms(use_true_random=False))
def test_blanks_and_comments_change_nothing(statement: Statement, source: random.Random) -> None:
    text = print_statement(statement)
    if isinstance(statement, Step | Transfer):
        text = text.replace(" ", source.choice(("  ", "\t", " \t ")))
        text = text.replace(";", source.choice((";", " ; ", "\t;")))
    text = source.choice(("", "  ", "\t")) + text + source.choice(("", " ", "\r", " # note ; x", "#"))
    parsed = parse_line(text)
    assert parsed is not None
    assert dataclasses.replace(parsed, line=0) == statement


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATEMENTS, max_size=12))
def test_a_program_keeps_its_lines(statements: list[Statement]) -> None:
    text = "\n# head\n" + print_program(statements)
    parsed = parse_program(text)
    end = next((i for i, s in enumerate(statements) if isinstance(s, Quit)), len(statements) - 1)
    assert [dataclasses.replace(s, line=0) for s in parsed] == statements[: end + 1]
    assert [s.line for s in parsed] == list(range(3, 3 + len(parsed)))
    assert parse_program(format_program(text)) == parsed


@pytest.mark.parametrize("alphabet", ['lpasdim$0123rnv; /@[,]i"jt#', None])
def test_the_parser_answers_any_text_with_a_message(alphabet: str | None) -> None:
    text = st.text(alphabet) if alphabet else st.text()

    @settings(max_examples=700, deadline=None)
    @given(text)
    def check(line: str) -> None:
        try:
            parse_program(line)
        except AsmSyntaxError as error:
            assert 1 <= error.line <= line.count("\n") + 1
            width = len(line.split("\n")[error.line - 1])
            assert 1 <= error.column <= width + 1
            assert "\n" not in error.message

    check()


@settings(max_examples=700, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATEMENTS, st.data())
def test_a_damaged_line_gives_a_position_inside_it(statement: Statement, data: st.DataObject) -> None:
    text = print_statement(statement)
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = (
        text[:at] + data.draw(st.sampled_from(("", "$", "/", "9", "x", ";", " ", "@", "é", "\0"))) + text[at + 1 :]
    )
    try:
        parse_line(damaged)
    except AsmSyntaxError as error:
        assert 1 <= error.column <= len(damaged) + 1


def test_a_repeated_nop_is_one_statement() -> None:
    assert parse_line("nop/24", 7) == RepeatedNop(24, 7)
