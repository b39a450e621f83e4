"""mnc reduce: what remains is small, still shows the fault, and shows no other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper, numpy_helper

from mnc.core.diagnostics import CompileError, InternalError
from mnc.mncore_backend.emulator.errors import EmulationError
from mnc.options import Options
from mnc.reduction.conditions import Seen, parse_condition, skeleton
from mnc.reduction.cutting import part
from mnc.reduction.reduce import reduce_model
from mnc.reduction.shapes import extents, smaller, with_extent
from mnc.tools.mnc import cli


def chain(operators: list[str], rows: int = 12, columns: int = 20) -> onnx.ModelProto:
    """Operators one after the other; a MatMul has a square weight."""
    nodes, weights = [], []
    for i, operator in enumerate(operators):
        inputs = [f"v{i}"]
        if operator == "MatMul":
            weight = np.random.default_rng(i).standard_normal((columns, columns)).astype(np.float32)
            weights.append(numpy_helper.from_array(weight, f"w{i}"))
            inputs.append(f"w{i}")
        nodes.append(helper.make_node(operator, inputs, [f"v{i + 1}"], name=f"n{i}"))
    shape = [rows, columns]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("v0", f"v{len(operators)}"))
    graph = helper.make_graph(nodes, "chain", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def _shows(*operators: str, rows: int = 1):
    """A condition on operators and the first extent of the first input."""

    def condition(model: onnx.ModelProto) -> Seen | None:
        found = [node.op_type for node in model.graph.node]
        first = model.graph.input[0].type.tensor_type.shape.dim[0].dim_value
        ok = all(name in found for name in operators) and first >= rows
        return Seen("fault", f"{found} {first}") if ok else None

    return condition


def test_only_what_is_needed_remains() -> None:
    model = chain(["Relu", "Exp", "MatMul", "Tanh", "Sigmoid", "Relu", "Exp"])
    found = reduce_model(model, _shows("Tanh", rows=3))
    assert [node.op_type for node in found.model.graph.node] == ["Tanh"]
    assert [d.dim_value for d in found.model.graph.input[0].type.tensor_type.shape.dim] == [3, 1]
    onnx.checker.check_model(found.model, full_check=True)
    assert found.complete and found.tries < 100


def test_weights_shrink_with_what_they_meet() -> None:
    found = reduce_model(chain(["Relu", "MatMul", "Relu"]), _shows("MatMul"))
    (weight,) = found.model.graph.initializer
    assert list(weight.dims) == [1, 1]


def test_two_nodes_that_are_needed_together_remain() -> None:
    found = reduce_model(chain(["Exp", "Relu", "Tanh", "MatMul", "Exp"]), _shows("Relu", "MatMul"))
    assert {node.op_type for node in found.model.graph.node} >= {"Relu", "MatMul"}
    assert len(found.model.graph.node) == 2


def test_another_fault_does_not_count() -> None:
    def condition(model: onnx.ModelProto) -> Seen | None:
        found = [node.op_type for node in model.graph.node]
        return Seen("first", "") if "Tanh" in found else Seen("other", "")

    found = reduce_model(chain(["Relu", "Tanh", "Exp"]), condition)
    assert [node.op_type for node in found.model.graph.node] == ["Tanh"]


def test_time_is_kept() -> None:
    found = reduce_model(chain(["Relu"] * 6), _shows("Relu"), seconds=0)
    assert not found.complete and len(found.model.graph.node) == 6


def test_a_model_that_shows_nothing_is_refused() -> None:
    with pytest.raises(CompileError, match="does not show"):
        reduce_model(chain(["Relu"]), _shows("Exp"))


def test_parts_and_shapes() -> None:
    model = chain(["Relu", "Exp", "Tanh"])
    cut = part(model, [0, 2])
    assert cut is not None
    assert [value.name for value in cut.graph.input] == ["v0", "v2"]
    assert [value.name for value in cut.graph.output] == ["v1", "v3"]
    assert part(model, []) is None
    assert extents(chain(["MatMul"])) == [20, 12] and smaller(8) == [1, 2, 4, 7] and smaller(2) == [1]
    assert with_extent(chain(["MatMul"]), 20, 5, "v0") is None  # the weight no longer fits


def test_messages_are_compared_without_names_and_numbers() -> None:
    assert skeleton("node 'a' of 12x4 needs [1, 2]") == skeleton("node 'b' of 3 needs [7]")
    assert skeleton("too large") != skeleton("too small")
    with pytest.raises(CompileError, match="cannot read 'slow'"):
        parse_condition("slow", Options())


def test_a_slow_model_from_the_command_line(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(["Relu", "Exp", "Relu"], 4, 6), "model.onnx")
    done = CliRunner().invoke(cli, ["reduce", "model.onnx", "--when", "cycles>100", "-o", "out/small"])
    assert done.exit_code == 0, done.exception
    assert "3 nodes -> 1" in done.output and "mnc compile out/small/model.onnx" in done.output
    files = {path.name for path in (tmp_path / "out/small").iterdir()}
    assert files >= {"model.onnx", "test_data_set_0", "ir", "program.vsm", "README.txt"}
    small = onnx.load("out/small/model.onnx")
    assert extents(small) == []


def test_half_of_a_folder_does_not_stay(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while its stages are compiled: what is left would be taken for something of the user's."""
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(["Relu"]), "model.onnx")

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("mnc.reduction.folder._write_stages", interrupted)
    command = ["reduce", "model.onnx", "--when", "cycles>0", "-o", "small"]
    assert CliRunner().invoke(cli, command).exit_code != 0
    assert not (tmp_path / "small").exists()


