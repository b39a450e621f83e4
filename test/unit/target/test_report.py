"""The printed hardware table and the generated documents."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from click.testing import CliRunner
from project.tree import script

from mnc.mncore_backend.target import chip
from mnc.mncore_backend.target.drawing import hierarchy_svg
from mnc.mncore_backend.target.report import SECTIONS
from mnc.tools.commands.machine import command


def test_generated_documents_are_up_to_date() -> None:
    documents = script("gen_machine").documents()
    assert {path.name for path in documents} == {"machine.md", "machine.svg"}
    for path, text in documents.items():
        assert path.read_text(encoding="utf-8") == text


def test_the_drawing_names_every_level_and_stays_inside_its_frame() -> None:
    root = ElementTree.fromstring(hierarchy_svg())
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    texts = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text")]
    for level in chip().levels:
        assert any(text.startswith(f"{level.name}  x{level.count}") for text in texts)
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y = float(box.attrib.get("x", 0)), float(box.attrib.get("y", 0))
        assert x + float(box.attrib["width"]) <= width and y + float(box.attrib["height"]) <= height


@pytest.mark.parametrize("name", list(SECTIONS))
def test_sections_print_in_every_format(name: str) -> None:
    section = SECTIONS[name]()
    for output_format in ("text", "markdown"):
        output = CliRunner().invoke(command, [name, "--format", output_format]).output
        assert section.title in output and section.rows[-1][-1] in output
    (read,) = json.loads(CliRunner().invoke(command, [name, "--format", "json"]).output)
    assert [tuple(row.values()) for row in read["rows"]] == list(section.rows)


def test_every_assumption_is_listed() -> None:
    output = CliRunner().invoke(command, ["assumptions"]).output
    assert all(a.constant in output and a.identifier in output for a in chip().assumptions)


def test_an_unknown_section_is_refused() -> None:
    assert CliRunner().invoke(command, ["caches"]).exit_code == 2
