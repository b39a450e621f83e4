"""A compiled program on disk: what `mnc compile -o DIR` writes and `mnc run DIR` reads.

    program.vsm        the assembly text
    memory_map.json    inputs, constants and outputs: name, role, dtype, shape, DRAM address, groups
    tensors.npz        index arrays (which element each DRAM word holds) and the values of constants
    report.json        what the program costs, in total and per ONNX node

Where tensors stay in local memory between runs, the directories ``initialise`` and ``read_back`` hold the programs that
fill them and bring those back that runs update.
"""

import contextlib
import fcntl
import json
import os
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from mnc import checksums
from mnc.core.diagnostics import CompileError
from mnc.core.files import PROGRAM, partial_directory
from mnc.core.given_values import given_path
from mnc.core.json_text import parsed_json
from mnc.core.npz import UNREADABLE, open_npz
from mnc.core.run_time_extents import RunTimeExtent
from mnc.core.sequences import read_sequences
from mnc.core.spelling import spelled
from mnc.executable import Executable, HostTensor
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.report.ideal import Ideal
from mnc.mncore_backend.program import Buffer
from mnc.mncore_backend.program.dram_image import DramImage
from mnc.mncore_backend.target import MN_CORE_2, named

FORMAT = 2
MEMORY_MAP, TENSORS, REPORT = "memory_map.json", "tensors.npz", "report.json"
COMPANIONS = ("initialise", "read_back")
_HINT = "make one with mnc compile MODEL -o DIR"


def _entry(number: int, tensor: HostTensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "role": tensor.role,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "dram_address": tensor.address,
        "segments": [[offset, part.stop - part.start] for offset, part in tensor.image.parts],
        "dram_groups": list(tensor.image.groups),
        "long_words_per_group": int(tensor.image.index.shape[1]),
        "padding_word": tensor.image.padding,
        "index": f"index{number}",
        "value": f"value{number}" if tensor.value is not None else None,
    }


def memory_map(executable: Executable) -> dict[str, Any]:
    """The content of ``memory_map.json``; addresses count 64-bit long words, big-endian elements."""
    return {
        "format": FORMAT,
        "program": checksums.of_text(executable.text),
        "tensors": [_entry(i, tensor) for i, tensor in enumerate(executable.tensors)],
        "line_nodes": list(executable.line_nodes),
        "unread": list(executable.unread),
        "may_hold_nan": list(executable.may_hold_nan),
        "run_time_extents": [asdict(entry) for entry in executable.extents],
        "sequences": [asdict(entry) for entry in executable.sequences],
        "order": list(executable.order),
        "preferences": list(executable.preferences),
        "machine": executable.machine,
        "ideal": None if executable.ideal is None else asdict(executable.ideal),
        "companions": [name for name in COMPANIONS if getattr(executable, name) is not None],
    }


def _write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """A file as `numpy.savez` makes it. Indices are regular and become small; values do not, and trying takes long."""
    with zipfile.ZipFile(path, "w", compresslevel=1) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED if name.startswith("index") else zipfile.ZIP_STORED
            entry.external_attr = 0o600 << 16
            entry._compresslevel = 1  # pyright: ignore[reportAttributeAccessIssue] - ZipFile.open ignores its own
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def _write(executable: Executable, report: str | None, directory: Path) -> None:
    (directory / PROGRAM).write_text(executable.text)
    arrays: dict[str, np.ndarray] = {}
    for i, tensor in enumerate(executable.tensors):
        arrays[f"index{i}"] = tensor.image.index.astype(np.int32)
        if tensor.value is not None:
            arrays[f"value{i}"] = tensor.value
    described = memory_map(executable)
    described[checksums.KEY] = checksums.checksum(described, arrays)
    (directory / MEMORY_MAP).write_text(json.dumps(described, indent=1) + "\n")
    _write_arrays(directory / TENSORS, arrays)
    if report is not None:
        (directory / REPORT).write_text(report)
    for name in COMPANIONS:
        if (companion := getattr(executable, name)) is not None:
            (directory / name).mkdir()
            _write(companion, None, directory / name)