def test_a_refused_model_from_the_command_line(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(["Relu", "RandomNormalLike", "Exp"]), "model.onnx")
    done = CliRunner().invoke(cli, ["reduce", "model.onnx", "--when", "refused", "-o", "small"])
    assert done.exit_code == 0, done.exception
    assert "3 nodes -> 1 (RandomNormalLike)" in done.output
    again = CliRunner().invoke(cli, ["compile", "small/model.onnx", "-o", "build"])
    assert isinstance(again.exception, CompileError) and again.exception.op_type == "RandomNormalLike"


def test_a_folder_with_something_else_is_not_replaced(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(["Exp", "Exp"]), "chain.onnx")
    (tmp_path / "thesis.txt").write_text("three years of work")
    for output in (".", str(tmp_path), "chain.onnx"):
        done = CliRunner().invoke(cli, ["reduce", "chain.onnx", "--when", "cycles>0", "-o", output])
        assert isinstance(done.exception, CompileError) and "would be replaced" in done.exception.message
        assert (tmp_path / "thesis.txt").read_text() == "three years of work"
    (tmp_path / "empty").mkdir()
    for _ in range(2):  # an empty folder, and one of an earlier reduction
        done = CliRunner().invoke(cli, ["reduce", "chain.onnx", "--when", "cycles>0", "-o", "empty"])
        assert done.exit_code == 0, done.exception
    assert (tmp_path / "empty" / "model.onnx").is_file()


def test_a_node_with_a_result_of_open_shape_is_left_alone() -> None:
    """A shape that depends on data is kept with the node that has it."""
    model = chain(["Relu", "NonZero", "Cast", "LogSoftmax"])
    model.graph.node[2].attribute.append(helper.make_attribute("to", TensorProto.FLOAT))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 2
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_param = "found"
    reduced = reduce_model(model, parse_condition("refused", Options()))
    assert [node.op_type for node in reduced.model.graph.node] == ["NonZero", "Cast", "LogSoftmax"]
    assert extents(reduced.model) == []


