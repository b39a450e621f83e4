"""Small programs are compiled with several preferences about layouts; the shortest is kept."""

import os
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import mnc
from mnc.compiler import run_stages
from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.modules import copy_module
from mnc.lowering.linalg_to_spmd.layout_attributes import preferences_of
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocate_buffers import AllocateBuffers
from mnc.mncore_backend.codegen.allocation.allocate import CapacityError
from mnc.mncore_backend.codegen.residency.spill_buffers import SpillBuffers
from mnc.mncore_backend.codegen.schedule import Schedule
from mnc.mncore_backend.shortest import shortest as shortest_pass
from mnc.mncore_backend.shortest.shortest import Shortest
from mnc.mncore_backend.shortest.sizes import largest_tensor
from mnc.mncore_backend.shortest.trials import PREFERENCES, PRICE, Compiled, Trials
from mnc.mncore_backend.target import chip
from mnc.options import Options, Preference
from mnc.report import report
from mnc.stages import default_pipeline, stage_pipeline
from mnc.tools.commands.shared import parse_layouts
from mnc.training.models import perceptron
from mnc.training.step import training_step

SHORT, LONG = 40, 120
"""Rows of a chain whose tensors are tiny, and of one whose are not."""


def chain(rows: int) -> onnx.ModelProto:
    """Three matrix products of 24 columns, with a softmax over rows in between: something to exchange."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((24, 24)).astype(np.float32) / 5, f"w{i}") for i in range(3)]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"], axis=0),
        helper.make_node("MatMul", ["b", "w1"], ["c"]),
        helper.make_node("MatMul", ["c", "w2"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 24]) for name in "xy")
    graph = helper.make_graph(nodes, "chain", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def before_layouts(rows: int, options: Options) -> object:
    module = import_model(chain(rows), make_context())
    for stage in ("graph", "linalg"):
        stage_pipeline(stage, options).run(module)
    return module


def shortest(**options: int) -> Shortest:
    """The pass as it stands in the default pipeline, with other options."""
    (found,) = (entry for entry in default_pipeline().all_entries if isinstance(entry, Shortest))
    return replace(found, **options)


def cycles(model: onnx.ModelProto, prefer: tuple[Preference, ...] | None) -> int:
    return report(mnc.compile(model, Options(prefer=prefer)))["total"]["cycles"]


def test_the_shortest_of_what_is_tried_is_kept() -> None:
    model = chain(LONG)
    chosen = mnc.compile(model)
    total = report(chosen)["total"]
    alone = {(): cycles(model, ()), **{(name,): cycles(model, (name,)) for name in PREFERENCES}}
    assert total["cycles"] <= min(alone.values())
    assert chosen.preferences and total["cycles"] < alone[()]
    assert total["cycles"] == cycles(model, parse_layouts(",".join(chosen.preferences)))
    assert report(chosen)["preferences"] == list(chosen.preferences)


def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Preference, ...]]:
    """The preferences with which programs are made from now on."""
    made: list[tuple[Preference, ...]] = []
    make = Trials._made

    def counted(self: Trials, module: Any, ordered: tuple[Preference, ...], best: Compiled | None) -> Compiled:
        made.append(ordered)
        return make(self, module, ordered, best)

    monkeypatch.setattr(Trials, "_made", counted)
    return made


@pytest.mark.parametrize(("most", "is_first"), [(shortest_pass.MOST_AT_ONCE, True), (0, False)])
def test_small_tensors_are_placed_together_first_in_programs_that_are_not_short(
    most: int, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortest_pass, "NOT_SHORT", 0)
    monkeypatch.setattr(shortest_pass, "MOST_AT_ONCE", most)
    made = noted(monkeypatch)
    shortest().best(before_layouts(SHORT, Options()))
    assert ("together" in made[0]) == is_first


@pytest.mark.parametrize(("many", "is_asked"), [(0, True), (shortest_pass.MANY, False)])
def test_programs_of_many_operations_are_also_compiled_so_that_all_l2bs_do_the_same(
    many: int, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortest_pass, "NOT_SHORT", 0)
    monkeypatch.setattr(shortest_pass, "MANY", many)
    monkeypatch.setattr(shortest_pass, "DEARER", 1e9)
    monkeypatch.setattr("mnc.mncore_backend.shortest.trials.has_processor", lambda: False)
    asked: list[tuple[Preference, ...]] = []
    compiled = Trials.compiled

    def counted(self: Trials, preferences: tuple[Preference, ...], best: Compiled | None = None) -> Compiled:
        asked.append(preferences)
        return compiled(self, preferences, best)

    monkeypatch.setattr(Trials, "compiled", counted)
    shortest(few_statements=0).best(before_layouts(LONG, Options()))
    assert (("alike",) in asked) == is_asked


@pytest.mark.parametrize(("dearer", "few", "is_made"), [(1e9, 0, True), (0, 0, False), (0, 100, True)])
def test_many_operations_placed_one_by_one_are_not_compiled_where_that_is_dear(
    dearer: float, few: int, is_made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortest_pass, "NOT_SHORT", 0)
    monkeypatch.setattr(shortest_pass, "FEW_OPERATIONS", few)
    monkeypatch.setattr(shortest_pass, "DEARER_ONE_BY_ONE", dearer)
    monkeypatch.setattr("mnc.mncore_backend.shortest.trials.has_processor", lambda: False)
    made = noted(monkeypatch)
    shortest().best(before_layouts(LONG, Options()))
    assert any("together" not in preferences for preferences in made) == is_made


@pytest.mark.parametrize("rows", [SHORT, 96])
def test_a_second_process_makes_the_same_program(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It only finds out sooner what this one would ask for: of what both know, nothing is made again."""
    made = noted(monkeypatch)
    texts, counts = [], []
    for processors in (1, 2):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, most=processors: set(range(most)), raising=False)
        made.clear()
        texts.append(shortest(least_cycles=0).best(before_layouts(rows, Options())).text)
        counts.append(len(made))
    assert texts[0] == texts[1]
    assert counts[1] < counts[0]


