"""What the scripts that generate documents share: write them, or with --check say which are out of date."""

import sys
from collections.abc import Mapping
from pathlib import Path


def main(documents: Mapping[Path, str], again: str = "make docs") -> int:
    """Write what differs; with --check on the command line name it, with the command that mends it, and return 1."""
    check = "--check" in sys.argv[1:]
    stale = [path for path, text in documents.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            print(f"{path} is out of date: run {again}", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(documents[path], encoding="utf-8")
    return int(check and bool(stale))
