"""Hooks of the documentation site: pages made from files outside `docs`."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def page_text(name: str) -> str:
    """A file of the root with its links as they are within the site."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    for page, source in PAGES.items():
        text = text.replace(f"]({source})", f"]({page})")
    return re.sub(r"\[([^\]]+)\]\((?!https?:)(?![\w-]+\.(?:md|json))[^)]+\)", r"\1", text)  # folders: the text alone


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=page_text(source)))
    return files
