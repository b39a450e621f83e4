"""Passes of users in files of their own, which are no part of the tree."""

import importlib.util
import sys
from pathlib import Path

from mnc.core.diagnostics import CompileError
from mnc.core.files import path_hint


def load_plugin(path: Path) -> None:
    """Run a Python file, which registers its passes by `mnc.register_pass`; it becomes a module of its name.

    Raises:
        CompileError: there is no such file, its name is none of a module or that of another, or it fails.
    """
    name = path.stem
    if not path.is_file():
        raise CompileError("there is no such file", location=str(path), hint=path_hint(str(path)))
    if path.suffix != ".py" or not name.isidentifier():
        message = f"'{path.name}' is no name of a Python module"
        raise CompileError(message, location=str(path), hint="call it my_passes.py, or the like")
    known = sys.modules.get(name) or importlib.util.find_spec(name)
    origin = getattr(known, "__file__", None) or getattr(known, "origin", None)
    if known is not None and (origin is None or not path.samefile(origin)):
        message = f"there is a Python module '{name}' already"
        raise CompileError(message, location=str(path), hint="give the file another name")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except CompileError as error:
        del sys.modules[name]
        raise CompileError(error.message, location=str(path), hint=error.hint) from error
    except Exception as error:
        del sys.modules[name]
        message = f"the file fails with {type(error).__name__}: {error}"
        raise CompileError(message, location=str(path), hint=f"run it by itself: python {path}") from error
