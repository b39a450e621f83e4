"""Messages for people: whatever a model calls its nodes, and whenever Ctrl-C comes."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnc.core.bindings import ir
from mnc.core.command_line import errors_to_exit_codes
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError, InternalError, file_position, node_name, one_line, printable


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\rb", "a\x07b", "\x9b2J", "\u202egnp", "\udcff"])
def test_control_characters_are_escaped(text: str) -> None:
    for error in (CompileError(text, node=text, op_type=text, hint=text), InternalError(text)):
        shown = error.render()
        assert text not in shown and "\\" in shown
        shown.encode()


def test_ordinary_text_stays() -> None:
    text = "layer/\u65e5\u672c 'x' (Gemm): two\n  lines\tand a tab"
    assert printable(text) == text


def test_long_names_are_cut() -> None:
    shown = CompileError("b" * 100_000, node="a" * 100_000, op_type="c" * 100_000, hint="d" * 100_000).render()
    assert len(shown) < 6000
    assert "100000 characters" in shown and "aaa'" in shown


NAMES = ["Gr\u00f6\u00dfe \u65e5\u672c", 'a"b', "a\\b", "a\\C3", "a\nb\t", "\x1b[31m", "(\u00e9)", "\U0001f600"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_nodes_are_those_of_the_model(name: str) -> None:
    """MLIR writes them with escapes."""
    with make_context():
        place = ir.Location.file(name, 2, 3)
        assert file_position(place) == (name, 2, 3)
        assert node_name(ir.Location.name(name, place)) == name
        assert node_name(ir.Location.fused([ir.Location.name(name, place), ir.Location.name("b")])) == f"{name} + b"


def test_names_take_one_line() -> None:
    assert one_line("a\nb\tc\u2028d\re\x85f") == "a\\nb\\tc\\u2028d\\re\\x85f"
    assert "\n" not in CompileError("wrong", node="a\nb", op_type="c\nd").render()


def _run(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], cwd=directory, capture_output=True, text=True)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Whoever starts the tests in the background of a script has them ignore Ctrl-C, and what they start as well."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_a_module_loads(tmp_path: Path) -> None:
    """An exception in native code that loads would end the process by a signal."""
    (tmp_path / "slow.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('not reached')\n")
    done = _run("import sys; sys.path.insert(0, '.'); import mnc.tools, slow", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("module", ["mnc", "mnc.tools", "mnc.tools.mnc", "click", "mnc.core.command_line"])
def test_ctrl_c_while_a_command_starts(tmp_path: Path, module: str) -> None:
    """Ctrl-C in the moment in which a module is looked for, from the package to the command itself."""
    script = f"""
import os, signal, sys
class Interrupting:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting)
sys.argv = ["mnc", "--help"]
from mnc_command import mnc
mnc()
"""
    done = _run(script, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_the_start_of_commands_loads_nothing_above_its_handler(tmp_path: Path) -> None:
    script = "import sys; before = set(sys.modules); import mnc_command; print(*sorted({*sys.modules} - before))"
    assert set(_run(script, tmp_path).stdout.split()) <= {"_signal", "mnc_command"}


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_in_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving, errors_to_exit_codes():
        signal.raise_signal(signal.SIGINT)
    assert leaving.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(("end", "status"), [("pass", 0), ("sys.exit(3)", 3), ("sys.exit('no')", 1)])
def test_a_command_ends_as_python_would(tmp_path: Path, end: str, status: int) -> None:
    """What is printed is written, and what is registered for the end is called."""
    script = f"""
import atexit, sys
from mnc.core.command_line import run_and_leave
atexit.register(print, "last")
def main():
    print("first")
    {end}
run_and_leave(main)
"""
    done = _run(script, tmp_path)
    assert (done.returncode, done.stdout) == (status, "first\nlast\n")
    assert done.stderr == ("no\n" if status == 1 else "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_standard_streams_may_be_closed(tmp_path: Path, closed: str) -> None:
    """Services start commands like this. A file that is opened does not take the place of a stream."""
    script = """
import sys
from mnc.core.command_line import errors_to_exit_codes
with errors_to_exit_codes():
    opened = open("file", "w")
    for stream in (sys.stdout, sys.stderr):
        stream.write("text")
        stream.isatty()
    assert opened.fileno() > 2 and not (sys.stdin is None)
"""
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(script)} {closed}"
    assert subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True).returncode == 0
    assert (tmp_path / "file").read_text() == ""
