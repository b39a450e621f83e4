"""Mistakes of our own: a message, a reproducer that fails again with the line it carries, exit code 70."""

import re
import shlex
from dataclasses import dataclass
from typing import Any

import onnx
import pytest

import mnc
from mnc.core.pass_base import Pass

from .model_files import tiny
from .running import Shell


@dataclass(frozen=True)
class FailHere(Pass):
    """Fails, as a mistake in a pass does."""

    name = "fail-here"

    def run(self, module: Any) -> None:
        """Raise what nobody catches."""
        raise KeyError("a mistake")


@pytest.fixture
def failing_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass at the end of the stage `linalg`."""
    from mnc import lowering, stages

    monkeypatch.setitem(lowering.PASSES, "fail-here", f"{__name__}:FailHere")
    monkeypatch.setitem(stages.STAGES, "linalg", (*stages.LINALG, "fail-here"))


@pytest.mark.usefixtures("failing_stage")
@pytest.mark.parametrize("command", ["compile", "check"])
def test_reproducer(shell: Shell, command: str) -> None:
    onnx.save(tiny(), shell.directory / "tiny.onnx")
    done = shell("mnc", command, "tiny.onnx")
    assert done.code == 70
    assert not done.out and "Traceback" not in done.err
    assert "internal error: KeyError: 'a mistake'" in done.err
    assert "in pass: fail-here" in done.err
    found = re.search(r"reproducer: (\S+\.mlir)", done.err)
    assert found, done.err
    assert shell.files() == {"tiny.onnx"}
    line = (shell.directory / found[1]).read_text().splitlines()[0]
    tool, *arguments = shlex.split(line.removeprefix("// "))
    again = shell(tool, *arguments)
    assert again.code == 70
    assert "in pass: fail-here" in again.err


@pytest.mark.usefixtures("failing_stage")
def test_reproducers_go_where_they_are_wanted(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(tiny(), shell.directory / "tiny.onnx")
    for _ in range(2):  # the same failure has the same name
        assert shell("mnc", "compile", "tiny.onnx", "--reproducer-dir", "new/place").code == 70
    assert len(list((shell.directory / "new" / "place").iterdir())) == 1
    monkeypatch.delenv("MNC_REPRODUCER_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(shell.directory / "state"))
    assert shell("mnc", "compile", "tiny.onnx").code == 70
    (found,) = (shell.directory / "state" / "mnc").iterdir()
    assert found.name.startswith("mnc-reproducer-")


def test_failure_outside_of_passes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    import mnc.compiler

    def fail(_: Any) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(mnc.compiler, "to_executable", fail)
    onnx.save(tiny(), shell.directory / "tiny.onnx")
    done = shell("mnc", "compile", "tiny.onnx")
    assert (done.code, done.out) == (70, "")
    assert done.err.startswith("internal error: ZeroDivisionError: a mistake")
    assert shell.files() == {"tiny.onnx"}


def test_python_interface_raises_the_same(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = mnc.Pipeline((FailHere(),))
    with pytest.raises(mnc.InternalError) as caught:
        mnc.compile(tiny(), pipeline=pipeline)
    assert caught.value.failing_pass == "fail-here"
    assert caught.value.reproducer is not None and caught.value.reproducer.exists()
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("raised", "code", "words"), [
        (KeyboardInterrupt(), 130, "interrupted"), (KeyboardInterrupt("after 3 steps"), 130, "after 3 steps"),
        (EOFError("odd"), 70, "EOFError: odd"),
    ],
)
def test_what_click_takes_for_an_answer_of_the_user(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, words: str
) -> None:
    """Ctrl-C must not look like a check that failed, which is 1."""

    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr("mnc.tools.mnc.LazyGroup.get_command", fail)
    done = shell("mnc", "machine")
    assert (done.code, done.out) == (code, "") and words in done.err and "Aborted" not in done.err


@pytest.mark.parametrize(("tool", "called"), [
    (("mnc-opt", "x.mlir"), "mnc.tools.mnc_opt.read_bytes"),
    (("mnc-translate", "--emit-vsm", "x.mlir"), "mnc.tools.mnc_translate.read_text"),
])  # fmt: skip
def test_ctrl_c_outside_of_passes(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tool: tuple[str, ...], called: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(called, interrupt)
    done = shell(*tool)
    assert (done.code, done.out, done.err) == (130, "", "interrupted\n")
