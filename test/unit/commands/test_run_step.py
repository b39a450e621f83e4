"""The debugger, driven through standard input as a user would, and its parts."""

import io
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mnc.core.diagnostics import CompileError
from mnc.debugger.memory import through_layout
from mnc.debugger.prompt import Prompt
from mnc.debugger.session import Session
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.layout.layout import Axis
from mnc.mncore_backend.layout.placement import locate
from mnc.mncore_backend.layout.text import parse
from mnc.mncore_backend.target import chip

from .running import Shell

PROGRAM = """d set $lr0 1 0000000000000005
linc $lr0 $ls0
nop/2
linc $ls0 $ls8
nop/2
linc $ls8 $ls0
"""


def session(text: str = PROGRAM) -> Session:
    machine = Machine("strict")
    machine.load_text(text, "p.vsm")
    return Session(machine, text)


def answers(commands: str, text: str = PROGRAM) -> list[str]:
    """Lines printed after the two of the start."""
    out = io.StringIO()
    Prompt(session(text), io.StringIO(commands), out).cmdloop()
    return out.getvalue().splitlines()[2:]


def test_step() -> None:
    assert answers("step\nstep 2\n") == ["=>    2  linc $lr0 $ls0", "=>    4  linc $ls0 $ls8"]


def test_empty_line_repeats() -> None:
    assert answers("step\n\n\n")[-1] == "=>    4  linc $ls0 $ls8"


def test_line() -> None:
    assert answers("line 4\n") == ["line 4", "=>    4  linc $ls0 $ls8"]


@pytest.mark.parametrize("line", [2, 4])
def test_line_runs_nothing_when_the_program_is_there_or_beyond(line: int) -> None:
    """A statement ran, although the next one was on that line or later already."""
    shown = answers(f"line 4\nline {line}\nlist 4\n")
    assert shown[2] == f"error: line {line} is not ahead: the program is at line 4"
    assert "=>    4  linc $ls0 $ls8" in shown[3:]


def test_continue_runs_to_the_end() -> None:
    assert answers("c\nc\nstats\n") == ["end of the program"] * 2 + ["7 steps, 0 MV, 28 cycles (0 stalled)"]


def test_break_on_a_line_and_delete() -> None:
    shown = answers("break 4\nc\nc\n")
    assert shown == ["breakpoint 1: line 4", "breakpoint 1: line 4", "=>    4  linc $ls0 $ls8", "end of the program"]
    assert answers("break 4\ndelete 1\nc\nbreaks\n") == ["breakpoint 1: line 4", "end of the program"]


def test_break_on_a_word() -> None:
    """Only the statements that change this word stop, and each of them does."""
    shown = answers("b $s1n0c0b0m0p0\nc\nc\nc\n")
    stops = [line for line in shown if "by line" in line]
    assert stops == [f"breakpoint 1: change of $s1n0c0b0m0p0, by line {line}" for line in (2, 6)]
    assert shown[-1] == "end of the program"


def test_break_on_a_mask_and_a_matrix_bank() -> None:
    text = "d set $lr0 1 0000000000000005\nlinc $lr0 $omr1\ndmwrite $lr0 $lx0\n"
    assert "by line 2" in "\n".join(answers("b $omr1n0c0b0m0p0\nc\n", text))
    assert "by line 3" in "\n".join(answers("b $lx0n0c0b0m0\nc\n", text))


def test_memory() -> None:
    text = "d set $lr0 2 3f80000040000000 4040000040800000\n"
    assert answers("step\nm $lr0n0c0b0m0p0 2 f\n", text)[1:] == [
        "GREG0(n0c0b0m0p0,0):(1, 2) (0x3f800000, 0x40000000)",
        "GREG0(n0c0b0m0p0,2):(3, 4) (0x40400000, 0x40800000)",
    ]


L2BM = chip().memories[Memory.L2BM].addresses


@pytest.mark.parametrize(
    "asked, message",
    [
        ("mem $lr600n0c0b0m0p0", "$lr600n0c0b0m0p0 is beyond GRF0"),
        ("mem $lr510n0c0b0m0p0 2", "$lr512n0c0b0m0p0 is beyond GRF0"),
        ("mem $lr1n0c0b0m0p0", "$lr1n0c0b0m0p0 is misaligned"),
        (f"mem $lc{L2BM - 1}n0c0 2", f"$lc{L2BM}n0c0 is beyond L2BM"),
        ("break $lm99998n0c0b0m0p0", "$lm99998n0c0b0m0p0 is beyond LM0"),
        ("layout ((257:1),) $lr0", "the tensor does not end inside of GRF0"),
        ("layout ((4:1),) $lr506", "the tensor does not end inside of GRF0"),
        ("layout ((99999999999:1),) $lr0", "the tensor does not end inside of GRF0"),
    ],
)
def test_memory_that_there_is_not(asked: str, message: str) -> None:
    """Addresses came round: what was shown was that of elsewhere."""
    shown = answers(f"{asked}\n")
    assert shown[0].startswith(f"error: {message}") and shown[1].startswith("  hint: "), shown


def test_memory_up_to_its_end() -> None:
    assert len(answers("mem $lr508n0c0b0m0p0 2\n")) == 2
    assert answers("layout ((2:1),) $lr508\n") == ["[0. 0.]"]


