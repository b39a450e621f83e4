"""``record.json.gz`` of a build directory."""

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mnc.core.diagnostics import CompileError
from mnc.core.files import replace_file
from mnc.core.json_text import parsed_json

RECORD = "record.json.gz"
FORMAT = 1
_HINT = "compile the model again: mnc compile MODEL -o DIR --report"
_NO_DIRECTORY = "give the directory that mnc compile MODEL -o DIR wrote"


@dataclass(frozen=True)
class PackedRecord:
    """A record as it is written. `complete`: addresses and loop nests are in it, however long the program."""

    content: bytes
    complete: bool

    def unpacked(self) -> dict[str, Any]:
        """The record as plain values."""
        return parsed_json(gzip.decompress(self.content))


def pack(record: dict[str, Any], complete: bool) -> PackedRecord:
    """Inverse of `PackedRecord.unpacked`."""
    text = json.dumps(record, separators=(",", ":"))
    return PackedRecord(gzip.compress(text.encode(), 6, mtime=0), complete)


def save_record(record: PackedRecord | None, directory: Path) -> None:
    """Write the record into a build directory, or remove that of another program; raises CompileError."""
    path = directory / RECORD
    try:
        if record is None:
            path.unlink(missing_ok=True)
        else:
            replace_file(path, record.content)
    except OSError as error:
        raise CompileError(f"cannot write {path}: {error.strerror}", hint="choose another directory with -o") from None


def load_record(directory: Path) -> dict[str, Any]:
    """Read the record of a build directory; raises CompileError where there is none, or it is damaged."""
    path = directory / RECORD
    if not path.is_file():
        if not directory.is_dir():
            raise CompileError(f"'{directory}' is no build directory", hint=_NO_DIRECTORY)
        raise CompileError(f"'{directory}' has no {RECORD}", hint=_HINT)
    try:
        record = parsed_json(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise CompileError(f"cannot read {path}: {error}", hint=_HINT) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise CompileError(f"{path} is no record of this version", hint=_HINT)
    return record
