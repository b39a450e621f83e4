"""The wheel in an environment without our sources: it imports, compiles and runs, and type checkers know its types.

Nothing is downloaded: the packages that it needs are lent by the environment of the tests.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).parent / "programs"
_ERROR = re.compile(r":(\d+)(?::\d+)?(?: -|:) error")


def _run(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    texts = [str(word) for word in command]
    return subprocess.run(texts, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of this tree: files of an earlier build must not get into it."""
    directory = tmp_path_factory.mktemp("wheel")
    source = directory / "source"
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=skipped)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-w", directory)
    done = _run(sys.executable, "-m", "pip", "wheel", *options, source)
    assert done.returncode == 0, done.stderr
    return next(directory.glob("mnc-*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel."""
    environment = tmp_path_factory.mktemp("environment")
    assert _run(sys.executable, "-m", "venv", "--without-pip", environment).returncode == 0
    site = next(environment.glob("lib/python3*/site-packages"))
    # A path in a .pth file is not searched for further .pth files, so our editable installation stays unknown.
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return environment / "bin" / "python"


def test_holds_what_belongs_in_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"mnc/py.typed", "mnc/core/pipeline.py", "mnc/tools/mnc.py", "mnc/mncore_backend/target/machine.py"} <= names
    assert any(name.endswith("/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("core/", "tools/", "test"))]


def test_compiles_and_runs(python: Path, tmp_path: Path) -> None:
    done = _run(python, PROGRAMS / "right.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(python.parent.parent) in done.stdout


def _errors(text: str, program: Path) -> set[int]:
    return {int(match[1]) for line in text.splitlines() if program.name in line and (match := _ERROR.search(line))}


def _marked(program: Path) -> set[int]:
    """Lines that say ``# error``."""
    return {number for number, line in enumerate(program.read_text().splitlines(), 1) if line.endswith("# error")}


@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_type_checkers_know_the_types(python: Path, tmp_path: Path, checker: str) -> None:
    """They find every marked mistake and no other."""
    right, wrong = (Path(shutil.copy(PROGRAMS / name, tmp_path)) for name in ("right.py", "wrong.py"))
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    options: dict[str, tuple[object, ...]] = {
        "mypy": ("--strict", "--no-error-summary", "--cache-dir", tmp_path / "cache", "--python-executable", python),
        "basedpyright": ("--pythonpath", python),
    }
    done = _run(Path(sys.executable).parent / checker, *options[checker], right, wrong, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert not _errors(done.stdout, right), done.stdout
    assert _errors(done.stdout, wrong) == _marked(wrong), done.stdout
