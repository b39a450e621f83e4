"""The command line of mnc-opt, the text of reproducers, and what names of passes are taken for."""

import click
import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.pipeline_entries import UpstreamPass, entry_of_flag
from mnc.core.pipeline_text import pretty
from mnc.core.reproducer import read_reproducer, write_reproducer_file
from mnc.registry import pass_table
from mnc.tools.opt_arguments import split_arguments

PARAMETERS = (
    click.Option(["-o", "output"]),
    click.Option(["--mlir-timing"], is_flag=True),
    click.Option(["--verify-each/--no-verify-each"], default=True),
    click.Option(["--split-input-file"]),
)


def split(*arguments: str) -> tuple[list[str], list[tuple[str, str]]]:
    found = split_arguments(arguments, PARAMETERS, {"split-input-file": "MARK"})
    return found.options, found.passes


@pytest.mark.parametrize(
    ("given", "options", "passes"),
    [
        (["in.mlir", "-cse"], ["in.mlir"], [("cse", "")]),
        (["-", "--tile=sizes=8,8"], ["-"], [("tile", "sizes=8,8")]),
        (["-o", "-cse", "--cse"], ["-o", "-cse"], [("cse", "")]),  # the file is called "-cse"
        (["-o=out"], ["-o", "out"], []),
        (["-one-shot-bufferize"], [], [("one-shot-bufferize", "")]),
        (["-mlir-timing=0", "--verify-each=0"], ["--no-verify-each"], []),
        (["--mlir-timing=true", "-verify-each"], ["--mlir-timing", "--verify-each"], []),
        (["--split-input-file", "in"], ["--split-input-file", "MARK", "in"], []),
        (["--split-input-file=//", "in"], ["--split-input-file", "//", "in"], []),
        (["--", "-cse"], ["--", "-cse"], []),
    ],
)
def test_options_and_passes_are_told_apart(given: list[str], options: list[str], passes: list[tuple[str, str]]) -> None:
    assert split(*given) == (options, passes)


def test_a_flag_takes_true_and_false_only() -> None:
    with pytest.raises(CompileError, match="flag"):
        split("--mlir-timing=later")


def test_a_pass_on_functions_is_nested_in_them() -> None:
    entry = entry_of_flag("affine-parallelize", "", pass_table())
    assert isinstance(entry, UpstreamPass)
    assert entry.path == ("builtin.module", "func.func")


def test_every_pass_of_ours_is_a_flag() -> None:
    assert {entry_of_flag(name, "", pass_table()).name for name in pass_table()} == set(pass_table())


def test_pretty_text_has_a_pass_per_line() -> None:
    text = 'builtin.module(a{x="1,(2)" y={3}},func.func(b,c),d)'
    lines = ["builtin.module(", '  a{x="1,(2)" y={3}},', "  func.func(", "    b,", "    c", "  ),", "  d", ")"]
    assert pretty(text).split("\n") == lines


@pytest.mark.parametrize("constants", [False, True])
def test_reproducers_are_read_back(tmp_path, constants: bool) -> None:  # pyright: ignore[reportMissingParameterType]
    """Also where the section of resources exists already, and where the pipeline holds quotes and backslashes."""
    pipeline = r'builtin.module(tile{sizes="8,\"8\""})'
    value = "dense_resource<a> : tensor<1xf32>" if constants else "dense<1.0> : tensor<1xf32>"
    resource = '\n{-#\n  dialect_resources: {\n    builtin: {\n      a: "0x040000000000803F"\n    }\n  }\n#-}\n'
    text = f"%0 = arith.constant {value}\n" + resource * constants
    module = ir.Module.parse(text, make_context())
    path = write_reproducer_file(module.operation, pipeline, tmp_path / "r.mlir", verify_each=False)
    found = read_reproducer(path.read_text(), "r.mlir")
    assert (found.pipeline, found.verify_each) == (pipeline, False)
    again = ir.Module.parse(path.read_text(), make_context())
    assert str(again) == str(module)
