"""The documentation site builds without warnings, and every link within it leads somewhere."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from .tree import ROOT

pytest.importorskip("mkdocs", reason="comes with the extra docs")


class Page(HTMLParser):
    """Links and anchors of an HTML file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        key = {"a": "href", "link": "href", "img": "src", "script": "src"}.get(tag, "")
        if (target := values.get(key)) is not None:
            self.links.append(target)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def _broken(page: Page, pages: dict[Path, Page]) -> list[str]:
    found = []
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or page.path.name == "404.html":
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        target = target / "index.html" if target.is_dir() else target
        known = pages.get(target)
        fragment = unquote(parts.fragment)
        if not target.is_file() or (known and fragment and fragment not in known.anchors):
            found.append(link)
    return found


def test_links_lead_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    assert len(pages) > 25
    assert not {str(path.relative_to(site)): bad for path, page in pages.items() if (bad := _broken(page, pages))}


def test_reference_has_the_docstrings(site: Path) -> None:
    text = (site / "python-api.html").read_text(encoding="utf-8")
    for name in ("mnc.compile", "mnc.Options", "mnc.Executable.run"):
        assert f'id="{name}"' in text


def test_nothing_is_fetched_to_show_a_page(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = Page(path)
        remote = [link for link in page.links if urlsplit(link).netloc]
        scripts = [link for link in remote if link.endswith((".js", ".css", ".woff2", ".png"))]
        assert not scripts, path


def test_every_page_is_in_the_navigation(site: Path) -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    names = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert not {name for name in names if f": {name}\n" not in text}


def test_a_broken_link_is_noticed(site: Path) -> None:
    page = Page(site / "index.html")
    page.links = ["tutorial.html#no-such-place", "missing.html", "tutorial.html"]
    target = site / "tutorial.html"
    assert _broken(page, {target: Page(target)}) == page.links[:2]
