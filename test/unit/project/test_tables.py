"""Tables and naming: every row imports, names agree, every pass has its IR test."""

import importlib
import subprocess
import sys

import pytest

from mnc.core.pipeline_entries import load_pass
from mnc.dialects import DIALECTS
from mnc.registry import merge_tables, pass_table
from mnc.tools.mnc import COMMANDS

from .tree import PACKAGES, ROOT

LIT = ROOT / "test" / "lit"


@pytest.mark.parametrize(("name", "path"), sorted(pass_table().items()))
def test_pass_row(name: str, path: str) -> None:
    cls = load_pass(path)
    assert cls.name == name
    assert str(cls()) == name  # every field has a default, and the text names the pass alone
    assert cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}("), "a docstring of its own"
    assert sys.modules[cls.__module__].__doc__


@pytest.mark.parametrize("name", sorted(pass_table()))
def test_pass_has_an_ir_test(name: str) -> None:
    files = [*LIT.rglob(f"{name}.mlir"), *LIT.rglob(f"{name}.test")]
    folders = [path for path in LIT.rglob(name.replace("-", "_")) if any(path.glob("*.mlir"))]
    assert files or folders
    texts = [file.read_text() for file in files or folders[0].glob("*.mlir")]
    assert any(name in text.split("RUN:", 1)[1] for text in texts if "RUN:" in text)


@pytest.mark.parametrize(("name", "module"), sorted(DIALECTS.items()))
def test_dialect_row(name: str, module: str) -> None:
    assert name == importlib.import_module(module).DIALECT.DIALECT_NAMESPACE


@pytest.mark.parametrize(("name", "row"), sorted(COMMANDS.items()))
def test_command_row(name: str, row: tuple[str, str]) -> None:
    module, summary = row
    command = importlib.import_module(f"mnc.tools.commands.{module}").command
    assert callable(command) and command.help, name
    assert summary.endswith(".")


def test_duplicate_pass_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'a' is registered by x and by y"):
        merge_tables({"x": {"a": "p"}, "y": {"a": "q"}})


def test_public_names_resolve() -> None:
    import mnc

    for name in mnc.__all__:
        assert getattr(mnc, name) is not None


_LOADED_TWICE = """
import importlib, importlib.util, pkgutil, os, sys, mnc
for info in pkgutil.walk_packages(mnc.__path__, "mnc."):
    if info.name.startswith("mnc.torch.") and importlib.util.find_spec("torch") is None:
        continue  # an extra that need not be installed
    importlib.import_module(info.name)
files = {}
for name, module in list(sys.modules.items()):
    path = getattr(module, "__file__", None)
    if path and name != "__main__":
        files.setdefault(os.path.realpath(path), set()).add(name)
print([sorted(names) for names in files.values() if len(names) > 1 and any(n.startswith("mnc") for n in names)])
print(sorted(set(sys.modules) & set(sys.argv[1:])))
"""


def test_no_class_is_loaded_twice() -> None:
    """After importing every module from the root of the tree, no file is known under two names."""
    command = [sys.executable, "-c", _LOADED_TWICE, *PACKAGES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == ["[]", "[]"], done.stdout + done.stderr
