"""The page: data and scripts in one file."""

import base64
import gzip
import html
import json
from importlib import resources
from pathlib import Path
from typing import Any

from mnc.core.files import replace_file
from mnc.executable import Executable
from mnc.html_report.graph import drawn_graph
from mnc.html_report.memory import peaks
from mnc.html_report.timeline import timeline
from mnc.mncore_backend.assembly import parse_program
from mnc.record.costs import node_costs
from mnc.record.replay import replay

NAME = "report.html"
SCRIPTS = ("data.js", "tables.js", "timeline.js", "memory.js", "graph.js", "passes.js", "main.js")
LIBRARY = "echarts.min.js"


def page_data(executable: Executable, costs: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """What the page shows: the report, the record, the timeline, peaks of memories, the drawing of the graph and the
    text of the program."""
    times = replay(parse_program(executable.text))
    kept = {key: value for key, value in record.items() if key != "lines"}
    kept["nodes"] = node_costs(costs, record)
    return {
        "report": costs,
        "record": kept,
        "timeline": timeline(times, record["lines"]),
        "peaks": peaks(record["buffers"], record["memories"]),
        "drawing": drawn_graph(record["graph"]),
        "text": executable.text,
    }


def report_page(data: dict[str, Any], title: str) -> str:
    """The page as text. The data are packed, and unpacked by the browser."""
    packed = base64.b64encode(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), 6, mtime=0)).decode()
    parts = {
        "{{title}}": html.escape(title),
        "{{style}}": _static("style.css"),
        "{{library}}": _static(LIBRARY),
        "{{data}}": packed,
        "{{scripts}}": "\n".join(_static(name) for name in SCRIPTS),
    }
    before, *rest = _pieces(_static("page.html"), list(parts))
    return before + "".join(parts[name] + text for name, text in rest)  # pyright: ignore[reportGeneralTypeIssues]


def _pieces(template: str, names: list[str]) -> list[Any]:
    """The text before the first name, and each name with the text behind it; what is put in is not searched again."""
    found: list[Any] = []
    for name in names:
        before, _, template = template.partition(name)
        if not found:
            found.append(before)
        else:
            found[-1] = (found[-1], before)
        found.append(name)
    found[-1] = (found[-1], template)
    return found


def _static(name: str) -> str:
    return (resources.files("mnc.html_report") / "static" / name).read_text(encoding="utf-8")


def write_page(executable: Executable, costs: dict[str, Any], record: dict[str, Any], directory: Path) -> Path:
    """Write ``report.html`` into a build directory; raises CompileError."""
    path = directory / NAME
    replace_file(
        path, report_page(page_data(executable, costs, record), record["title"]), "choose another directory with -o"
    )
    return path
