"""Imports flow one way: core and the plain leaves < dialects < passes, lowering < backend < front door < tools.

The front door reads modules, for reports and programs, and builds none: what makes or changes IR is a pass."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnc.core.bindings import ir

from .tree import PACKAGES, Source, sources

BACKEND = "mncore_backend"
_BASE = ("assembly", "assembly.records", "target")
_PLACED = (*_BASE, "layout", "movement", "pricing", "program")
_CANDIDATES = "placement.candidates"
LEAVES: dict[str, tuple[str, ...]] = {
    "assembly.records": (),
    "target": ("assembly.records",),
    "assembly": ("assembly.records", "target"),
    "assembly.opcode_reference": ("assembly", "target"),
    "layout": ("target",),
    "program": (*_BASE, "layout"),
    "pricing": ("assembly.records", "layout", "target"),
    "movement": (*_BASE, "layout", "pricing", "program"),
    "kernels": (*_BASE, "layout", "program"),
    "placement.preferences": (),
    _CANDIDATES: (*_BASE, "layout", "placement.preferences", "pricing", "program"),
    "placement.problem": ("layout", _CANDIDATES),
    "placement.cost": (*_PLACED, _CANDIDATES, "placement.problem"),
    "placement.solve": (*_PLACED, _CANDIDATES, "placement.problem", "placement.cost"),
    "placement.trace": (*_PLACED, _CANDIDATES, "placement.problem", "placement.cost", "placement.solve"),
    "placement.refine": (
        *_PLACED, _CANDIDATES, "placement.preferences", "placement.problem", "placement.cost", "placement.solve",
        "placement.trace",
    ),
    "placement.report": (
        _CANDIDATES, "placement.problem", "placement.cost", "placement.solve", "placement.refine"
    ),
    "checker": _BASE,
    "codegen.residency.plan": (),
    "codegen.scheduling": (*_BASE, "program"),
    "codegen.allocation": (*_BASE, "codegen.scheduling", "program"),
    "codegen.report": (*_BASE, "codegen.scheduling"),
    "codegen.trips": (*_BASE, "movement", "program"),
}
"""Plain algorithms of the backend -> what else of the backend they may import. None of them may touch MLIR."""

EMULATOR_SEES = (*_BASE, "checker")
"""The emulator shares with the code generator what an assembly text means to be, not what it does."""

PLAIN_CORE = "core.diagnostics"
COLLECTION = "core.garbage"
EVERY_LEAF = tuple(f"{BACKEND}.{name}" for name in LEAVES)
RULES: dict[str, tuple[str, ...]] = {
    PLAIN_CORE: (),
    COLLECTION: (),
    "core": (PLAIN_CORE, COLLECTION),
    **{
        f"{BACKEND}.{name}": (PLAIN_CORE, COLLECTION, *(f"{BACKEND}.{other}" for other in allowed))
        for name, allowed in LEAVES.items()
    },
    f"{BACKEND}.emulator": ("core", PLAIN_CORE, COLLECTION, *(f"{BACKEND}.{name}" for name in EMULATOR_SEES)),
    "dialects.graph": ("core", PLAIN_CORE, "dialects"),
    "dialects.mncore": ("core", PLAIN_CORE, "dialects", *EVERY_LEAF),
    "dialects": ("core", PLAIN_CORE),
    **{
        f"passes.{name}": ("core", PLAIN_CORE, "dialects", "dialects.graph", "dialects.mncore", *EVERY_LEAF)
        for name in ("affine", "autodiff", "graph", "linalg")
    },
    "passes": (),
    "lowering": (
        "core", PLAIN_CORE, "dialects", "dialects.graph", "dialects.mncore", "passes.graph", *EVERY_LEAF
    ),
    BACKEND: (
        "core", PLAIN_CORE, COLLECTION, "dialects", "dialects.graph", "dialects.mncore", "lowering", *EVERY_LEAF
    ),
}  # fmt: skip
"""Part of the package -> parts it may import besides itself; the longest matching name counts. What is absent is the
front door (``mnc/*.py``), which imports anything but ``tools``, and ``tools``, which imports anything."""


def part_of(module: str) -> str:
    """The row of `RULES` for a module name below ``mnc``, else "tools" or "" for the front door."""
    matches = [row for row in (*RULES, "tools") if module == row or module.startswith(f"{row}.")]
    return max(matches, key=len, default="")


def _violations(source: Source) -> list[str]:
    part = part_of(source.module)
    found = []
    for line, name in source.imports():
        if name.split(".")[0] in PACKAGES:
            found.append(f"{source.path}:{line}: imports '{name}' instead of 'mnc.{name}'")
        if not name.startswith("mnc."):
            continue
        target = part_of(name.removeprefix("mnc."))
        if target == part or part == "tools" or (part == "" and target != "tools"):
            continue
        if target not in RULES.get(part, ()):
            found.append(f"{source.path}:{line}: {part or 'mnc'} must not import {target or 'mnc'} ('{name}')")
    return found


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.module or "mnc")
def test_imports_flow_one_way(source: Source) -> None:
    assert not _violations(source)


def test_only_the_bindings_import_the_wheel() -> None:
    importers = {s.module for s in sources() for _, name in s.imports() if name.split(".")[0] in ("mlir", "torch_mlir")}
    assert importers <= {"core.bindings"}


@pytest.mark.parametrize("module", ["dialects.graph", "mncore_backend.layout", "tools", ""])
def test_the_rule_refuses_an_upward_import(module: str) -> None:
    """The rule itself: a made-up module of each level that imports one level up, or by its bare name, is refused."""
    upward = {
        "dialects.graph": "mnc.passes.graph.matching",
        "mncore_backend.layout": "mnc.core.bindings",
        "": "mnc.tools.mnc",
    }
    text = f"import {upward[module]}" if module in upward else "import dialects"
    assert len(_violations(Source(Path("made_up.py"), module, ast.parse(text)))) == 1


BUILDERS = ("InsertionPoint", "Location", "Operation")
"""What of the MLIR wheel is there for building; attributes and types are built by functions that begin with `MAKES`."""
MAKES = ("get", "create", "parse", "build", "clone", "from_")
WRITERS = ("copy_module", "note_updates", "note_preferences", "put_part", "take_over", "take_parts", "wrap")
"""Functions of other folders that change modules; passes and the importer call them. `name_machine` is none of them:
the front door says what a module is compiled for, as `--machine` of the commands does."""


def _built(source: Source) -> Iterator[str]:
    """Where a module imports something that builds IR, builds it, or writes an attribute."""
    for line, name in source.imports():
        owner, _, last = name.rpartition(".")
        if owner == "mnc.core.bindings" and last != "ir":
            yield f"{source.path}:{line}: imports the builders of '{last}'"
        elif owner.startswith("mnc.") and (last in WRITERS or _is_operation(owner, last)):
            yield f"{source.path}:{line}: imports '{last}', which builds IR"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ir":
            if node.attr in BUILDERS:
                yield f"{source.path}:{node.lineno}: uses ir.{node.attr}"
        elif isinstance(node, ast.Attribute) and node.attr.startswith(MAKES) and _is_of_ir(node.value):
            yield f"{source.path}:{node.lineno}: calls {ast.unparse(node)}"
        elif isinstance(node, ast.Subscript) and _is_written_attribute(node):
            yield f"{source.path}:{node.lineno}: writes {ast.unparse(node)}"


def _is_operation(module: str, name: str) -> bool:
    """Whether a name of a module is the class of an operation, whose call builds one."""
    if not module.startswith("mnc.dialects"):
        return False
    found = getattr(importlib.import_module(module), name, None)
    return isinstance(found, type) and issubclass(found, ir.OpView)


def _is_of_ir(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ir"


def _is_written_attribute(node: ast.Subscript) -> bool:
    """Whether this is ``operation.attributes[name]`` where it gets a value or is deleted."""
    is_attribute = isinstance(node.value, ast.Attribute) and node.value.attr == "attributes"
    return is_attribute and isinstance(node.ctx, ast.Store | ast.Del)


FRONT_DOOR = [source for source in sources() if part_of(source.module) == ""]


@pytest.mark.parametrize("source", FRONT_DOOR, ids=lambda source: source.module or "mnc")
def test_the_front_door_builds_no_ir(source: Source) -> None:
    assert not list(_built(source))


@pytest.mark.parametrize(
    "text",
    [
        "from mnc.core.bindings import func, ir",
        "from mnc.core.bindings import ir\nmodule = ir.Module.create()",
        "from mnc.core.bindings import ir\nmodule = ir.Module.parse(text)",
        "from mnc.core.bindings import ir\nname = ir.StringAttr.get(text)",
        "from mnc.core.bindings import ir\nwith ir.InsertionPoint(block): pass",
        "from mnc.dialects.mncore import Dl",
        "from mnc.core.modules import take_over",
        "function.attributes[name] = value",
        "del function.operation.attributes[name]",
    ],
)
def test_what_builds_ir_is_refused_in_the_front_door(text: str) -> None:
    assert len(list(_built(Source(Path("made_up.py"), "compiler", ast.parse(text))))) == 1
