"""Checksums of what we write and read back: a damaged or edited file is told as such, and not as what it leads to."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

KEY = "checksum"


def of_text(text: str) -> str:
    """Digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def checksum(description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Digest of a description, without its own checksum, and of named arrays with their types and shapes."""
    digest = hashlib.sha256()
    parts = {key: value for key, value in description.items() if key != KEY}
    digest.update(json.dumps(parts, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}:{array.dtype.str}:{array.shape}:".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def check(description: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless the description carries the checksum of itself and the arrays."""
    if not isinstance(description, dict):
        raise ValueError("it holds no description")
    if description.get(KEY) != checksum(description, arrays):
        raise ValueError("it was damaged or changed after it was written: its checksum differs")
