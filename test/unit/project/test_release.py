"""`make release` on a scratch clone: version, changelog, commit and tag; and what it refuses."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .tree import ROOT


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the files of this tree that a release touches, at version 1.2.3."""
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "config", "user.email", "a@example.com")
    git(folder, "config", "user.name", "A")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = re.sub(r'^version = ".*"$', 'version = "1.2.3"', project, flags=re.MULTILINE)
    (folder / "pyproject.toml").write_text(project)
    (folder / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n\n- New: a.\n\n## 1.2.3 (2020-01-01)\n\n- Old.\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "start")
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "release.py"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_release(clone: Path) -> None:
    done = run(clone, "1.3.0", "--date", "2030-02-03")
    assert done.returncode == 0, done.stderr
    assert '\nversion = "1.3.0"\n' in (clone / "pyproject.toml").read_text()
    changes = (clone / "CHANGELOG.md").read_text()
    assert changes == (
        "# Changes\n\n## Unreleased\n\n## 1.3.0 (2030-02-03)\n\n- New: a.\n\n## 1.2.3 (2020-01-01)\n\n- Old.\n"
    )
    assert git(clone, "tag", "--list", "--format=%(refname:short) %(contents)").split("\n")[0] == "v1.3.0 1.3.0"
    assert "- New: a." in git(clone, "cat-file", "-p", "v1.3.0")
    assert git(clone, "log", "-1", "--format=%s").strip() == "Release 1.3.0"
    assert git(clone, "rev-parse", "v1.3.0^{commit}") == git(clone, "rev-parse", "HEAD")
    assert not git(clone, "status", "--porcelain")
    assert run(clone, "1.3.1").returncode == 2, "nothing new to release"


def test_this_tree_can_be_released(tmp_path: Path) -> None:
    """On a clone of the repository itself, by the target of the Makefile."""
    if not (ROOT / ".git").exists():
        pytest.skip("an unpacked source archive")
    folder = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--no-tags", str(ROOT), str(folder))
    for name in ("Makefile", "CHANGELOG.md", "pyproject.toml"):
        (folder / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "scripts" / "release.py").write_text((ROOT / "scripts" / "release.py").read_text(encoding="utf-8"))
    git(folder, "add", ".")
    author = ("-c", "user.email=a@example.com", "-c", "user.name=A")
    git(folder, *author, "commit", "--quiet", "--allow-empty", "-m", "state of the tree")
    git(folder, "config", "user.email", "a@example.com")
    git(folder, "config", "user.name", "A")
    major = int(re.findall(r'^version = "(\d+)', (folder / "pyproject.toml").read_text(), re.MULTILINE)[0]) + 1
    command = ["make", "release", f"VERSION={major}.0.0", f"BIN={Path(sys.executable).parent}", "STAMP="]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert git(folder, "tag", "--list").split() == [f"v{major}.0.0"]
    assert git(folder, "describe") == f"v{major}.0.0\n"


@pytest.mark.parametrize("version", ["1.2.3", "1.2.2", "1.3", "v1.3.0", "1.3.0rc1"])
def test_versions_that_do_not_follow(clone: Path, version: str) -> None:
    done = run(clone, version)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and not git(clone, "tag")
    assert not git(clone, "status", "--porcelain")


def test_breaking_changes_need_a_new_first_number(clone: Path) -> None:
    path = clone / "CHANGELOG.md"
    path.write_text(path.read_text().replace("- New: a.", "- **Breaking:** b is gone."))
    git(clone, "commit", "--quiet", "--all", "-m", "breaks")
    assert "Breaking" in run(clone, "1.3.0").stderr
    assert run(clone, "2.0.0", "--check").returncode == 0
    assert not git(clone, "tag")


def test_what_is_not_committed_is_not_released(clone: Path) -> None:
    (clone / "pyproject.toml").write_text("")
    assert "not committed" in run(clone, "1.3.0").stderr


def test_changelog_has_the_sections_that_a_release_needs() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## Unreleased$", text, re.MULTILINE)) == 1
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert all(re.fullmatch(r"Unreleased|\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", head) for head in heads)


def test_issue_templates() -> None:
    """Forms as GitHub reads them: a name, a description, questions with identifiers of their own."""
    yaml = pytest.importorskip("yaml", reason="comes with the extra docs")
    paths = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    forms = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths if path.stem != "config"]
    assert len(forms) >= 4
    for form in forms:
        assert form["name"] and form["description"] and form["labels"], json.dumps(form)
        names = [question["id"] for question in form["body"]]
        assert len(set(names)) == len(names) and any(q.get("validations", {}).get("required") for q in form["body"])
        assert all(q["type"] in ("input", "textarea") and q["attributes"]["label"] for q in form["body"])
