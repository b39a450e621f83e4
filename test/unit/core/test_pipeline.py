"""Pipeline text, options, editing, failures."""

import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError, InternalError, node_name
from mnc.core.explanation import explaining
from mnc.core.instrumentation import Timing
from mnc.core.nesting_pass import NestingPass, run_nested
from mnc.core.pass_base import Pass
from mnc.core.pipeline import Pipeline
from mnc.core.rewrite import Pattern, apply_greedily, refuse
from mnc.options import Options
from mnc.registry import merge_tables, pass_class, pass_table
from mnc.stages import stage_pipeline


class DoubleNegation(Pattern):
    """``-(-x) -> x``."""

    root: ClassVar[str] = "graph.neg"

    def match(self, op):
        inner = op.operand.owner
        if isinstance(inner, ir.Block):
            return None
        return inner.operands[0] if inner.name == "graph.neg" else refuse("the operand is not a negation")

    def rewrite(self, op, match, rewriter):
        rewriter.replace_op(op, [match])


@dataclass(frozen=True)
class Probe(Pass):
    """A pass for these tests."""

    name: ClassVar[str] = "probe"
    sizes: tuple[int, ...] = ()
    mode: Literal["fast", "exact"] = "fast"
    label: str = "x"
    limit: int | None = None
    scale: float = 1.0
    fail: bool = False

    def run(self, module: ir.Module) -> None:
        if self.fail:
            raise RuntimeError("boom")
        apply_greedily(module, [DoubleNegation()])


@dataclass(frozen=True)
class Twice(NestingPass):
    """Tries its passes on a copy, then runs them for good."""

    name: ClassVar[str] = "twice"
    tries: int = 1

    def run(self, module: ir.Module) -> None:
        for _ in range(self.tries):
            run_nested(self.passes, ir.Module.parse(str(module), module.context))
        run_nested(self.passes, module, is_observed=True)


_module = types.ModuleType("probe_passes")
_module.Probe = Probe  # pyright: ignore
_module.Twice = Twice  # pyright: ignore
sys.modules["probe_passes"] = _module
TABLE = {"probe": "probe_passes:Probe", "twice": "probe_passes:Twice"}
NESTED = "builtin.module(cse,twice{tries=2}(probe,func.func(canonicalize),twice(probe{sizes=1,2})),inline)"
TEXT = "builtin.module(probe{sizes=1,2 mode=exact},func.func(cse,canonicalize{max-iterations=3}),cse)"
INPUT = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "graph.relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "graph.neg"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def _input() -> ir.Module:
    return ir.Module.parse(INPUT, make_context(["graph"]))


@given(
    st.builds(
        Probe,
        sizes=st.lists(st.integers(0, 999), max_size=3).map(tuple),
        mode=st.sampled_from(["fast", "exact"]),
        label=st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1),
        limit=st.none() | st.integers(),
        scale=st.floats(allow_nan=False),
        fail=st.booleans(),
    )
)
def test_options_survive_printing_and_parsing(probe: Probe) -> None:
    text = f"builtin.module({probe})"
    assert Pipeline.parse(text, TABLE).entries == (probe,)


