"""Generated documents are up to date; every command and every path that the documents name exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mnc.tools.mnc import COMMANDS

from .tree import ROOT

PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
FOLDERS = "core|dialects|passes|lowering|mncore_backend|src|tools|test|scripts|docs|examples|benchmarks"


@pytest.mark.parametrize("script", ["gen_docs", "gen_performance"])
def test_generated_documents_are_up_to_date(script: str) -> None:
    command = [sys.executable, f"scripts/{script}.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_paths_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    missing = [target for target in targets if not (page.parent / target).exists()]
    paths = re.findall(rf"`((?:{FOLDERS})/[\w./-]+)`", text)
    made = set(re.findall(r"^`([\w./-]+)`:\n\n```", text, re.MULTILINE))  # files that a recipe adds
    missing += [path for path in paths if path not in made and not (ROOT / path).exists()]
    assert not missing


def test_readme_shows_only_commands_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\$ mnc ([a-z-]+)", text, re.MULTILINE))
    assert named and named <= set(COMMANDS)
