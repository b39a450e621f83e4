"""The commands of the debugger, one method each; their docstrings are what `help` prints."""

import cmd
import sys
from collections.abc import Callable
from typing import IO

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.debugger.memory import shown, through_layout
from mnc.debugger.session import Session, Stop
from mnc.mncore_backend.emulator.errors import EmulationError

_ALIASES = {
    "s": "step", "c": "continue", "l": "line", "b": "break", "m": "mem", "w": "list", "q": "quit",
    "run": "continue", "r": "continue", "next": "step", "n": "step", "print": "mem", "p": "mem", "x": "mem",
    "where": "list", "bt": "list", "exit": "quit", "info": "stats",
}  # fmt: skip
"""Short names, and those of other debuggers."""


class Prompt(cmd.Cmd):
    """Reads commands from `stdin`; asks with a prompt only where that is a terminal."""

    def __init__(self, session: Session, stdin: IO[str] | None = None, stdout: IO[str] | None = None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.session = session
        terminal = stdin is None and sys.stdin.isatty()
        self.use_rawinput = terminal
        self.prompt = "(mnc) " if terminal else ""
        self._begun = False

    # ---- plumbing ----

    def say(self, text: str) -> None:
        """Write a line; as soon as it is there, because a reader may be waiting."""
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def preloop(self) -> None:
        if self._begun:
            return
        self.say("stopped before the first statement; 'help' lists the commands")
        self._where()

    def cmdloop(self, intro: str | None = None) -> None:
        """Read commands until the end. At a terminal, Ctrl-C gives up the line that is being typed, or the command that
        is being carried out, and nothing else."""
        while True:
            try:
                return super().cmdloop(intro)
            except KeyboardInterrupt:
                if not self.use_rawinput:
                    raise
                self.say("\ninterrupted; 'quit' leaves")
                self._begun = True

    def onecmd(self, line: str) -> bool:
        """One command; a mistake in it is told, and the session goes on."""
        name, argument, _ = self.parseline(line)
        if line == "EOF":
            return True
        line = f"{_ALIASES[name]} {argument}" if name in _ALIASES else line
        try:
            return bool(super().onecmd(line))
        except (CompileError, EmulationError) as error:
            self.say(str(error))
        return False

    def default(self, line: str) -> None:
        raise CompileError(f"'{line.split()[0]}' is not a command", hint="'help' lists them")

    def _where(self) -> None:
        statement = self.session.next
        self.say("end of the program" if statement is None else self.session.line_text(statement.line))

    def _stopped(self, stop: Stop) -> None:
        if stop.reason and stop.reason != "end of the program":
            self.say(stop.reason)
        self._where()

    @staticmethod
    def _number(text: str, default: int, what: str) -> int:
        if not text:
            return default
        if not text.isdecimal() or int(text) < 1:
            raise CompileError(f"'{text}' is not {what}", hint="a number from 1 on")
        return int(text)

    # ---- running ----

    def do_step(self, argument: str) -> None:
        """step [N]: run N statements, 1 if not given. An empty line repeats the last command. Short: s"""
        self._stopped(self.session.advance(statements=self._number(argument, 1, "a number of statements")))

    def do_line(self, argument: str) -> None:
        """line N: run until the next statement is on line N or later. Short: l"""
        if not argument:
            raise CompileError("'line' needs the number of a line", hint="line 12")
        line = self._number(argument, 1, "the number of a line")
        self.session.check_ahead(line)
        self._stopped(self.session.advance(line=line))

    def do_continue(self, argument: str) -> None:
        """continue: run until a breakpoint, Ctrl-C or the end. Short: c"""
        self._stopped(self.session.advance())

    def do_trace(self, argument: str) -> None:
        """trace: run one statement and print what it read and wrote, with addresses of every cycle."""
        trace = self.session.machine.trace()
        if trace is None:
            self.say("end of the program")
            return
        self.say(trace.render() or "nothing in memory")
        self._where()

    # ---- breakpoints ----

    def do_break(self, argument: str) -> None:
        """break N | break PLACE: stop before line N, or after a statement that changed a word of memory. The place may
        be a word, long word or 2-long: break $lr8n0c0b0m0p0. Short: b"""
        if not argument:
            raise CompileError("'break' needs a line or a place", hint="break 12, break $lr8n0c0b0m0p0")
        self.say(f"breakpoint {self.session.add_breakpoint(argument)}")

    def do_breaks(self, argument: str) -> None:
        """breaks: list the breakpoints."""
        for found in self.session.breakpoints.values():
            self.say(str(found))

    def do_delete(self, argument: str) -> None:
        """delete N: remove breakpoint N."""
        self.session.delete_breakpoint(self._number(argument, 0, "the number of a breakpoint"))

    # ---- looking ----

    def do_mem(self, argument: str) -> None:
        """mem PLACE [COUNT] [TYPE]: print memory as 'd get' does. Types: d, f, h, and bd, bf, bg, bh for block floating
        point. mem $lr0n0c0b0m0p0 4 f. Short: m"""
        words = argument.split()
        if not 1 <= len(words) <= 3:
            raise CompileError("'mem' needs a place", hint="mem $lr0n0c0b0m0p0 4 f")
        count = self._number(words[1], 1, "a count") if len(words) > 1 and words[1].isdecimal() else 1
        dtype = words[-1] if len(words) > 1 and not words[-1].isdecimal() else ""
        for line in shown(self.session.machine, words[0], count, dtype):
            self.say(line)

    def do_layout(self, argument: str) -> None:
        """layout LAYOUT PLACE [f|i|u]: print a tensor in PE memory through its layout. Elements are singles
        (f) or integers: layout ((4:1), (4_PE:1, 2_W:1)) $lr0 f"""
        self.say(np.array2string(through_layout(self.session.machine, argument), precision=6, threshold=200))

    def do_list(self, argument: str) -> None:
        """list [N]: print the lines around line N, or around the next statement. Short: w"""
        here = self.session.next.line if self.session.next is not None else len(self.session.lines)
        middle = self._number(argument, here, "the number of a line")
        for number in range(max(1, middle - 5), min(len(self.session.lines), middle + 5) + 1):
            self.say(self.session.line_text(number))

    def do_stats(self, argument: str) -> None:
        """stats: steps, cycles and stalls so far."""
        found = self.session.machine.statistics
        self.say(f"{found.steps} steps, {found.mv_lines} MV, {found.cycles} cycles ({found.stall_cycles} stalled)")

    # ---- the rest ----

    def do_help(self, arg: str) -> None:
        """help [COMMAND]: list the commands, or explain one."""
        if arg:
            method: Callable[[str], None] | None = getattr(self, f"do_{_ALIASES.get(arg, arg)}", None)
            if method is None:
                raise CompileError(f"'{arg}' is not a command", hint="'help' lists them")
            self.say(" ".join((method.__doc__ or "").split()))
            return
        for name in sorted(name[3:] for name in dir(self) if name.startswith("do_")):
            usage, _, text = " ".join((getattr(self, f"do_{name}").__doc__ or "").split()).partition(": ")
            self.say(f"{usage:28}{text.split('. ')[0].rstrip('.')}")

    def do_quit(self, argument: str) -> bool:
        """quit: leave. The end of the input does the same. Short: q"""
        return True
