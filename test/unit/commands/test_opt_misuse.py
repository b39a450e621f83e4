"""mnc-opt: what is refused on its command line, with which hint."""

import pytest

from .running import Shell
from .test_bad_models import assert_refused

IR = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--frobnicate"], ["no option and no pass '--frobnicate'", "mnc-opt --list-passes"]),
        (["--csee"], ["no option and no pass '--csee'", "did you mean '--cse'?"]),
        (["--mlir-print-ir-after-al"], ["did you mean '--mlir-print-ir-after-all'?"]),
        (["--fold-constant"], ["did you mean '--fold-constants'?"]),
        (["--fold-constants=no=1"], ["pass 'fold-constants': there is no option 'no'"]),
        (["--canonicalize=no=1"], ["pass 'canonicalize': no such option no", "max-iterations"]),
        (["--cse", "--pass-pipeline=builtin.module(cse)"], ["excludes passes as flags", "'--cse'"]),
        (["--cse", "--run-reproducer"], ["takes the passes from the file"]),
        (["--run-reproducer"], ["the file holds no pipeline"]),
        (["--verify-each=maybe"], ["--verify-each is a flag", "--verify-each=false"]),
        (["--cse", "--mlir-print-ir-after=canonicalize"], ["no pass 'canonicalize' runs", "it has: cse"]),
        (["--emit-bytecode", "--split-input-file=#cut"], ["bytecode holds one module"]),
        (["--cse", "--mlir-print-ir-tree-dir=/dev/null"], ["cannot write '/dev/null/", "--mlir-print-ir-tree-dir"]),
    ],
)
def test_is_refused(shell: Shell, arguments: list[str], words: list[str]) -> None:
    text = f"{IR}\n#cut\n{IR.replace('@f', '@g')}" if arguments[-1].endswith("#cut") else IR
    assert_refused(shell("mnc-opt", *arguments, stdin=text), *words)


def test_bytecode_is_not_split(shell: Shell) -> None:
    assert shell("mnc-opt", "--emit-bytecode", "-o", "f.mlirbc", stdin=IR).code == 0
    assert_refused(shell("mnc-opt", "--split-input-file", "f.mlirbc"), "bytecode is not split")
    assert "func.func @f" in shell("mnc-opt", "f.mlirbc").out
