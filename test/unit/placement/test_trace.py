"""Traces of decisions: what they say about a search, as JSON, and what `mnc explain` makes of them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest
from click.testing import CliRunner

from mnc.compiler import compile as compile_plain
from mnc.core.diagnostics import CompileError
from mnc.decision_trace import compile_traced
from mnc.mncore_backend.placement.candidates import Preference, policy_of
from mnc.mncore_backend.placement.candidates.policy import preferences_of
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.problem import Product
from mnc.mncore_backend.placement.problem.twins import LEAST, twins
from mnc.mncore_backend.placement.refine.solve_together import MIXED, PURE, solutions
from mnc.mncore_backend.placement.solve import search as search_module
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.trace.trace import Searched, Traces
from mnc.mncore_backend.placement.trace.trace_json import trace_json
from mnc.options import Options
from mnc.placement_problem import problem_of_model
from mnc.report import report
from mnc.tools.commands.compile import command as compile_command
from mnc.tools.commands.explain import command as explain
from mnc.tools.commands.placement import command as placement

from .test_saved import model
from .test_search import chain
from .test_twins import recurrence

ROOT = Path(__file__).parents[3]
POLICIES = [policy_of(names) for names in MIXED]


@pytest.fixture(scope="module")
def problem() -> Any:
    return problem_of_model(model(), Options())


def searched(problem: Any, width: int) -> Searched:
    """A search of this width, traced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "WIDTH", width)
        traces = Traces()
        state = Search(problem, POLICIES, Movements(), tracer=traces).run()
        return traces.of(state)


@pytest.mark.parametrize("width", [1, 3, 16])
def test_a_trace_changes_nothing(problem: Any, width: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "WIDTH", width)
        plain = Search(problem, POLICIES, Movements()).run()
    traced = searched(problem, width).found
    assert (traced.price, traced.placed, traced.layouts) == (plain.price, plain.placed, plain.layouts)


@pytest.mark.parametrize("width", [1, 3, 16])
def test_chosen_candidates_add_up_to_the_solution(problem: Any, width: int) -> None:
    own = searched(problem, width)
    chosen = [decision.candidates[0] for decision in own.decisions]
    assert all(candidate.outcome == "chosen" for candidate in chosen)
    assert all(candidate.complete == pytest.approx(own.price) for candidate in chosen)
    stored = own.found.bill[len(problem.operations)]
    rest = sum(WEIGHTS[kind] * steps for kind, steps in stored.items())
    assert sum(candidate.adds for candidate in chosen) + rest == pytest.approx(own.price)
    placed = {number: own for candidate in chosen for number, own in candidate.placed.items()}
    assert placed == own.found.placed


@pytest.mark.parametrize("width", [3, 16])
def test_layers_that_follow_their_twins(width: int) -> None:
    """Of an operation that did what its twin did, the other candidates were not followed."""
    problem = recurrence(LEAST + 4)
    own = searched(problem, width)
    assert [decision.candidates[0].outcome for decision in own.decisions] == ["chosen"] * len(problem.operations)
    placed = {number: found for d in own.decisions for number, found in d.candidates[0].placed.items()}
    assert placed == own.found.placed
    number = max(n for n in twins(problem) if isinstance(problem.operations[n], Product))
    assert {candidate.outcome for candidate in own.decisions[number].candidates[1:]} == {"not followed"}


@pytest.mark.parametrize("width", [1, 3, 16])
def test_every_candidate_has_a_fate(problem: Any, width: int) -> None:
    """What is not chosen is no better than the solution, or came to an end somewhere, and says by how much."""
    for decision in (own := searched(problem, width)).decisions:
        assert decision.met == decision.merged + decision.dropped + decision.kept
        assert decision.kept <= width
        assert sum(candidate.outcome == "chosen" for candidate in decision.candidates) == 1
        for candidate in decision.candidates[1:]:
            if candidate.complete is not None:
                assert candidate.complete >= own.price - 1e-6
            elif candidate.outcome != "not followed":
                assert candidate.given_up is not None and candidate.given_up[1] >= 0
                assert candidate.given_up[0] >= decision.number


def test_a_narrow_search_drops_what_a_wide_one_compares(problem: Any) -> None:
    outcomes = {width: [c.outcome for d in searched(problem, width).decisions for c in d.candidates]
                for width in (1, 1 << 20)}  # fmt: skip
    assert "dropped" in outcomes[1] and "dropped" not in outcomes[1 << 20]
    assert "kept" in outcomes[1 << 20] and "not followed" in outcomes[1 << 20]


def test_the_price_that_a_candidate_reached_is_that_of_the_best_solution_with_it() -> None:
    """Against searches in which the plan is fixed."""
    problem = chain(64, [64, 130, 17])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "WIDTH", 1 << 20)
        traces = Traces()
        search = Search(problem, [policy_of(())], Movements(), tracer=traces)
        decisions = traces.of(search.run()).decisions
        seen = 0
        for candidate in decisions[0].candidates:
            if candidate.complete is None:
                continue
            own = candidate.placed[0]

            def is_it(plan: Any, own: Any = own) -> bool:
                return (plan.left, plan.right) == own.operands and plan.swapped == own.swapped

            pinned = Search(problem, [policy_of(())], Movements(), {0: is_it}).run()
            assert candidate.complete == pytest.approx(pinned.price)
            seen += 1
        assert seen > 3


def test_plans_without_room_are_counted_and_named() -> None:
    """A factor of which every PE would need more than it has: plans that do not split it have no room."""
    decision = searched(chain(512, [512, 512]), 16).decisions[0]
    assert 0 < decision.roomless < decision.plans
    assert all(not candidate.has_room or candidate.adds < 1e6 for candidate in decision.candidates)


