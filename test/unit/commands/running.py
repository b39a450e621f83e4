"""Calling the commands inside this process, as a shell would see them: arguments in; output and exit code out."""

import importlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Done:
    """What a command left: exit code, standard output, standard error (native diagnostics included)."""

    code: int
    out: str
    err: str


class Shell:
    """Runs ``mnc``, ``mnc-opt`` and ``mnc-translate`` in a directory of its own."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, capture: Any) -> None:
        self.directory = directory
        self._monkeypatch = monkeypatch
        self._capture = capture

    def __call__(self, tool: str, *arguments: object, stdin: str = "") -> Done:
        main = importlib.import_module(f"mnc.tools.{tool.replace('-', '_')}").main
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "argv", [tool, *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            patch.chdir(self.directory)
            self._capture.readouterr()
            code = 0
            try:
                main()
            except SystemExit as leaving:
                code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        captured = self._capture.readouterr()
        return Done(code, captured.out, captured.err)

    def files(self) -> set[str]:
        """Everything below the directory."""
        return {str(path.relative_to(self.directory)) for path in self.directory.rglob("*")}
