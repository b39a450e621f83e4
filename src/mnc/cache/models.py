"""What a model contains, as a digest: of a file with its external data, or of a model in memory."""

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mnc.cache.fingerprints import data_digest, digest, file_digest
from mnc.cache.store import Store

EXTERNAL = "external"
"""Kind of the entries that name the files of external data of a model, so that a hit need not parse the model."""
_MARK = b"location"
"""Every tensor with external data has this key; files without it have none."""

State = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True)
class ModelKey:
    """The digest of a model, how messages call it, and the files it was read from as they were then."""

    digest: str
    file_name: str = ""
    files: State = ()

    def is_current(self) -> bool:
        """Whether the files are still those that the digest is of. A compilation reads them later than the digest."""
        try:
            return self.files == _state([name for name, *_ in self.files])
        except OSError:
            return False


def _state(names: list[str]) -> State:
    found = []
    for name in names:
        state = os.stat(name)
        found.append((name, state.st_ino, state.st_size, state.st_mtime_ns))
    return tuple(found)


def model_key(model: Any, store: Store) -> ModelKey | None:
    """The digest of a path or an ``onnx.ModelProto``; None for what cannot be told apart by its content."""
    if isinstance(model, str | os.PathLike):
        try:
            return _file_key(os.fspath(model), store)
        except (OSError, ValueError, TypeError):  # compiling says what is wrong with the file
            return None
    return _proto_key(model) if hasattr(model, "SerializeToString") and hasattr(model, "graph") else None


def _file_key(path: str, store: Store) -> ModelKey:
    main = _state([path])
    own = file_digest(path)
    names = [str(Path(path).parent / name) for name in _external_names(path, own, store)]
    files = _state([path, *names])
    if files[:1] != main:
        raise OSError(f"{path} changes while it is read")
    return ModelKey(digest("file", own, *(file_digest(name) for name in names)), str(Path(path)), files)


def _external_names(path: str, own: str, store: Store) -> list[str]:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data.find(_MARK) < 0:
            return []
    if (known := store.read(EXTERNAL, own)) is not None:
        return list(known.description["files"])
    import onnx

    try:
        names = sorted(set(_locations(onnx.load(path, load_external_data=False))))
    except Exception as error:  # whatever a file that is no model makes the parser raise
        raise ValueError(f"{path} is no model") from error
    store.write(EXTERNAL, own, {"files": names}, {})
    return names


def _locations(message: Any) -> Iterator[str]:
    """Files that the tensors anywhere in a message refer to."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.name == "TensorProto":
            for tensor in value if field.is_repeated else [value]:
                yield from (entry.value for entry in tensor.external_data if entry.key == "location")
            continue
        for inner in value if field.is_repeated else [value]:
            yield from _locations(inner)


def _proto_key(model: Any) -> ModelKey | None:
    from mnc.lowering.onnx_to_graph.onnx_file import without_weights

    if next(_locations(model), None) is not None:  # files relative to nobody knows what
        return None
    structure, weights = without_weights(model)
    parts = [structure.SerializeToString(deterministic=True)]
    for name, tensor in weights.items():
        parts += [name.encode(), data_digest(tensor.SerializeToString(deterministic=True)).encode()]
    return ModelKey(digest("proto", *parts), "<model>")
