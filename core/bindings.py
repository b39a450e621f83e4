"""The only importer of the MLIR wheel.

Two distributions carry the upstream Python API: wheels whose modules are named ``mlir.*`` and the
``torch-mlir`` wheel, whose modules are named ``torch_mlir.*``. The former is preferred when it is
installed with what this project uses (dialects defined in Python); nothing is aliased in
``sys.modules``, because submodules would then load twice and register their operations twice.

Upstream dialect modules are attributes of this module, imported on first use, because importing
them all costs a noticeable part of the start-up time::

    from mnc.core.bindings import func, ir, linalg
"""

import importlib
import importlib.util
from types import ModuleType
from typing import TYPE_CHECKING, Any

_REQUIRED_MODULES = ("ir", "passmanager", "rewrite", "dialects.ext", "dialects.irdl")


def _is_usable(distribution: str) -> bool:
    """True if `distribution` is installed and carries every module this project needs."""
    if importlib.util.find_spec(distribution) is None:
        return False
    try:
        specs = [importlib.util.find_spec(f"{distribution}.{name}") for name in _REQUIRED_MODULES]
    except ImportError:
        return False
    return None not in specs


def _choose_distribution() -> str:
    for distribution in ("mlir", "torch_mlir"):
        if _is_usable(distribution):
            return distribution
    raise ImportError("no MLIR bindings found: install the `torch-mlir` wheel, for instance with `make setup`")


DISTRIBUTION = _choose_distribution()
"""Import name of the chosen wheel: ``mlir`` or ``torch_mlir``."""

if TYPE_CHECKING:
    # The native modules of the wheel have no type stubs. Names from a module that the checker cannot
    # find are of unknown type, which it accepts in annotations; names missing in a known module are errors.
    from untyped_mlir import ext, ir, passmanager, rewrite  # pyright: ignore[reportMissingImports]
else:
    ir = importlib.import_module(f"{DISTRIBUTION}.ir")
    passmanager = importlib.import_module(f"{DISTRIBUTION}.passmanager")
    rewrite = importlib.import_module(f"{DISTRIBUTION}.rewrite")
    ext = importlib.import_module(f"{DISTRIBUTION}.dialects.ext")

# Every access to an operation of ours would otherwise retry a failing import (18 us instead of 0.5 us).
ir._globals.append_dialect_search_prefix("mnc.dialects")


def submodule(name: str) -> ModuleType:
    """Import a module of the wheel by its path below the distribution, such as ``execution_engine``."""
    return importlib.import_module(f"{DISTRIBUTION}.{name}")


def __getattr__(name: str) -> Any:
    """Resolve an upstream dialect module (``func``, ``arith``, ``linalg``, ...) on first use."""
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        module = submodule(f"dialects.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"the MLIR bindings have no dialect module '{name}'") from error
    globals()[name] = module
    return module


__all__ = ["DISTRIBUTION", "ext", "ir", "passmanager", "rewrite", "submodule"]
