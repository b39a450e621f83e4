"""Versions of this package and of what it stands on, without importing any of them."""

import importlib.metadata
from collections.abc import Iterable

REQUIRED = ("torch-mlir", "onnx", "numpy", "click", "rich")
"""What the package cannot do without."""


def version_of(distribution: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Name -> version, for messages: ``not installed`` where it is missing."""
    return {name: version_of(name) or "not installed" for name in distributions}