def test_preferences_of_a_policy() -> None:
    for names in {*MIXED, *PURE}:
        assert preferences_of(policy_of(names)) == names


def test_the_json_follows_its_schema_and_is_the_same_every_time(problem: Any) -> None:
    schema = json.loads((ROOT / "docs" / "placement-trace.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    texts = []
    for _ in range(2):
        traces = Traces()
        found, _ = solutions(problem, POLICIES, [policy_of(names) for names in PURE], traces=traces)
        texts.append(json.dumps(trace_json(problem, found, traces)))
        assert sum(own["is_chosen"] for own in json.loads(texts[-1])["searches"]) == 1
    assert texts[0] == texts[1]
    jsonschema.validate(json.loads(texts[0]), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(texts[0]), "version": 1}, schema)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that the command wrote."""
    folder = tmp_path_factory.mktemp("trace")
    onnx.save(model(), folder / "model.onnx")
    written = folder / "trace.json"
    plain = CliRunner().invoke(placement, [str(folder / "model.onnx"), "--save", str(folder / "problem.json")])
    result = CliRunner().invoke(placement, [str(folder / "problem.json"), "--trace", str(written)])
    assert result.exit_code == 0, result.output
    assert result.output == plain.output
    return written


def compiled(options: Options) -> tuple[Any, Any]:
    executable, made = compile_traced(model(), options)
    jsonschema.validate(made, json.loads((ROOT / "docs" / "placement-trace.schema.json").read_text()))
    return executable, made


@pytest.mark.parametrize("prefer", [None, (), ("together",), ("together", "second"), ("alike", "cyclic")])
def test_a_traced_program_is_the_same_and_names_what_it_was_compared_with(prefer: Any) -> None:
    executable, made = compiled(Options(prefer=prefer))
    assert executable.text == compile_plain(model(), Options(prefer=prefer)).text
    chosen = [own for own in made["programs"] if own["is_chosen"]]
    if prefer is not None:
        assert not made["programs"]
        return
    assert [tuple(own["preferences"]) for own in chosen] == [executable.preferences]
    assert chosen[0]["cycles"] == report(executable)["total"]["cycles"]
    assert chosen[0]["cycles"] == min(own["cycles"] for own in made["programs"] if "cycles" in own)
    assert {"plain", "alike"} <= {", ".join(own["preferences"]) or "plain" for own in made["programs"]}


def test_the_trace_of_a_program_is_that_of_its_layouts() -> None:
    ways: dict[Preference, str] = {"alike": "in order", "together": "beam"}
    for name, how in ways.items():
        _, made = compiled(Options(prefer=(name,)))
        assert [own["how"] for own in made["searches"] if own["is_chosen"]] == [how]
        for op in made["operations"]:
            assert op["candidates"][0]["outcome"] == "chosen"
        assert any(len(op["candidates"]) > 3 for op in made["operations"])


def test_compile_writes_decisions_even_from_the_cache(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "model.onnx")
    asked = [str(tmp_path / "model.onnx"), "-o", str(tmp_path / "build")]
    assert CliRunner().invoke(compile_command, asked).exit_code == 0
    result = CliRunner().invoke(compile_command, [*asked, "--trace-decisions", str(tmp_path / "trace.json")])
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(explain, [str(tmp_path / "trace.json")])
    assert "cycles, chosen" in result.output and "dense" in result.output
    refused = CliRunner().invoke(compile_command, [*asked, "--target", "cpp", "--trace-decisions", "x.json"])
    assert "--trace-decisions belongs to --target mncore" in str(refused.exception)


def test_explain_prints_all_decisions(trace: Path) -> None:
    result = CliRunner().invoke(explain, [str(trace)])
    assert result.exit_code == 0, result.output
    assert "dense" in result.output and "next best" in result.output and "found in round" in result.output


def test_explain_says_why_others_lost(trace: Path) -> None:
    result = CliRunner().invoke(explain, [str(trace), "--node", "dense"])
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    data = json.loads(trace.read_text())
    own = next(op for op in data["operations"] if op["name"] == "dense")
    assert own["result"] in words and "DRAM to L2BM" in words and "not followed" in words and "in the end" in words
    assert f"{own['plans']} plans were priced" in words
    assert CliRunner().invoke(explain, [str(trace), "--node", "MaxPool_2"]).exit_code == 0


def test_a_name_that_there_is_not_gets_names_that_there_are(trace: Path) -> None:
    result = CliRunner().invoke(explain, [str(trace), "--node", "densee"])
    assert isinstance(result.exception, CompileError)
    assert result.exception.hint == "did you mean dense?"


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"format": "mnc placement trace", "version": 99}'])
def test_a_damaged_trace_is_a_mistake_of_the_user(text: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text(text)
    result = CliRunner().invoke(explain, [str(file)])
    assert isinstance(result.exception, CompileError) and "trace.json" in str(result.exception)


def test_a_trace_with_pieces_missing_is_a_mistake_of_the_user(trace: Path, tmp_path: Path) -> None:
    data = json.loads(trace.read_text())
    for key in ("operations", "searches", "solutions"):
        file = tmp_path / "trace.json"
        file.write_text(json.dumps({name: own for name, own in data.items() if name != key}))
        result = CliRunner().invoke(explain, [str(file)])
        assert isinstance(result.exception, CompileError) and "damaged" in str(result.exception)


def test_a_trace_answers_one_question_only(trace: Path, tmp_path: Path) -> None:
    for asked in ([str(trace), "--step", "3"], [str(trace), "--loops"], [str(tmp_path / "missing.json")]):
        assert isinstance(CliRunner().invoke(explain, asked).exception, CompileError)