def test_numbers_are_right_where_another_than_the_first_wins() -> None:
    program, x = mnc.compile(chain(LONG)), np.random.default_rng(1).standard_normal((LONG, 24)).astype(np.float32)
    assert program.preferences
    (want,) = ReferenceEvaluator(chain(LONG)).run(None, {"x": x})
    largest = float(np.abs(want).max())
    np.testing.assert_allclose(program.run({"x": x})["y"], np.asarray(want), rtol=0, atol=1e-4 * largest)


def test_a_training_step_is_much_shorter_than_without_preferences() -> None:
    step = training_step(perceptron([64, 32, 10]), batch=64, learning_rate=0.1)
    program, plain = (step.compile(Options(resident="state", prefer=prefer)) for prefer in (None, ()))
    assert report(program)["total"]["cycles"] < 0.8 * report(plain)["total"]["cycles"]
    assert program.preferences and not plain.preferences


def test_the_same_program_each_time() -> None:
    first, second = (mnc.compile(chain(LONG)) for _ in range(2))
    assert first.text == second.text and first.preferences == second.preferences


def test_tiny_tensors_lie_otherwise_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Trials.compiled

    def without_room(self: Trials, preferences: Collection[Preference], best: Compiled | None = None) -> Compiled:
        if "alike" in preferences:
            raise CapacityError((Memory.LM0,), 4096, 2048, [])
        return compiled(self, preferences, best)

    monkeypatch.setattr(Trials, "compiled", without_room)
    assert "alike" not in shortest().best(before_layouts(SHORT, Options())).preferences


