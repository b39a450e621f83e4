"""Pipeline text, options, editing, failures."""

import sys
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
from mnc.core.pass_base import Pass
from mnc.core.pipeline import Pipeline
from mnc.core.rewrite import Pattern, apply_greedily, refuse
from mnc.registry import merge_tables, pass_class, pass_table


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


_module = types.ModuleType("probe_passes")
_module.Probe = Probe  # pyright: ignore
sys.modules["probe_passes"] = _module
TABLE = {"probe": "probe_passes:Probe"}
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
