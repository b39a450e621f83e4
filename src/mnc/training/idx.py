"""IDX files, the format of MNIST: a big-endian header (0, 0, type, rank, extents) and the elements, maybe gzipped."""

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np

from mnc.core.diagnostics import CompileError

_GZIP_MAGIC = b"\x1f\x8b"
_UNSIGNED_BYTE = 0x08
_HINT = "fetch the file again; MNIST consists of four IDX files, raw or with .gz"


def _contents(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == _GZIP_MAGIC else data
    except (OSError, EOFError, zlib.error) as error:
        raise CompileError(f"cannot read '{path}': {error}", hint=_HINT) from None


def read_idx(path: Path, rank: int) -> np.ndarray:
    """Unsigned bytes of an IDX file with `rank` dimensions.

    Raises:
        CompileError: the file is missing, truncated, too long, or of another type or rank.
    """
    data = _contents(path)
    if len(data) < 4 or data[:2] != b"\0\0":
        raise CompileError(f"'{path}' is no IDX file: it does not start with two zero bytes", hint=_HINT)
    if data[2] != _UNSIGNED_BYTE or data[3] != rank:
        message = f"'{path}' holds type 0x{data[2]:02x} in {data[3]} dimensions, expected bytes (0x08) in {rank}"
        raise CompileError(message, hint="images have 3 dimensions, labels have 1")
    start = 4 + 4 * rank
    if len(data) < start:
        raise CompileError(f"'{path}' ends inside its header", hint=_HINT)
    shape = struct.unpack(f">{rank}I", data[4:start])
    wanted = math.prod(shape)
    if len(data) - start != wanted:
        extents = "x".join(map(str, shape))
        message = f"'{path}' announces {extents} = {wanted} bytes but holds {len(data) - start}"
        raise CompileError(message, hint=_HINT)
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def find_idx(directory: Path, name: str) -> Path:
    """The file `name` in a directory, plain or with ``.gz``, with ``-idx`` or ``.idx`` in its name, in any case.

    Raises:
        CompileError: there is none, or no such directory.
    """
    try:
        present = {path.name.lower(): path for path in sorted(directory.iterdir()) if path.is_file()}
    except OSError as error:
        raise CompileError(f"cannot read directory '{directory}': {error.strerror}", hint=_HINT) from None
    for spelling in (name, name.replace("-idx", ".idx")):
        for suffix in ("", ".gz"):
            if f"{spelling}{suffix}" in present:
                return present[f"{spelling}{suffix}"]
    raise CompileError(f"there is no '{name}' (or '{name}.gz') in '{directory}'", hint=_HINT)
