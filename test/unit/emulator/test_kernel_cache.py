"""Compiled kernels on disk: found again, never trusted when damaged or writable for others, never needed."""

import ctypes
import shutil
from pathlib import Path

import pytest

from mnc.mncore_backend.emulator.kernels import jit, object_cache
from mnc.mncore_backend.emulator.kernels.builder import Builder
from mnc.mncore_backend.emulator.kernels.emitter import Value
from mnc.mncore_backend.emulator.kernels.object_file import UnfitObject, load_function

pytestmark = pytest.mark.skipif(object_cache._system() is None, reason="code is not kept on this system")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MNC_NO_CACHE")
    monkeypatch.setenv("MNC_CACHE_DIR", str(tmp_path))
    return tmp_path


def _text(addend: float) -> str:
    """A function that adds a constant, which lies in a section of its own, to eight doubles."""
    builder = Builder()
    place = Value(builder, "%place", "ptr")
    place.store(place.load("f64", 8) + addend)
    return builder.function("add_constant", "%place: !llvm.ptr")


def _sum(address: int) -> list[float]:
    values = (ctypes.c_double * 8)(*range(8))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(values))
    return list(values)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the functions that were compiled."""
    names: list[str] = []
    compile_function = jit.compile_function

    def noting(name: str, text: str, **options: bool):
        names.append(name)
        return compile_function(name, text, **options)

    monkeypatch.setattr(jit, "compile_function", noting)
    return names


def _only_entry(directory: Path) -> Path:
    (entry,) = directory.glob("kernels/*/*.entry")
    return entry


def test_a_kernel_is_compiled_once_and_computes_the_same(directory: Path, compilations: list[str]) -> None:
    expected = [i + 0.375 for i in range(8)]
    assert _sum(jit.function_address("add_constant", _text(0.375))) == expected
    assert _sum(jit.function_address("add_constant", _text(0.375))) == expected
    assert compilations == ["add_constant"]
    assert _only_entry(directory).stat().st_mode & 0o077 == 0


def test_another_text_is_another_kernel(directory: Path, compilations: list[str]) -> None:
    assert _sum(jit.function_address("add_constant", _text(1.5)))[0] == 1.5
    assert _sum(jit.function_address("add_constant", _text(2.5)))[0] == 2.5
    assert len(compilations) == 2


def test_another_processor_compiles_anew(
    directory: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    jit.function_address("add_constant", _text(1.5))
    monkeypatch.setattr(object_cache, "_system", lambda: b"another processor")
    assert _sum(jit.function_address("add_constant", _text(1.5)))[0] == 1.5
    assert len(compilations) == 2


@pytest.mark.parametrize("damage", ["a bit", "the end", "everything"])
def test_a_damaged_file_is_made_anew(directory: Path, compilations: list[str], damage: str) -> None:
    jit.function_address("add_constant", _text(0.375))
    entry = _only_entry(directory)
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 1
    entry.write_bytes({"a bit": content, "the end": content[:-9], "everything": b""}[damage])
    assert _sum(jit.function_address("add_constant", _text(0.375)))[0] == 0.375
    assert len(compilations) == 2
    assert _sum(jit.function_address("add_constant", _text(0.375)))[0] == 0.375
    assert len(compilations) == 2


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_can_write_is_not_run(directory: Path, compilations: list[str], mode: int) -> None:
    jit.function_address("add_constant", _text(0.375))
    _only_entry(directory).chmod(mode)
    jit.function_address("add_constant", _text(0.375))
    assert len(compilations) == 2


def test_without_cache_nothing_is_written(
    directory: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNC_NO_CACHE", "1")
    assert _sum(jit.function_address("add_constant", _text(0.375)))[0] == 0.375
    assert not list(directory.iterdir())


def test_a_directory_that_cannot_be_written_is_no_error(directory: Path, compilations: list[str]) -> None:
    shutil.rmtree(directory)
    directory.write_text("a file")
    assert _sum(jit.function_address("add_constant", _text(0.375)))[0] == 0.375


def _object(directory: Path) -> bytearray:
    jit.function_address("add_constant", _text(0.375))
    return bytearray(_only_entry(directory).read_bytes()[32:])


def test_a_file_for_another_processor_is_refused(directory: Path) -> None:
    content = _object(directory)
    content[18:20] = (183).to_bytes(2, "little")  # AArch64
    with pytest.raises(UnfitObject, match="x86-64"):
        load_function(bytes(content), "add_constant")


def test_a_function_that_calls_another_is_run_but_not_kept(directory: Path) -> None:
    text = """
llvm.func @labs(i64) -> i64
llvm.func @magnitude(%place: !llvm.ptr) {
  %value = llvm.load %place : !llvm.ptr -> i64
  %result = llvm.call @labs(%value) : (i64) -> i64
  llvm.store %result, %place : i64, !llvm.ptr
  llvm.return
}
"""
    value = ctypes.c_int64(-5)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(jit.function_address("magnitude", text))(ctypes.addressof(value))
    assert value.value == 5
    assert not list(directory.glob("kernels/*/*"))


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"text" * 100])
def test_what_is_no_object_file_is_refused(content: bytes) -> None:
    with pytest.raises(UnfitObject):
        load_function(content, "add_constant")
