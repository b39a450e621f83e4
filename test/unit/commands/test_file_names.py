"""Names of files that are no text, as old archives leave them: every command takes them."""

import os
from pathlib import Path

import pytest

from .running import Shell
from .test_names_in_reports import _model

STRANGE = os.fsdecode(b"m\xff")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    try:
        (tmp_path / STRANGE).mkdir()
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    return _model(tmp_path / STRANGE / f"{STRANGE}.onnx", "n")


@pytest.mark.parametrize("arguments", [
    ["compile", "{model}", "-o", "{beside}.out", "--report", "--annotate", "--dump-dir", "{beside}.ir", "--no-cache"],
    ["compile", "{model}", "-o", "{beside}.out", "--target", "cpp"],
    ["check", "{model}", "--no-cache"],
    ["placement", "{model}", "--save", "{beside}.json", "--trace", "{beside}.trace"],
    ["reduce", "{model}", "--when", "cycles>1", "-o", "{beside}.out"],
])  # fmt: skip
def test_commands_take_such_names(shell: Shell, model: Path, arguments: list[str]) -> None:
    done = shell("mnc", *(text.format(model=model, beside=model.with_suffix("")) for text in arguments))
    assert done.code == 0, done
    assert "m\\udcff" in done.out + done.err or arguments[0] in ("check", "placement")


def test_errors_escape_such_names(shell: Shell, model: Path) -> None:
    done = shell("mnc", "compile", model, "--update", "x=nothing", "--resident", "state", "-o", f"{model}.out")
    assert done.code == 2 and "m\\udcff.onnx: error: " in done.err, done
