"""Documents that lead a reader through commands do so with the output that really comes."""

from pathlib import Path

import pytest

from .listings import Block, Command, blocks, commands, follow, type_command
from .tree import ROOT

PAGES = {
    "assembly-tutorial.md": 10, "debugger.md": 2, "tutorial.md": 10, "reading-costs.md": 2, "emulator.md": 2,
    "wrong-results.md": 3,
}  # fmt: skip
"""Document -> commands it has at least."""


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_is_shown(page: str, tmp_path: Path) -> None:
    assert follow(ROOT / "docs" / page, tmp_path) >= PAGES[page]


def test_readme(tmp_path: Path) -> None:
    """Its commands after `make demo`; figures may differ."""
    type_command(Command("mnc demo", "..."), tmp_path)
    assert follow(ROOT / "README.md", tmp_path) >= 8


def test_programs_of_the_tutorial_are_those_of_the_examples() -> None:
    folder = ROOT / "examples" / "assembly"
    named = {block.file: block.text for block in blocks(ROOT / "docs" / "assembly-tutorial.md") if block.file}
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.vsm")}
    assert files == {name: text for name, text in named.items() if name in files}


def test_other_output_is_noticed(tmp_path: Path) -> None:
    type_command(Command("echo 1; echo 2; echo 3", "1\n...\n3"), tmp_path)
    with pytest.raises(AssertionError, match="shown"):
        type_command(Command("echo 1", "2"), tmp_path)


def test_figures_may_vary_where_a_page_says_so(tmp_path: Path) -> None:
    shown = "│ steps │ 1,234 (7 idle) │ mvb/n320i01 │"
    typed = "echo '│ steps  │ 9 (0.5 idle)  │ mvb/n64i02 │'"
    type_command(Command(typed, shown, figures_vary=True), tmp_path)
    with pytest.raises(AssertionError, match="shown"):
        type_command(Command(typed, shown), tmp_path)
    with pytest.raises(AssertionError, match="shown"):
        type_command(Command(typed.replace("idle", "stalled"), shown, figures_vary=True), tmp_path)


def test_commands_of_a_block() -> None:
    block = Block("", "console", "$ echo a \\\n  b\na b\n$ true\n")
    assert commands(block) == [Command("echo a \\\n  b", "a b\n"), Command("true", "")]
