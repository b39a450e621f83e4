"""The source tree as the tests of this folder see it: files, modules, imports."""

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("core", "dialects", "passes", "lowering", "mncore_backend", "tools")
"""Folders of the root that are imported as ``mnc.<folder>`` through links in ``src/mnc``."""


@dataclass(frozen=True)
class Source:
    """A module of the package: its file, its dotted name below ``mnc`` ("" for the front door) and its syntax tree."""

    path: Path
    module: str
    tree: ast.Module

    def imports(self) -> Iterator[tuple[int, str]]:
        """Line and dotted name of everything imported, lazily inside functions too; relative names made absolute."""
        package = self.module if self.path.name == "__init__.py" else self.module.rpartition(".")[0]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    parts = f"mnc.{package}".rstrip(".").split(".")
                    base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def python_files(*folders: str) -> list[Path]:
    """Python files below folders of the root, links not followed."""
    found = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT).parents
            if not any((ROOT / parent).is_symlink() for parent in inside):
                found.append(path)
    return found


@lru_cache
def script(name: str) -> ModuleType:
    """A file of the folder `scripts` as a module, with the others of that folder at hand."""
    folder = str(ROOT / "scripts")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


@lru_cache
def sources() -> tuple[Source, ...]:
    """Every module of the package."""
    found = []
    for path in python_files(*PACKAGES, "src/mnc"):
        relative = path.relative_to(ROOT).with_suffix("")
        parts = relative.parts[2:] if relative.parts[0] == "src" else relative.parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        found.append(Source(path, ".".join(parts), ast.parse(path.read_text(encoding="utf-8"))))
    return tuple(found)
