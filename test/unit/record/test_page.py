"""report.html: one file that needs nothing else, and that a browser shows without complaint."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mnc.html_report.graph import drawn_graph
from mnc.html_report.memory import peaks, usage
from mnc.html_report.page import page_data, report_page, write_page
from mnc.html_report.timeline import timeline
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.codegen.report.cost import cost_of
from mnc.record.replay import replay
from mnc.report import report

from .small_models import perceptron, recorded

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    executable, record = recorded(perceptron())
    return write_page(executable, report(executable), record, tmp_path_factory.mktemp("report"))


def test_the_page_loads_nothing(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=[\"']?(?!data:)[\w/.]", text)
    assert "@import" not in text and "{{" not in text.split("<body>")[0]
    assert text.count("</script>") == 3


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_browser_shows_every_view_without_complaint(page: Path) -> None:
    command = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
        "--virtual-time-budget=8000", "--enable-logging=stderr", "--v=0", "--dump-dom", f"file://{page}#all",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not complaints
    assert 'data-ready="yes"' in done.stdout
    for view in ("summary", "nodes", "loops", "timeline", "memory", "graph", "passes", "decisions"):
        assert f'id="view-{view}"' in done.stdout
    assert done.stdout.count("<canvas") >= 4 and "layer0" in done.stdout
    assert "undefined" not in re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL)


def test_text_of_a_model_is_never_markup() -> None:
    executable, record = recorded(perceptron())
    page = report_page(page_data(executable, report(executable), record), "</title><script>alert(1)</script>{{data}}")
    assert "alert(1)</script>" not in page.replace("&lt;/script&gt;", "")
    assert page.count("</script>") == 3


def test_rows_of_the_timeline_show_every_step_at_work() -> None:
    executable, record = recorded(perceptron())
    statements = parse_program(executable.text)
    rows = {row["name"]: row for row in timeline(replay(statements), record["lines"])["rows"]}
    assert sum(rows["MAU"]["length"]) == cost_of(statements).mau_steps > 0
    transfers = [row for name, row in rows.items() if name.startswith("MV ")]
    assert sum(len(row["start"]) for row in transfers) == len(replay(statements).movements)
    assert all(distance >= 0 for row in rows.values() for distance in row["start"])


def _buffer(first: int, last: int, size: int, name: str = "t") -> dict:
    return {"memory": "LM0", "base": 0, "first": first, "last": last, "size": size, "tensor": name, "nodes": []}


def test_the_peak_of_a_memory_is_what_lives_then() -> None:
    buffers = [_buffer(0, 10, 4, "a"), _buffer(5, 20, 8, "b"), _buffer(10, 12, 3, "c"), _buffer(30, 31, 11, "d")]
    found = peaks(buffers, {"LM0": {"longs": 100, "of": "PE"}})["LM0"]
    assert (found["step"], found["used"]) == (5, 12)
    assert [tensor["tensor"] for tensor in found["tensors"]] == ["b", "a"]
    assert usage(buffers) == [(0, 4), (5, 12), (10, 11), (12, 8), (20, 0), (30, 11), (31, 0)]


def test_nodes_stand_below_what_they_read_and_apart_from_each_other() -> None:
    graph = [
        {"name": name, "inputs": inputs, "outputs": [name]}
        for name, inputs in {"a": ["x"], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["a", "d"]}.items()
    ]
    for named in (graph, [{**node, "name": "same"} for node in graph]):
        drawing = drawn_graph(named)
        assert [node["name"] for node in drawing["nodes"]] == [node["name"] for node in named]
        places = [(node["x"], node["y"]) for node in drawing["nodes"]]
        assert all(places[source][1] < places[target][1] for source, target in drawing["edges"])
        assert len(set(places)) == len(places)
        assert drawing["edges"] == [[0, 1], [0, 2], [1, 3], [2, 3], [0, 4], [3, 4]]
