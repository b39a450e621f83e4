"""The pieces of `mnc demo`: traffic, report, text, rules and answers of the compiled digits classifier."""

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import jsonschema
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import mnc
from mnc.digits import Digits, load_digits, to_onnx, train_classifier
from mnc.mncore_backend.assembly import parse_program, print_statement
from mnc.mncore_backend.checker import check_text
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.placement.preferences import Preference
from mnc.report import report

from .running import Shell

ROOT = Path(__file__).resolve().parents[3]
BATCH = 90
HIDDEN = 32


class Compiled:
    """The classifier after the whole compiler, and one run of it."""

    def __init__(self, directory: Path) -> None:
        self.digits: Digits = load_digits()
        self.model = to_onnx(train_classifier(self.digits, HIDDEN, epochs=3), BATCH)
        self.images = self.digits.test_images[:BATCH]
        self.labels = self.digits.test_labels[:BATCH]
        onnx.save(self.model, directory / "model.onnx")
        self.executable = mnc.compile(directory / "model.onnx", mnc.Options(dump_dir=directory / "dump"))
        self.dumps = {path.stem: path.read_text() for path in (directory / "dump").iterdir()}
        self.result = self.executable.run_with_statistics({"image": self.images})


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled(tmp_path_factory.mktemp("demo"))


def test_one_load_per_input_and_weight_and_one_unload_per_output(compiled: Compiled) -> None:
    weights, inputs, outputs = (getattr(compiled.model.graph, name) for name in ("initializer", "input", "output"))
    transfers = Counter(re.findall(r'"mncore\.(dl|ul)"', compiled.dumps["4-affine"]))
    assert transfers == {"dl": len(weights) + len(inputs), "ul": len(outputs)}
    roles = Counter(tensor.role for tensor in compiled.executable.tensors)
    assert roles == {"input": len(inputs), "constant": len(weights), "output": len(outputs)}


def test_no_other_dram_traffic(compiled: Compiled) -> None:
    """DRAM long words of the program are those of the images and of the gaps between parts that one transfer spans."""
    total = report(compiled.executable)["total"]
    read = sum(t.image.total for t in compiled.executable.tensors if t.role != "output")
    written = sum(t.image.total for t in compiled.executable.outputs)
    assert (total["dram_read"], total["dram_written"]) == (read, written)


def test_every_dram_access_is_to_an_image(compiled: Compiled) -> None:
    """The same from the emulator's side: in strict mode a program that reads a long word the host did not write, or
    that writes elsewhere, is found out."""
    machine = Machine()
    compiled.executable.load(machine, {"image": compiled.images})
    machine.run(compiled.executable.text)  # strict: reading what nobody wrote raises
    written = np.zeros(1 << 16, bool)
    for tensor in compiled.executable.outputs:
        written[tensor.address : tensor.address + tensor.image.index.shape[1]] = True
    for statement in parse_program(compiled.executable.text):
        text = print_statement(statement)
        if match := re.fullmatch(r"mv\S*/n(\d+)\S* \S+ \$d(\d+)\S*", text):
            assert written[int(match[2]) : int(match[2]) + int(match[1])].all(), text


def test_report_follows_its_schema(compiled: Compiled) -> None:
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text())
    costs = report(compiled.executable)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(costs, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**costs, "surplus": 1}, schema)
    assert schema["properties"]["preferences"]["items"]["enum"] == list(get_args(Preference))
    named = {node.name for node in compiled.model.graph.node}
    assert named == {row["node"] for row in costs["nodes"]}, "weights and inputs are no nodes"
    assert sum(row["cycles"] for row in costs["nodes"]) == pytest.approx(costs["total"]["cycles"])


def test_ideal_is_that_of_the_model(compiled: Compiled) -> None:
    """Unpadded products of both layers; image, weights and logits once, each a whole number of long words."""
    costs = report(compiled.executable)
    shapes = [tuple(tensor.dims) for tensor in compiled.model.graph.initializer]
    batch, products = len(compiled.images), sum(math.prod(shape) for shape in shapes if len(shape) == 2)
    sizes = [*(math.prod(shape) for shape in shapes), compiled.images.size, batch * 10]
    ideal = costs["ideal"]
    assert ideal["multiply_adds"] == batch * products
    assert ideal["dram_long_words"] == sum(-(-size // 2) for size in sizes)
    assert ideal["compute_cycles"] == batch * products / 65536
    assert ideal["dram_cycles"] == ideal["dram_long_words"] / 64
    assert costs["of_ideal"] == max(ideal["compute_cycles"], ideal["dram_cycles"]) / costs["total"]["cycles"]


def test_report_agrees_with_the_emulator(compiled: Compiled) -> None:
    total, counted = report(compiled.executable)["total"], compiled.result.statistics
    assert (total["steps"], total["mv_transfers"]) == (counted.steps, counted.mv_transfers)
    assert (total["cycles"], total["stall_cycles"]) == (counted.cycles, counted.stall_cycles)


def test_text_parses_and_prints_back(compiled: Compiled) -> None:
    text = compiled.executable.text
    assert "".join(f"{print_statement(s)}\n" for s in parse_program(text)) == text


def test_checker_finds_nothing(compiled: Compiled) -> None:
    assert check_text(compiled.executable.text, "program.vsm") == []


def test_answers(compiled: Compiled) -> None:
    logits = compiled.result.outputs["logits"]
    results: Any = ReferenceEvaluator(compiled.model).run(None, {"image": compiled.images})
    (reference,) = results
    assert (logits.argmax(1) == compiled.labels).mean() == (reference.argmax(1) == compiled.labels).mean()
    assert np.abs(logits - reference).max() < 1e-3 * np.abs(reference).max()


def test_build_directory_gives_the_same(compiled: Compiled, tmp_path: Path) -> None:
    mnc.save(compiled.executable, tmp_path / "build", report(compiled.executable))
    again = mnc.load(tmp_path / "build").run({"image": compiled.images})["logits"]
    np.testing.assert_array_equal(again.view(np.uint32), compiled.result.outputs["logits"].view(np.uint32))


def test_command(shell: Shell) -> None:
    done = shell("mnc", "demo", "--epochs", "2", "--hidden", "16")
    assert done.code == 0, done.err
    shares = re.search(r"accuracy on 360 images\s+\S+\s+([\d.]+)%\s+\S+\s+([\d.]+)%", done.out)
    assert shares and shares[1] == shares[2]
    for word in ("largest logit difference", "steps", "MV transfers", "DRAM traffic", "of the ideal"):
        assert word in done.out
    written = {name for name in shell.files() if "/" in name}
    names = ("model.onnx", "program.vsm", "memory_map.json", "report.json", "tensors.npz")
    assert {f"build/digits/{name}" for name in names} <= written


@pytest.mark.parametrize("option", ["--hidden", "--epochs"])
def test_no_units_and_no_training_are_mistakes(shell: Shell, option: str) -> None:
    done = shell("mnc", "demo", option, "0")
    assert done.code == 2 and f"Invalid value for '{option}'" in done.err and not shell.files()


def test_python_of_the_readme(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block of README.md as it stands, on what the demo leaves."""
    assert shell("mnc", "demo", "--epochs", "1", "--hidden", "8").code == 0
    np.save(shell.directory / "image.npy", load_digits().test_images)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(shell.directory)
    exec(compile(block, "README.md", "exec"), {})
    assert (shell.directory / "build" / "single" / "program.vsm").exists()
