"""The keys of the cache: digests of the compiler itself, of a model's content, and of what was asked for.

A program depends on the sources of this package, on the packages that it computes with, on every byte of the model and
on the options. Nothing else goes into a key: not the path of the model, not its time. Equal keys mean equal programs.
"""

import contextlib
import hashlib
import io
import json
import mmap
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from mnc.core.sequences import Shapes
from mnc.options import Options

DEPENDENCIES = ("torch-mlir", "onnx", "numpy", "protobuf")
"""Packages whose versions may change a program: passes, inference of shapes, folded constants."""
CHUNK = 4 << 20
"""Bytes that one thread digests at a time; the digest of a file is that of the digests of its chunks."""
_NOT_IN_KEY = ("shapes", "dump_dir")
"""Options that stand in a key in a form of their own, or that have no say in the program."""


def digest(*parts: bytes | str) -> str:
    """Digest of several texts; where one ends and the next begins counts."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


@cache
def compiler_version() -> str:
    """Digest of the sources of this package and of the versions of what it computes with: a changed line of the
    compiler never meets an old result."""
    root = Path(__file__).resolve().parents[1]
    state = hashlib.sha256()
    for folder, folders, names in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".json")):
                path = Path(folder) / name
                content = path.read_bytes()
                state.update(f"{path.relative_to(root)}\0{len(content)}\0".encode())
                state.update(content)
    return digest(state.hexdigest(), sys.version, os.uname().machine, *_versions())


def _versions() -> list[str]:
    """Names of the directories that installers leave, which hold the versions; `importlib.metadata` would take longer
    than all the rest of a hit."""
    wanted = tuple(f"{name.replace('-', '_')}-" for name in DEPENDENCIES)
    found = set()
    for folder in sys.path:
        with contextlib.suppress(OSError):
            names = os.listdir(folder or ".")
            found |= {name for name in names if name.endswith((".dist-info", ".egg-info")) and name.startswith(wanted)}
    return sorted(found)


def data_digest(data: Any) -> str:
    """Digest of a buffer; large ones by several threads, since hashing lets go of the interpreter."""
    view = memoryview(data).cast("B")
    chunks = [view[start : start + CHUNK] for start in range(0, len(view), CHUNK)] or [view]
    if len(chunks) < 4:
        return digest(*(hashlib.sha256(chunk).digest() for chunk in chunks))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return digest(*pool.map(lambda chunk: hashlib.sha256(chunk).digest(), chunks))


def file_digest(path: str | os.PathLike[str]) -> str:
    """Digest of what a file holds. Raises OSError."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return data_digest(file.read())  # also of what has no size, as pipes
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            view = memoryview(data)
            try:
                return data_digest(view)
            finally:
                view.release()


def module_digest(module: Any) -> str:
    """Digest of a module of MLIR with all of its constants."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return data_digest(stream.getbuffer())


def _plain(value: Any) -> str:
    """What JSON cannot hold. A file counts by what it says, not by its name."""
    if isinstance(value, os.PathLike):
        return file_digest(value)
    return repr(value)


def options_text(options: Options, shapes: Shapes) -> str:
    """The options that decide about a program, as text; new fields of `Options` come in by themselves."""
    chosen = {f.name: getattr(options, f.name) for f in fields(options) if f.name not in _NOT_IN_KEY}
    return json.dumps({**chosen, "shapes": {**options.shapes, **shapes}}, sort_keys=True, default=_plain)
