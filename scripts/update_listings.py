"""Types the commands of the documents anew and writes what they print now: after figures or messages have changed.

Outputs that are shown with ``...`` are left alone. Read the difference before it is committed: the test that compares
documents with the program cannot tell an intended change from a fault.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "unit"))

from project.listings import Command, blocks, commands, printed_by, write_file  # noqa: E402
from project.test_listings import PAGES  # noqa: E402


def refresh(page: Path, folder: Path) -> None:
    """Follow a document in a folder; the outputs it shows become those of today."""
    for block in blocks(page):
        write_file(block, folder)
        for command in commands(block) if block.language == "console" else ():
            printed = printed_by(command, folder)
            if "..." not in command.shown and command.shown.strip():
                _replace(page, command, printed)


def _replace(page: Path, command: Command, printed: str) -> None:
    text = page.read_text(encoding="utf-8")
    before = f"$ {command.typed}\n{command.shown.rstrip()}\n"
    page.write_text(text.replace(before, f"$ {command.typed}\n{printed}\n"), encoding="utf-8")


if __name__ == "__main__":
    for name in ("README.md", *(f"docs/{page}" for page in PAGES)):
        with tempfile.TemporaryDirectory() as temporary:
            if name == "README.md":
                printed_by(Command("mnc demo", "..."), Path(temporary))
            refresh(ROOT / name, Path(temporary))
