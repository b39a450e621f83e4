"""mnc run --dirty: random words in memory at the start."""

from pathlib import Path

import numpy as np
import onnx
from onnx import parser

from .running import Shell

READS_WHAT_NOBODY_WROTE = "lpassa $lm0v $ln0v\nd get $ln0n0c0b0m0p0 1\nd get $p9n3 1\n"
DEFINED = "d set $lr0 1 4000000040400000\nfvadd $lr0 $lr0 $ln0\nd getf $ln0n0c0b0m0p0 1\n"


def test_what_a_program_reads_of_memory_never_written_follows_the_seed(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "a.vsm").write_text(READS_WHAT_NOBODY_WROTE)
    shown = [shell("mnc", "run", "a.vsm", "--dirty", seed) for seed in (1, 1, 2)]
    assert [done.code for done in shown] == [0, 0, 0]
    assert shown[0].out == shown[1].out != shown[2].out
    assert shell("mnc", "run", "a.vsm", "--mode", "vendor").out not in {done.out for done in shown}
    stepped = shell("mnc", "run", "--step", "--dirty", 1, "a.vsm", stdin="continue\n")
    assert shown[0].out.splitlines()[0] in stepped.out


def test_results_of_a_right_program_do_not(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "a.vsm").write_text(DEFINED)
    strict = shell("mnc", "run", "a.vsm")
    assert strict.code == 0 and shell("mnc", "run", "a.vsm", "--dirty", 1).out == strict.out


def test_a_build_directory(tmp_path: Path, shell: Shell) -> None:
    model = parser.parse_model("""<ir_version: 9, opset_import: ["": 18]> odd (float[3, 5] x) => (float[3, 5] y) {
        y = Softmax<axis=0>(x)
        }""")
    onnx.save(model, tmp_path / "odd.onnx")
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    assert shell("mnc", "compile", "odd.onnx", "-o", "build").code == 0
    results = []
    for number, options in enumerate([(), ("--dirty", 1), ("--dirty", 2, "--mode", "vendor")]):
        done = shell("mnc", "run", "build", "--input", "x.npy", "-o", f"out{number}", *options)
        assert done.code == 0, done.err
        results.append(np.load(tmp_path / f"out{number}" / "y.npy"))
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_it_is_for_vendor_mode(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "a.vsm").write_text(DEFINED)
    done = shell("mnc", "run", "a.vsm", "--dirty", 1, "--mode", "strict")
    assert done.code == 2 and "--dirty is for --mode vendor" in done.err
    assert shell("mnc", "run", "a.vsm", "--dirty", "x").code == 2


def test_the_counters_of_a_program_without_statements_end_with_the_cycles(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "a.vsm").write_text("# nothing yet\n")
    assert shell("mnc", "run", "a.vsm").err == "0 steps, 0 MV, 0 cycles (0 stalled)\n"
