"""Exit codes of mnc-opt and mnc-translate, and the annotations of --verify-diagnostics."""

import subprocess
import sys
from pathlib import Path

import pytest

from mnc.core.expected_diagnostics import Found, compare, expected_diagnostics, split_input


def _run(tool: str, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"mnc.tools.{tool}", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "code"),
    [
        ("mnc_opt", (), "func.func @f() { return }", 0),
        ("mnc_opt", (), "func.func @f() {", 2),
        ("mnc_opt", ("--pass-pipeline=builtin.module(",), "func.func @f() { return }", 2),
        ("mnc_opt", ("/absent.mlir",), "", 2),
        ("mnc_translate", (), "", 2),
        ("mnc_translate", ("--import-onnx", "/absent.onnx"), "", 2),
        ("mnc_translate", ("--import-onnx", "/absent.onnx", "--shape", "x"), "", 2),
    ],
)
def test_exit_codes(tool: str, arguments: tuple[str, ...], text: str, code: int) -> None:
    done = _run(tool, *arguments, text=text)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == (code != 0)


def test_failed_command_leaves_no_output_file(tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    assert _run("mnc_opt", "-o", str(target), text="nonsense").returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_parts_keep_their_line_numbers() -> None:
    first, second = split_input("a\n// -----\nb\n")
    assert first == "a\n"
    assert second.split("\n")[2] == "b"


def test_places_of_annotations() -> None:
    lines = ["x // expected-error {{a}}", "// expected-error @+1 {{b}}", "// expected-note @below {{c}}", "y"]
    text = "\n".join([*lines, "// expected-error @above {{d}}"])
    assert [(e.severity, e.line, e.text) for e in expected_diagnostics(text)] == [
        ("error", 1, "a"),
        ("error", 3, "b"),
        ("note", 4, "c"),
        ("error", 4, "d"),
    ]


def test_both_directions_of_disagreement_are_reported() -> None:
    expected = expected_diagnostics("// expected-error {{a}}")
    assert compare(expected, [Found("error", 1, 1, "it is a")]) == []
    assert len(compare(expected, [Found("error", 2, 1, "it is a")])) == 2
    assert len(compare([], [Found("error", 1, 1, "x")])) == 1
