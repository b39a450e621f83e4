"""One entry of the cache as a file: a description in JSON and named arrays, each with a checksum.

    8 bytes     `MAGIC`
    8 bytes     length of the header, little-endian
    4 bytes     CRC-32 of the header
    header      JSON: "description" and "sections", each with name, dtype, shape, offset and CRC-32
    sections    raw arrays, each at a multiple of `ALIGNMENT` bytes

A file that differs from what was written in any bit is refused: every byte but the gaps is under a checksum.
"""

import json
import mmap
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

MAGIC = b"MNCache1"
ALIGNMENT = 64
_LEAD = len(MAGIC) + 12
_DTYPES = ("|u1", "|b1", "<i4", "<i8", "<f4", "<u4", "<f8", "|i1")
"""What a section may hold; nothing else is read, so that a file never names a type that runs code."""


class DamagedEntry(ValueError):
    """A file that is no entry, or not the entry that was written."""


@dataclass(frozen=True)
class Contents:
    """What an entry holds. The arrays lie in a memory map of the file and cannot be written to."""

    description: dict[str, Any]
    arrays: Mapping[str, np.ndarray]


def write_contents(file: IO[bytes], description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write an entry to an empty file. Raises ValueError for an array of a type that entries do not hold."""
    sections, offset = [], 0
    raw = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for (name, array), original in zip(raw.items(), arrays.values(), strict=True):
        if array.dtype.str not in _DTYPES:
            raise ValueError(f"an entry holds no arrays of {array.dtype}")
        checksum = zlib.crc32(array.reshape(-1).view(np.uint8).data)
        place = {"name": name, "dtype": array.dtype.str, "shape": list(original.shape), "offset": offset}
        sections.append({**place, "crc": checksum})
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    header = json.dumps({"description": description, "sections": sections}).encode()
    file.write(MAGIC + len(header).to_bytes(8, "little") + zlib.crc32(header).to_bytes(4, "little") + header)
    file.write(bytes(-(_LEAD + len(header)) % ALIGNMENT))
    for array in raw.values():
        file.write(array.reshape(-1).view(np.uint8).data)
        file.write(bytes(-array.nbytes % ALIGNMENT))


def read_contents(path: Path) -> Contents:
    """Read an entry and check all of it.

    Raises:
        DamagedEntry: the file is not what was written.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise DamagedEntry("the file is empty") from None
    if data[: len(MAGIC)] != MAGIC:
        raise DamagedEntry("the file does not begin as an entry does")
    length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
    header = data[_LEAD : _LEAD + length]
    checksum = int.from_bytes(data[_LEAD - 4 : _LEAD], "little")
    if len(data) < _LEAD or len(header) != length or zlib.crc32(header) != checksum:
        raise DamagedEntry("the header is damaged")
    parsed = json.loads(header)
    start = -(-(_LEAD + length) // ALIGNMENT) * ALIGNMENT
    arrays = {section["name"]: _section(data, start, section) for section in parsed["sections"]}
    return Contents(parsed["description"], arrays)


def _section(data: mmap.mmap, start: int, section: Mapping[str, Any]) -> np.ndarray:
    dtype, shape = np.dtype(section["dtype"]), tuple(section["shape"])
    count = int(np.prod(shape, dtype=np.int64))
    offset = start + section["offset"]
    if offset + count * dtype.itemsize > len(data):
        raise DamagedEntry(f"section '{section['name']}' is cut off")
    array = np.frombuffer(data, dtype, count, offset) if count else np.zeros(0, dtype)
    if zlib.crc32(array.view(np.uint8).data) != section["crc"]:
        raise DamagedEntry(f"section '{section['name']}' is damaged")
    array.flags.writeable = False
    return array.reshape(shape)