def test_text_round_trip() -> None:
    pipeline = Pipeline.parse(TEXT, TABLE)
    assert str(pipeline) == TEXT
    assert Pipeline.parse(str(pipeline), TABLE) == pipeline
    assert str(Pipeline()) == "builtin.module()"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("probe", "1:1", "a pipeline starts with"),
        ("builtin.module(probe", "1:21", "expected ',' or ')'"),
        ("builtin.module(probe))", "1:22", "text after the closing"),
        ("builtin.module(probe,\n  prob)", "2:3", "there is no pass 'prob'"),
        ("builtin.module(probe{size=1})", "1:16", "there is no option 'size'"),
        ("builtin.module(probe{limit=many})", "1:16", "option 'limit'"),
        ("builtin.module(probe{mode=slow})", "1:16", "'slow' is not one of fast, exact"),
        ("builtin.module(func.func(probe))", "1:26", "runs on builtin.module"),
        ("builtin.module(probe{)", "1:21", "'{' is never closed"),
        ("builtin.module(probe(cse))", "1:16", "pass 'probe' runs no passes of its own"),
        ("builtin.module(canonicalize(cse))", "1:16", "pass 'canonicalize' runs no passes of its own"),
        ("builtin.module(twice(prob))", "1:22", "there is no pass 'prob'"),
        ("builtin.module(twice{time=1}(probe))", "1:16", "there is no option 'time'"),
        ("builtin.module(twice(probe)", "1:28", "expected ',' or ')'"),
        ("builtin.module(twice())", "1:22", "expected the name of a pass"),
    ],
)
def test_malformed_text(text: str, place: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        Pipeline.parse(text, TABLE)
    assert message in caught.value.message
    assert caught.value.location == f"<pipeline>:{place}"


def test_editing_makes_new_pipelines() -> None:
    pipeline = Pipeline.parse("builtin.module(probe,cse,canonicalize)", TABLE)
    assert str(pipeline.replace("probe", Probe(fail=True))) == "builtin.module(probe{fail=true},cse,canonicalize)"
    assert str(pipeline.insert_before("cse", Probe())) == "builtin.module(probe,probe,cse,canonicalize)"
    assert str(pipeline.insert_after("canonicalize", Probe())) == "builtin.module(probe,cse,canonicalize,probe)"
    assert str(pipeline.remove("cse")) == "builtin.module(probe,canonicalize)"
    assert str(pipeline) == "builtin.module(probe,cse,canonicalize)"
    with pytest.raises(CompileError, match="did you mean 'probe'"):
        pipeline.remove("prob")
    with pytest.raises(CompileError, match="2 passes named 'probe'"):
        pipeline.insert_after("cse", Probe()).remove("probe")


def test_passes_inside_of_passes_survive_printing_and_parsing() -> None:
    pipeline = Pipeline.parse(NESTED, TABLE)
    assert str(pipeline) == NESTED and Pipeline.parse(str(pipeline), TABLE) == pipeline
    names = [entry.name for entry in pipeline.all_entries]
    assert names == ["cse", "twice", "probe", "canonicalize", "twice", "probe", "inline"]
    assert Twice().passes == () and str(Twice()) == "twice"


def test_passes_inside_of_passes_are_edited_like_others() -> None:
    pipeline = Pipeline.parse(NESTED, TABLE)
    inner = "twice{tries=2}(probe,func.func(canonicalize),twice(probe{sizes=1,2}))"
    assert str(pipeline.remove("canonicalize")) == NESTED.replace("func.func(canonicalize),", "")
    assert str(pipeline.insert_before("canonicalize", Probe(fail=True))) == NESTED.replace(
        "func.func(", "probe{fail=true},func.func("
    )
    assert str(pipeline.insert_after("canonicalize", Probe(), Probe())) == NESTED.replace(
        "ize),twice", "ize),probe,probe,twice"
    )
    assert str(pipeline.replace("inline", Twice())) == NESTED.replace("inline", "twice")
    assert str(pipeline.remove("inline")) == f"builtin.module(cse,{inner})" and str(pipeline) == NESTED
    with pytest.raises(CompileError, match="2 passes named 'probe'"):
        pipeline.remove("probe")


def test_observers_see_the_run_that_counts(tmp_path: Path) -> None:
    pipeline = Pipeline.parse(NESTED, TABLE).dump_after("canonicalize", tmp_path / "ir.mlir")
    timing = Timing()
    pipeline.run(_input(), (timing,))
    assert "graph.relu" in (tmp_path / "ir.mlir").read_text()
    names = [name.partition("{")[0].partition("(")[0] for name, _ in timing.seconds]
    assert names == ["cse", "probe", "canonicalize", "probe", "twice", "twice", "inline"]


def test_time_of_passes_inside_counts_once() -> None:
    @dataclass(frozen=True)
    class Sleep(Pass):
        name: ClassVar[str] = "sleep"

        def run(self, module: ir.Module) -> None:
            time.sleep(0.05)

    timing = Timing()
    Pipeline((Twice(tries=0, passes=(Sleep(), Sleep())),)).run(_input(), (timing,))
    assert [seconds >= 0.05 for _, seconds in timing.seconds] == [True, True, False]


def test_a_failure_inside_is_recorded_once_by_itself(tmp_path: Path) -> None:
    pipeline = Pipeline((Probe(), Twice(passes=(Probe(), Probe(fail=True)))))
    with pytest.raises(InternalError) as caught:
        pipeline.run(_input(), reproducer_directory=tmp_path)
    (file,) = tmp_path.iterdir()
    assert caught.value.reproducer == file and caught.value.failing_pass == "probe{fail=true}"
    assert "builtin.module(probe,probe{fail=true})" in file.read_text()
    (tmp_path / "own").mkdir()
    with pytest.raises(InternalError):
        pipeline.run(_input(), reproducer_directory=tmp_path / "own", reproducer_file=tmp_path / "asked.mlir")
    assert str(pipeline) in (tmp_path / "asked.mlir").read_text() and not list((tmp_path / "own").iterdir())


def test_dump_after_writes_the_ir(tmp_path: Path) -> None:
    pipeline = Pipeline.parse("builtin.module(probe,cse)", TABLE).dump_after("probe", tmp_path / "ir.mlir")
    timing = Timing()
    pipeline.run(_input(), (timing,))
    assert "graph.relu" in (tmp_path / "ir.mlir").read_text()
    assert [name for name, _ in timing.seconds] == ["probe", "cse"]


def test_refusals_are_explained_once() -> None:
    with explaining() as explanation:
        Pipeline((Probe(), Probe())).run(_input())
    (line,) = explanation.lines
    assert line.endswith("DoubleNegation refused 'graph.neg': the operand is not a negation")


@pytest.mark.parametrize("what", [None, "builtin.module"])
def test_only_modules_run(what: object) -> None:
    with pytest.raises(CompileError, match="is no module"):
        Pipeline().run(what)  # pyright: ignore[reportArgumentType]


def test_a_stage_has_a_name_of_the_table() -> None:
    with pytest.raises(CompileError, match="no stage 'nope'"):
        stage_pipeline("nope", Options())


def test_failure_leaves_a_reproducer_of_the_original_input(tmp_path: Path) -> None:
    pipeline = Pipeline((*Pipeline.parse("builtin.module(canonicalize)", TABLE).entries, Probe(fail=True), Probe()))
    with pytest.raises(InternalError) as caught:
        pipeline.run(_input(), reproducer_directory=tmp_path)
    error = caught.value
    assert error.reproducer is not None
    first, rest = error.reproducer.read_text().split("\n", 1)
    expected = "builtin.module(canonicalize,probe{fail=true})"
    assert first == f"// mnc-opt --pass-pipeline='{expected}' {error.reproducer}"
    assert "graph.relu" in rest
    assert (error.failing_pass, error.passes_before) == ("probe{fail=true}", ("canonicalize",))
    assert isinstance(error.__cause__, RuntimeError)


def test_every_row_of_the_pass_tables_is_a_pass_of_that_name() -> None:
    for name in pass_table():
        assert issubclass(pass_class(name), Pass)
        assert pass_class(name).name == name


def test_duplicate_pass_names_are_refused() -> None:
    with pytest.raises(ValueError, match="registered by a and by b"):
        merge_tables({"a": {"x": "m:X"}, "b": {"x": "m:Y"}})


def test_node_name_of_locations() -> None:
    assert node_name('loc("fc1"("a.onnx":0:0))') == "fc1"
    assert node_name('loc("a.mlir":1:2)') is None


def test_names_of_fused_nodes_are_joined() -> None:
    from mnc.core.diagnostics import node_name

    assert node_name('loc(fused["a x"("f.onnx":0:0), "b", "a x"])') == "a x + b"
    assert node_name('loc("a x"("f.onnx":0:0))') == "a x"
    assert node_name('loc("f.onnx":1:2)') is None
