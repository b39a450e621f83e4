"""``--effort`` of the commands that compile: what it changes, and what is refused."""

import json

import onnx
import pytest
from onnx import helper

from mnc.cache.fingerprints import options_text
from mnc.core.diagnostics import CompileError
from mnc.options import EFFORT_VARIABLE, Options

from .model_files import model
from .running import Shell
from .test_bad_models import assert_refused


@pytest.fixture
def modelled(shell: Shell) -> Shell:
    """A shell beside ``model.onnx``."""
    node = helper.make_node("Softmax", ["x"], ["y"], name="softmax", axis=0)
    onnx.save(model([node], {"x": [96, 80]}, {"y": [96, 80]}), shell.directory / "model.onnx")
    return shell


def test_a_program_that_was_compiled_quickly_is_right(modelled: Shell) -> None:
    done = modelled("mnc", "check", "model.onnx", "--effort", "quick", "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["passed"]


def test_quick_compilations_have_entries_of_their_own_in_the_cache() -> None:
    assert options_text(Options(effort="quick"), {}) != options_text(Options(), {})


def test_other_efforts_are_refused(modelled: Shell) -> None:
    done = modelled("mnc", "compile", "model.onnx", "--effort", "slow")
    assert done.code == 2
    assert "'slow' is not one of 'quick', 'normal'" in done.err
    with pytest.raises(CompileError, match="no effort 'slow'"):
        Options.of({"effort": "slow"})


def test_cpp_knows_no_effort(modelled: Shell) -> None:
    given = "--effort", "quick", "--target", "cpp"
    assert_refused(modelled("mnc", "compile", "model.onnx", *given), "belongs to --target mncore")


def test_the_environment_says_how_much_effort_is_spent(modelled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EFFORT_VARIABLE, "quick")
    assert Options().effort == "quick"
    assert Options(effort="normal").effort == "normal"
    assert modelled("mnc", "compile", "model.onnx", "--target", "cpp").code == 0  # nobody gave an effort
    monkeypatch.setenv(EFFORT_VARIABLE, "slow")
    assert_refused(modelled("mnc", "compile", "model.onnx"), "MNC_EFFORT is 'slow'")
    monkeypatch.setenv(EFFORT_VARIABLE, "")
    assert Options().effort == "normal"
