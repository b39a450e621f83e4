"""House style that a machine can check: sizes, and that the project speaks of itself alone."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from .tree import ROOT, python_files

FILE_LIMIT = 400
FUNCTION_LIMIT = 60
FOLDERS = (
    "core",
    "dialects",
    "passes",
    "lowering",
    "mncore_backend",
    "tools",
    "src/mnc",
    "test",
    "scripts",
    "examples",
)

FOREIGN = re.compile(
    r"/work/|/home/\w|\.\./shared|/tmp/brief|\bsub-?agents?\b|\bcoding agents?\b|\b(?:this|previous|next) session\b"
    r"|\bissue #?\d|https?://(?:[\w.-]*\.)?(?:artifactory|pypi|nexus)\b|--index-url|\bisa\.md\b|\bkernel_plans\b",
    re.IGNORECASE,
)
"""Words about the machine or the people that a text was written with."""


@pytest.mark.parametrize("path", python_files(*FOLDERS), ids=lambda path: str(path.relative_to(ROOT)))
def test_sizes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= FILE_LIMIT
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    long = {f.name: length for f in functions if (length := (f.end_lineno or 0) - f.lineno + 1) > FUNCTION_LIMIT}
    assert not long


def _tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:  # an unpacked source archive
        return [path for folder in (*FOLDERS, "docs") for path in (ROOT / folder).rglob("*")]
    return [ROOT / name for name in done.stdout.split("\0") if name]


def test_the_project_speaks_of_itself() -> None:
    found = []
    for path in _tracked():
        if path == Path(__file__) or not path.is_file() or path.suffix in (".onnx", ".npz", ".npy", ".png", ".gz"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if match := FOREIGN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: '{match[0]}'")
    assert not found


def test_every_open_point_is_listed() -> None:
    """docs/open-points.md lists the open points that the code names."""
    listed = set(re.findall(r"^\| (OPEN-\d\d) ", (ROOT / "docs" / "open-points.md").read_text(), re.MULTILINE))
    named = {}
    for path in python_files(*FOLDERS):
        for point in re.findall(r"OPEN-\d\d", path.read_text(encoding="utf-8")):
            named.setdefault(point, path.relative_to(ROOT))
    assert not {point: path for point, path in named.items() if point not in listed and point <= "OPEN-53"}