@contextlib.contextmanager
def _locked(directory: Path, how: int) -> Iterator[None]:
    """Two compilations into one directory must not mix their files, nor a run read some of each."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # file systems without locks
            fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def _move(source: Path, target: Path) -> None:
    for path in sorted(source.iterdir()):
        if path.is_dir():
            (target / path.name).mkdir(exist_ok=True)
            _move(path, target / path.name)
        else:
            os.replace(path, target / path.name)


def load_report(directory: Path, executable: Executable) -> dict[str, Any]:
    """The report of a build directory that holds this program; where there is none, it is worked out anew."""
    from mnc.report import FORMAT, report

    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = parsed_json((directory / REPORT).read_text())
        if found["format"] == FORMAT:
            return found
    return report(executable)


def _report_text(report: Any) -> str:
    """A report as JSON. Raises CompileError."""
    hint = "give program.report.data, or leave it out"
    if not isinstance(report, dict):
        raise CompileError(f"the report is a value of type {type(report).__name__}", hint=hint)
    try:
        return json.dumps(report, indent=1) + "\n"
    except (TypeError, ValueError) as error:
        raise CompileError(f"the report is no JSON: {error}", hint=hint) from None


def save(executable: Executable, directory: Path | str, report: dict[str, Any] | None = None) -> None:
    """Write the build directory; either all files appear or none.

    Raises:
        CompileError: the directory cannot be written, or its name is empty; or `executable` is no program, or `report`
            no report.
    """
    target = given_path(directory, "directory")
    if not isinstance(executable, Executable):
        hint = "save what mnc.compile returns"
        raise CompileError(f"a value of type {type(executable).__name__} is no program", hint=hint)
    text = None if report is None else _report_text(report)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with partial_directory(target.parent) as scratch:
            _write(executable, text, scratch)
            with _locked(target, fcntl.LOCK_EX):
                _move(scratch, target)
    except OSError as error:
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
        raise CompileError(f"cannot write {target}: {reason}", hint=_elsewhere()) from None


def _elsewhere() -> str:
    return f"choose another directory{spelled(' with -o', '')}"


def load(directory: Path | str) -> Executable:
    """Read a build directory.

    Raises:
        CompileError: files are missing or not of this format.
    """
    source = given_path(directory, "directory")
    try:
        with _locked(source, fcntl.LOCK_SH):
            return _read(source)
    except (*UNREADABLE, MemoryError, RecursionError) as error:
        reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        if isinstance(error, OSError) and error.strerror:
            reason = f"{Path(error.filename or source).name}: {error.strerror}"
        raise CompileError(f"{source} is no build directory: {reason}", hint=_HINT) from None


def _read(source: Path) -> Executable:
    described = parsed_json((source / MEMORY_MAP).read_text())
    found = described["format"] if isinstance(described, dict) else "none"
    if found != FORMAT:
        message = f"{source} has format {found}, this version reads {FORMAT}"
        raise CompileError(message, hint=_HINT)
    text = (source / PROGRAM).read_text()
    with open_npz(source / TENSORS) as file:
        arrays = {name: file[name] for name in file.files}
    checksums.check(described, arrays)
    _compare_program(source / PROGRAM, text, described)
    tensors = tuple(_tensor(entry, arrays) for entry in described["tensors"])
    companions = {name: _read(source / name) for name in COMPANIONS if name in described.get("companions", ())}
    nodes, unread = tuple(described["line_nodes"]), tuple(described.get("unread", ()))
    preferences = tuple(described.get("preferences", ()))
    ideal = None if described.get("ideal") is None else Ideal(**described["ideal"])
    read = Executable(text, tensors, nodes, str(source / PROGRAM), unread=unread, preferences=preferences, ideal=ideal)
    machine = named(described.get("machine", MN_CORE_2.name)).name
    harmless = tuple(described.get("may_hold_nan", ()))
    extents = tuple(RunTimeExtent(**entry) for entry in described.get("run_time_extents", ()))
    sequences = read_sequences(described.get("sequences", ()))
    order = tuple(described.get("order", ()))
    noted = {"may_hold_nan": harmless, "extents": extents, "sequences": sequences, "order": order}
    return replace(read, machine=machine, **noted, **companions)


def _compare_program(path: Path, text: str, described: dict[str, Any]) -> None:
    """Say that a program is not the one whose tensors the directory describes; it may be edited by hand, and right."""
    if described.get("program", checksums.of_text(text)) != checksums.of_text(text):
        message = f"{path} is not the program that was compiled into this directory: results are what it leaves there"
        warnings.warn(message, stacklevel=2)


def machine_of_directory(directory: Path) -> str | None:
    """The name of the machine for which a build directory holds a program; None where it does not say, or is damaged,
    which `load` complains about."""
    try:
        described = parsed_json((directory / MEMORY_MAP).read_text(encoding="utf-8"))
        return named(described["machine"]).name
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _tensor(entry: dict[str, Any], arrays: Any) -> HostTensor:
    buffer = Buffer(entry["name"], entry["long_words_per_group"], (Memory.DRAM,))
    buffer.memory, buffer.base = Memory.DRAM, entry["dram_address"]
    index = arrays[entry["index"]].astype(np.int64)
    segments = tuple((offset, size) for offset, size in entry["segments"])
    shape, groups = tuple(entry["shape"]), tuple(entry["dram_groups"])
    image = DramImage(buffer, shape, index, groups, entry["padding_word"], segments)
    value = arrays[entry["value"]] if entry["value"] else None
    return HostTensor(entry["name"], entry["role"], entry["dtype"], image, value)


__all__ = ["load", "machine_of_directory", "memory_map", "save"]