@pytest.mark.parametrize(("grows", "rooms"), [(0, [100, 88, 50]), (1, [100, 88, 75, 62, 50])])
def test_where_less_room_changes_nothing_the_least_is_tried_next(
    grows: int, rooms: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where refusals differ, a little less room may be enough."""
    tried: list[int] = []
    spill = SpillBuffers.run

    def noted(self: SpillBuffers, module: ir.Module) -> None:
        tried.append(self.percent)
        spill(self, module)

    def refuse(*_: object) -> None:
        raise CapacityError((Memory.LM0,), 2176 + grows * len(tried), 2048, [("x", 896)])

    monkeypatch.setattr(SpillBuffers, "run", noted)
    monkeypatch.setattr(AllocateBuffers, "run_on", refuse)
    with pytest.raises(CapacityError):
        Trials(before_layouts(SHORT, Options()), shortest().passes, shortest().rooms).compiled(())
    assert tried == rooms


def test_what_is_asked_for_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shortest, "run", lambda *_: pytest.fail("searched"))
    assert mnc.compile(chain(LONG), Options(prefer=("cyclic",))).preferences == ("cyclic",)
    assert mnc.compile(chain(LONG), Options(prefer=())).preferences == ()


@pytest.mark.parametrize(("rows", "settled"), [(SHORT, ["alike"]), (LONG, [])])
def test_tiny_tensors_settle_one_preference(rows: int, settled: list[str]) -> None:
    module = before_layouts(rows, Options())
    assert (largest_tensor(module) <= chip().tiny_elements) == bool(settled)
    assert list(shortest(least_cycles=10**9).best(module).preferences) == settled  # no search


def test_of_long_programs_only_one_other_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Preference, ...]] = []
    compiled = Trials.compiled

    def noted(self: Trials, preferences: Collection[Preference], best: Compiled | None = None) -> Compiled:
        asked.append(tuple(preferences))
        return compiled(self, preferences, best)

    monkeypatch.setattr(Trials, "compiled", noted)
    shortest(few_statements=10, most_statements=10).best(before_layouts(LONG, Options()))
    assert len(asked) == 2
    assert asked[1] == ("alike",)


@pytest.mark.parametrize(("least", "tried"), [(0, True), (10**9, False)])
def test_programs_of_small_tensors_are_placed_together_too(
    least: int, tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Preference, ...]] = []
    compiled = Trials.compiled

    def noted(self: Trials, preferences: Collection[Preference], best: Compiled | None = None) -> Compiled:
        asked.append(tuple(preferences))
        return compiled(self, preferences, best)

    monkeypatch.setattr(Trials, "compiled", noted)
    shortest(least_cycles=least).best(before_layouts(SHORT, Options()))
    assert (("together",) in asked) == tried
    assert (("alike", "together") in [tuple(sorted(own)) for own in asked]) == tried  # alike is what tiny tensors are


def test_equal_layouts_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they were found to cost."""
    scheduled: list[str] = []
    run_on, with_layouts = Schedule.run_on, Trials._with_layouts
    monkeypatch.setattr(Schedule, "run_on", lambda self, unit: (scheduled.append(""), run_on(self, unit)))

    def priced_anew(self: Trials, ordered: tuple[Preference, ...]) -> ir.Module:
        if ordered not in self.decided:
            module = copy_module(with_layouts(self, ()))
            with module.context:
                module.body.operations[0].attributes[PRICE] = ir.FloatAttr.get_f64(float(len(self.steps)))
            self.decided[ordered], self.steps[ordered] = module, float(len(self.steps))
        return self.decided[ordered]

    monkeypatch.setattr(Trials, "_with_layouts", priced_anew)
    assert mnc.compile(chain(LONG)).preferences == () and len(scheduled) == 1


def test_preferences_without_room_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Trials.compiled

    def cramped(self: Trials, preferences: set[Preference], *best: Compiled) -> object:
        if preferences:
            raise CompileError("no room")
        return compiled(self, preferences, *best)

    monkeypatch.setattr(Trials, "compiled", cramped)
    assert mnc.compile(chain(LONG)).preferences == ()


def test_dumps_are_of_the_program_that_is_kept(tmp_path) -> None:  # pyright: ignore[reportMissingParameterType]
    kept: tuple[Preference, ...] | None = None
    dumps: list[dict[str, str]] = []
    for directory in (tmp_path / "searched", tmp_path / "asked-for"):
        module = import_model(chain(LONG), make_context())
        run_stages(module, Options(dump_dir=directory, prefer=kept))
        kept = parse_layouts(",".join(preferences_of(module)))
        dumps.append({path.name: path.read_text() for path in directory.iterdir()})
    assert kept and len(dumps[0]) == 7
    assert dumps[0]["3-spmd.mlir"] == dumps[1]["3-spmd.mlir"]


def test_layouts_on_the_command_line() -> None:
    assert parse_layouts("shortest") is None and parse_layouts("plain") == ()
    assert parse_layouts("cyclic, alike") == ("alike", "cyclic")
    with pytest.raises(CompileError, match="no preference 'quick'"):
        parse_layouts("alike,quick")
