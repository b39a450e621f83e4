"""Build directories that were damaged or edited: one message and exit code 2, whatever was hit."""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

import mnc
from mnc.build_directory import MEMORY_MAP, TENSORS, load
from mnc.core.diagnostics import CompileError
from mnc.core.files import PROGRAM

from .model_files import tiny
from .running import Shell


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("build") / "out"
    mnc.save(mnc.compile(tiny(4), mnc.Options(prefer=())), directory)
    return directory


def test_flipped_bits(built: Path, tmp_path: Path) -> None:
    """Every flip either changes nothing that is read, or is told."""
    whole = load(built)
    data, rng, refused = (built / TENSORS).read_bytes(), random.Random(0), 0
    shutil.copytree(built, tmp_path / "out")
    for _ in range(150):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (tmp_path / "out" / TENSORS).write_bytes(damaged)
        try:
            found = load(tmp_path / "out")
        except CompileError as error:
            refused += 1
            assert error.hint
            continue
        for one, other in zip(whole.tensors, found.tensors, strict=True):
            np.testing.assert_array_equal(one.image.index, other.image.index)
            assert (one.value is None) == (other.value is None)
    assert refused > 75


@pytest.mark.parametrize("value", [None, -1, 10**12, "x", [], {}, 1.5, True])
def test_edited_fields(built: Path, tmp_path: Path, value: object) -> None:
    shutil.copytree(built, tmp_path / "out")
    described = json.loads((built / MEMORY_MAP).read_text())
    for key in [*described, *described["tensors"][0]]:
        edited = json.loads((built / MEMORY_MAP).read_text())
        target = edited if key in edited else edited["tensors"][0]
        if target[key] == value and type(target[key]) is type(value):
            continue
        target[key] = value
        (tmp_path / "out" / MEMORY_MAP).write_text(json.dumps(edited))
        with pytest.raises(CompileError):
            load(tmp_path / "out")


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"format": 2}', "[" * 100000, "1" * 10000])
def test_other_contents(built: Path, tmp_path: Path, text: str) -> None:
    shutil.copytree(built, tmp_path / "out")
    (tmp_path / "out" / MEMORY_MAP).write_text(text)
    with pytest.raises(CompileError):
        load(tmp_path / "out")


def test_another_program_is_noticed(built: Path, tmp_path: Path, shell: Shell) -> None:
    """It may be edited by hand, so it runs; but what it does not write is zero."""
    shutil.copytree(built, tmp_path / "out")
    inputs = {tensor.name: np.ones(tensor.shape, np.float32) for tensor in load(tmp_path / "out").inputs}
    for name, value in inputs.items():
        np.save(tmp_path / f"{name}.npy", value)
    given = [part for name in inputs for part in ("--input", f"{name}={name}.npy")]
    assert shell("mnc", "run", "out", *given).err == ""
    (tmp_path / "out" / PROGRAM).write_text("nop\nnonsense\n")
    with pytest.warns(UserWarning, match="is not the program"):
        assert f"out/{PROGRAM}:2:1: error: " in shell("mnc", "run", "out", *given).err
    assert f"out/{PROGRAM}:2:1: error: " in shell("mnc", "run", "out", *given, "--trace", "t.pftrace").err
    (tmp_path / "out" / PROGRAM).write_text("nop\n")
    with pytest.warns(UserWarning, match=r"out/program.vsm is not the program that was compiled into this directory"):
        assert shell("mnc", "run", "out", *given, "--mode", "vendor").code == 0
