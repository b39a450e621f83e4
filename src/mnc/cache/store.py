"""The directory of the cache. Entries are files by the digest of their key; whatever fails, a compilation goes on.

Writers make a file of their own and rename it, so that readers see a whole entry or none, and of two writers of one
entry the last wins with the same content. A hit sets the time of the file; when all entries together exceed the limit,
those used longest ago go. A damaged entry is removed and made anew.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mnc.cache import settings
from mnc.cache.container import Contents, DamagedEntry, read_contents, write_contents
from mnc.core.diagnostics import CompileError

SUFFIX = ".entry"
_PARTIAL = "partial-"
_ABANDONED = 24 * 3600
"""Seconds after which a file that a writer did not finish is nobody's."""
_LOW_WATER = 0.9
"""Share of the limit that stays when entries have to go: not every write shall look for the oldest."""


@dataclass(frozen=True)
class Entry:
    """A file of the cache: `kind` is what it holds, `used` when it was read or written last (seconds since 1970)."""

    path: Path
    kind: str
    size: int
    used: float


@dataclass(frozen=True)
class Store:
    """A cache in `directory` of at most `limit` bytes."""

    directory: Path
    limit: int

    def path(self, kind: str, key: str) -> Path:
        """Where the entry of a key lies; `key` is a digest in hexadecimal."""
        return self.directory / kind / key[:2] / f"{key}{SUFFIX}"

    def read(self, kind: str, key: str) -> Contents | None:
        """The entry of a key, or None when there is none, or none that can be read."""
        path = self.path(kind, key)
        try:
            contents = read_contents(path)
            os.utime(path)
        except PermissionError:  # the time of an entry in a cache of somebody else
            with contextlib.suppress(OSError, DamagedEntry):
                return read_contents(path)
            return None
        except OSError:
            return None
        except (DamagedEntry, ValueError, KeyError, TypeError):
            self.remove(kind, key)
            return None
        return contents

    def remove(self, kind: str, key: str) -> None:
        """Remove the entry of a key, if it is there."""
        with contextlib.suppress(OSError):
            self.path(kind, key).unlink()

    def write(self, kind: str, key: str, description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bool:
        """Write an entry; returns whether that worked. What is larger than the whole cache may be is not written."""
        if sum(array.nbytes for array in arrays.values()) > self.limit:
            return False
        path = self.path(kind, key)
        name = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=_PARTIAL)
            with os.fdopen(handle, "wb") as file:
                write_contents(file, description, arrays)
            os.replace(name, path)
        except (OSError, ValueError):
            if name is not None:
                with contextlib.suppress(OSError):
                    os.unlink(name)
            return False
        self.trim()
        return True

    def entries(self) -> list[Entry]:
        """All entries, the one used longest ago first."""
        return sorted(self._files(SUFFIX), key=lambda entry: (entry.used, entry.path))

    def _files(self, suffix: str = "", prefix: str = "") -> Iterator[Entry]:
        for path in self.directory.glob(f"*/*/{prefix}*{suffix}"):
            with contextlib.suppress(OSError):  # somebody else removed it
                state = path.stat()
                yield Entry(path, path.parent.parent.name, state.st_size, state.st_mtime)

    def trim(self, limit: int | None = None) -> list[Entry]:
        """Remove what was used longest ago until the entries fit into the limit; returns what went."""
        with contextlib.suppress(OSError):
            bound = self.limit if limit is None else limit
            entries = self.entries()
            total = sum(entry.size for entry in entries)
            if total <= bound:
                return []
            removed = []
            for entry in entries:
                if total <= bound * _LOW_WATER:
                    break
                with contextlib.suppress(OSError):
                    entry.path.unlink()
                    removed.append(entry)
                    total -= entry.size
            self._sweep()
            return removed
        return []

    def _sweep(self) -> None:
        """Remove what writers left that were stopped."""
        for partial in list(self._files(prefix=_PARTIAL)):
            if partial.used < time.time() - _ABANDONED:
                with contextlib.suppress(OSError):
                    partial.path.unlink()

    def clear(self) -> tuple[int, int]:
        """Remove all entries; returns how many there were and their bytes.

        Raises:
            CompileError: one of them cannot be removed.
        """
        removed = [*self.entries(), *self._files(prefix=_PARTIAL)]
        for entry in removed:
            try:
                entry.path.unlink(missing_ok=True)
            except OSError as error:
                raise CompileError(f"cannot remove {entry.path}: {error.strerror}") from None
        return len(removed), sum(entry.size for entry in removed)


def open_store() -> Store | None:
    """The cache of this user, or None when it is switched off or there is no place for it."""
    place = settings.directory() if settings.is_enabled() else None
    return None if place is None else Store(place, settings.limit())
