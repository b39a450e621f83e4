"""Compiled programs as entries of the cache: text, host tensors, companion programs, and reports."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from mnc.cache.container import Contents
from mnc.core.run_time_extents import RunTimeExtent
from mnc.core.sequences import read_sequences
from mnc.executable import Executable, HostTensor
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.report.ideal import Ideal
from mnc.mncore_backend.program import Buffer
from mnc.mncore_backend.program.dram_image import DramImage
from mnc.mncore_backend.target import named

COMPANIONS = ("initialise", "read_back")

Arrays = dict[str, np.ndarray]


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def _describe_tensor(tensor: HostTensor, prefix: str, arrays: Arrays) -> dict[str, Any]:
    image = tensor.image
    arrays[f"{prefix}index"] = _narrow(image.index)
    if tensor.value is not None:
        arrays[f"{prefix}value"] = tensor.value
    return {
        "name": tensor.name,
        "role": tensor.role,
        "dtype": tensor.dtype,
        "shape": list(image.shape),
        "buffer": [image.buffer.name, image.buffer.size, tensor.address],
        "groups": list(image.groups),
        "padding": image.padding,
        "segments": [list(segment) for segment in image.segments],
        "has_value": tensor.value is not None,
    }


def _narrow(index: np.ndarray) -> np.ndarray:
    """Indices in 32 bits where they fit: they are as many as the words of the tensor."""
    fits = index.size == 0 or int(index.max()) < 2**31
    return index.astype(np.int32) if index.dtype != np.int32 and fits else index


def describe(executable: Executable, prefix: str = "") -> tuple[dict[str, Any], Arrays]:
    """A program as the description and the arrays of an entry, names of arrays begin with `prefix`."""
    arrays: Arrays = {f"{prefix}text": _bytes(executable.text)}
    names = list(dict.fromkeys(executable.line_nodes))
    number = {name: i for i, name in enumerate(names)}
    arrays[f"{prefix}nodes"] = np.array([number[name] for name in executable.line_nodes], np.int32)
    description: dict[str, Any] = {
        "names": names,
        "tensors": [_describe_tensor(t, f"{prefix}{i}.", arrays) for i, t in enumerate(executable.tensors)],
        "unread": list(executable.unread),
        "may_hold_nan": list(executable.may_hold_nan),
        "extents": [asdict(entry) for entry in executable.extents],
        "sequences": [asdict(entry) for entry in executable.sequences],
        "order": list(executable.order),
        "preferences": list(executable.preferences),
        "machine": executable.machine,
        "ideal": None if executable.ideal is None else asdict(executable.ideal),
        "companions": {},
    }
    for name in COMPANIONS:
        if (companion := getattr(executable, name)) is not None:
            inner, more = describe(companion, f"{prefix}{name}.")
            description["companions"][name] = inner
            arrays |= more
    return description, arrays


def restore(description: Mapping[str, Any], arrays: Mapping[str, np.ndarray], prefix: str = "") -> Executable:
    """Inverse of `describe`. Raises KeyError, TypeError or ValueError for what `describe` did not make."""
    names = description["names"]
    tensors = [_tensor(entry, f"{prefix}{i}.", arrays) for i, entry in enumerate(description["tensors"])]
    companions = {
        name: restore(inner, arrays, f"{prefix}{name}.") for name, inner in description["companions"].items()
    }
    read = Executable(
        arrays[f"{prefix}text"].tobytes().decode(),
        tuple(tensors),
        tuple(names[i] for i in arrays[f"{prefix}nodes"].tolist()),
        unread=tuple(description["unread"]),
        may_hold_nan=tuple(description["may_hold_nan"]),
        extents=tuple(RunTimeExtent(**entry) for entry in description["extents"]),
        sequences=read_sequences(description["sequences"]),
        order=tuple(description["order"]),
        preferences=tuple(description["preferences"]),
        machine=named(description["machine"]).name,
        ideal=None if description["ideal"] is None else Ideal(**description["ideal"]),
    )
    return replace(read, **companions)


def _tensor(entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, np.ndarray]) -> HostTensor:
    name, size, address = entry["buffer"]
    buffer = Buffer(name, size, (Memory.DRAM,))
    buffer.memory, buffer.base = Memory.DRAM, address
    segments = tuple((offset, length) for offset, length in entry["segments"])
    index = arrays[f"{prefix}index"]
    image = DramImage(buffer, tuple(entry["shape"]), index, tuple(entry["groups"]), entry["padding"], segments)
    value = arrays[f"{prefix}value"] if entry["has_value"] else None
    return HostTensor(entry["name"], entry["role"], entry["dtype"], image, value)


def describe_report(report: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """A report as the description and the arrays of an entry; its keys keep their order."""
    return {}, {"report": _bytes(json.dumps(report))}


def restore_report(contents: Contents) -> dict[str, Any]:
    """Inverse of `describe_report`."""
    return json.loads(contents.arrays["report"].tobytes())
