"""docs/adding-an-op.md and docs/adding-a-pass.md work as they stand, on a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .tree import PACKAGES, ROOT

_BLOCK = re.compile(r"^`([\w./-]+)`:\n\n```(?:python|mlir)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in (*PACKAGES, "src"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=ignored)
    return tmp_path


def _apply(page: str, tree: Path) -> list[str]:
    """Append the blocks of a page to the files they are for."""
    blocks = _BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    for name, code in blocks:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") + "\n\n" if path.exists() else ""
        path.write_text(before + code, encoding="utf-8")
    return [name for name, _ in blocks]


def _run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PATH": path}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_adding_an_op(copy: Path) -> None:
    names = _apply("adding-an-op.md", copy)
    assert len(names) == 6
    done = _run(copy, sys.executable, "check.py")
    assert done.stdout == "softsign agrees\n"


def test_adding_a_pass(copy: Path) -> None:
    names = _apply("adding-a-pass.md", copy)
    test = names[-1]
    lines = re.findall(r"^// RUN: (.*)$", (copy / test).read_text(), re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        line = line.replace("%s", test).replace("FileCheck", "filecheck")
        line = line.replace("mnc-opt", f"{sys.executable} -m mnc.tools.mnc_opt")
        _run(copy, "bash", "-o", "pipefail", "-c", line)
    listed = _run(copy, sys.executable, "-m", "mnc.tools.mnc_opt", "--list-passes")
    assert re.search(r"^drop-absolute +Remove absolute values", listed.stdout, re.MULTILINE)