def test_wrong_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target makes a mistake at Tanh: the search finds that node."""
    from mnc.executable import Executable

    run = Executable.run

    def mistaken(self: Executable, inputs, **options):
        outputs = run(self, inputs, **options)
        return {name: value + 1 if "tanh" in self.source else value for name, value in outputs.items()}

    import mnc.compiler

    compile_anew = mnc.compiler.compile

    def compile_marked(model: onnx.ModelProto, options: Options):
        from dataclasses import replace

        has_tanh = any(node.op_type == "Tanh" for node in model.graph.node)
        return replace(compile_anew(model, options), source="tanh" if has_tanh else "other")

    monkeypatch.setattr(Executable, "run", mistaken)
    monkeypatch.setattr(mnc.compiler, "compile", compile_marked)
    found = reduce_model(chain(["Relu", "Tanh", "Relu"], 3, 2), parse_condition("wrong", Options(prefer=())))
    assert [node.op_type for node in found.model.graph.node] == ["Tanh"]
    assert "is off by" in found.seen.message


def _broken(operator: str, lowering: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a function of the element-wise kernels another lowering than its own."""
    from mnc.mncore_backend.kernels.vector import expand

    (table,) = (value for value in vars(expand).values() if isinstance(value, dict) and operator in value)
    monkeypatch.setitem(table, operator, lowering)


def _reduce(when: str, *more: str) -> Result:
    onnx.save(chain(["Relu", "Tanh", "Exp"], 4, 6), "model.onnx")
    return CliRunner().invoke(cli, ["reduce", "model.onnx", "--when", when, "-o", "small", "--no-cache", *more])


def test_a_wrong_lowering_from_the_command_line(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _broken("tanh", lambda builder, value: value, monkeypatch)
    done = _reduce("wrong")
    assert done.exit_code == 0, done.exception
    assert "3 nodes -> 1 (Tanh)" in done.output and "is off by" in done.output
    again = Path("small/README.txt").read_text().splitlines()[-1].split()
    assert CliRunner().invoke(cli, again[1:]).exit_code == 1


def test_a_crash_of_the_compiler_from_the_command_line(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder's own reproducer names itself, and the command fails as the model did."""
    monkeypatch.chdir(tmp_path)

    def broken(builder: Any, value: Any) -> Any:
        raise ZeroDivisionError("no such segment")

    _broken("tanh", broken, monkeypatch)
    done = _reduce("crash")
    assert done.exit_code == 0, done.exception
    assert "3 nodes -> 1 (Tanh)" in done.output and "no such segment in pass select-instructions" in done.output
    text = Path("small/README.txt").read_text()
    again = text.splitlines()[-1].split()
    assert again[:3] == ["mnc", "compile", "small/model.onnx"] and "mnc-reproducer" not in text
    failure = CliRunner().invoke(cli, again[1:]).exception
    assert isinstance(failure, InternalError) and "no such segment" in failure.message
    (reproducer,) = Path("small").glob("mnc-reproducer-*.mlir")
    assert reproducer.read_text().splitlines()[0].endswith(f" {reproducer}")


def test_a_program_that_breaks_a_rule_is_a_crash(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the emulator refuses is a mistake of ours, as nobody else wrote the program."""
    from mnc.executable import Executable

    def refused(self: Executable, inputs: Any) -> Any:
        raise EmulationError("GRF0 read too early", 3, rule="hazard-9b")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Executable, "run", refused)
    done = _reduce("crash")
    assert done.exit_code == 0, done.exception
    assert "-> 1 (" in done.output and "hazard-9b" in done.output and "mnc check small" in done.output


def test_a_refusal_names_no_place() -> None:
    model = chain(["Relu", "RandomNormalLike"])
    seen = parse_condition("refused", Options())(model)
    assert seen is not None and seen.message.startswith("error: node 'n1' (RandomNormalLike)")


def test_progress_is_told_try_by_try(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(["Relu", "RandomNormalLike"]), "model.onnx")
    command = ["reduce", "model.onnx", "--when", "refused", "-o", "small"]
    told = CliRunner().invoke(cli, [*command, "-v"])
    assert "case the whole model, 2 nodes, largest extent 20" in told.stderr and "case try 2, " in told.stderr
    assert "stage" not in told.stderr
    quiet = CliRunner().invoke(cli, [*command, "-q", "--log-json", "log.jsonl"])
    assert (quiet.exit_code, quiet.output) == (0, "")
    assert '"event": "case"' in Path("log.jsonl").read_text()