def test_memory_through_a_layout() -> None:
    """Every element is where the layout says, on all axes."""
    layout = parse("((2_L2B:4, 3:2), (2_L1B:1, 2_MAB:8, 4_PE:1, 2_W:1))")
    machine = Machine("vendor")
    at = locate(layout)
    values = np.arange(layout.size, dtype=np.float32)
    for index, value in enumerate(values.view(np.uint32)):
        place = tuple(int(at[axis][index]) for axis in (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE))
        shift = 32 * (1 - int(at[Axis.W][index]))
        machine.lm(1)[(*place, 5 + int(at[Axis.ADDRESS][index]))] |= np.uint64(int(value) << shift)
    found = through_layout(machine, f"{layout} $ln10")
    assert found.shape == (6, 32) and (found.reshape(-1) == values).all()
    assert through_layout(machine, f"{layout} $ln10 u")[0, 1] == 0x3F800000


def test_trace_names_addresses() -> None:
    shown = answers("step\ntrace\n")
    assert any(line.startswith("read  GRF0") for line in shown) and any(line.startswith("write GRF1") for line in shown)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("bogus", "'bogus' is not a command"),
        ("step x", "'x' is not a number of statements"),
        ("break 99", "there is no line 99"),
        ("line 99", "there is no line 99"),
        ("break", "'break' needs a line or a place"),
        ("break $zz", "'$zz' is not a place in memory"),
        ("break $lm0", "names 4096 places"),
        ("delete 3", "there is no breakpoint 3"),
        ("mem $lr0n0c0b0m0p0 1 q", "'q' is not a type"),
        ("mem $lr0 900", "beyond"),
        ("mem $lx0n0c0b0m0", "needs a dtype"),
        ("layout ((5)) $lm0", "not a digit"),
        ("layout ((4:1)) $lm1", "not where a tensor begins"),
        ("help bogus", "not a command"),
    ],
)
def test_mistakes_are_told_and_the_session_goes_on(command: str, message: str) -> None:
    shown = answers(f"{command}\nstep\n")
    assert message in shown[0] and not any("internal" in line for line in shown)
    assert shown[-1] == "=>    2  linc $lr0 $ls0"


def test_a_broken_rule_leaves_the_state_before_it() -> None:
    text = "d set $lr0 1 0000000000000005\nlpassa $lmt0 $lr0\n"
    shown = answers("c\nmem $lr0n0c0b0m0p0\n", text)
    assert "never written" in shown[0] and shown[-1].endswith("v:0x5)")


def test_help_explains_every_command() -> None:
    commands = [line.split()[0] for line in answers("help\n")]
    assert {"step", "line", "continue", "break", "mem", "layout", "trace", "list", "quit"} <= set(commands)
    for name in commands:
        assert answers(f"help {name}\n")[0].startswith(name)


def test_breakpoints_need_something_to_break_on() -> None:
    with pytest.raises(CompileError, match="no line 0"):
        session().add_breakpoint("0")


def test_command_from_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "p.vsm").write_text(PROGRAM)
    command = [sys.executable, "-m", "mnc.tools.mnc", "run", "--step", "p.vsm"]
    done = subprocess.run(command, cwd=tmp_path, input="s\nlist 2\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "(mnc)" not in done.stdout
    here = "=>    2  linc $lr0 $ls0"
    assert done.stdout.splitlines()[2:5] == [here, "      1  " + PROGRAM.splitlines()[0], here]


def test_at_a_terminal_there_is_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "p.vsm").write_text(PROGRAM)
    above, below = pty.openpty()
    command = [sys.executable, "-m", "mnc.tools.mnc", "run", "--step", "p.vsm"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=below, stdout=below, stderr=below, close_fds=True) as process:
        os.close(below)
        shown = ""
        for typed in ("step 2\n", "quit\n"):
            shown += _until(above, "(mnc) ")
            os.write(above, typed.encode())
        assert process.wait(timeout=60) == 0
    os.close(above)
    assert "=>    3  nop/2" in shown


def test_ctrl_c_at_the_prompt_gives_up_the_line_only(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter([KeyboardInterrupt(), "step", "quit"])

    def read(prompt: str) -> str:
        line = next(typed)
        if isinstance(line, KeyboardInterrupt):
            raise line
        return line

    monkeypatch.setattr("builtins.input", read)
    out = io.StringIO()
    debugger = Prompt(session(), stdout=out)
    debugger.use_rawinput = True  # as at a terminal
    debugger.cmdloop()
    shown = out.getvalue()
    assert "'quit' leaves" in shown and "=>    2  linc" in shown and shown.count("stopped before") == 1


def test_files_that_would_not_be_written_are_refused(shell: Shell) -> None:
    (shell.directory / "p.vsm").write_text(PROGRAM)
    done = shell("mnc", "run", "--step", "p.vsm", "--dump", "d.txt")
    assert done.code == 2 and "--step writes no files" in done.err


def _until(terminal: int, text: str) -> str:
    """What the terminal shows up to a text; TimeoutError after a minute."""
    shown, end = "", time.monotonic() + 60
    while not shown.endswith(text):
        if time.monotonic() > end:
            raise TimeoutError(shown)
        shown += os.read(terminal, 1024).decode()
    return shown
