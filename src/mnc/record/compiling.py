"""Compile a model and keep a record of it, in the cache too, beside the program."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mnc.cache.store import open_store
from mnc.cached_compilation import compile
from mnc.core.explanation import explaining
from mnc.core.garbage import no_collection
from mnc.core.recording import Recording, recording
from mnc.decision_trace import decisions_of
from mnc.executable import Executable
from mnc.options import Options
from mnc.record.storage import PackedRecord, pack

KIND = "record"
"""Of entries of the cache."""


@no_collection()
def compile_recorded(
    model: Any, options: Options, *, complete: bool = False, traced: Callable[[dict[str, Any]], None] | None = None
) -> tuple[Executable, PackedRecord | None]:
    """The program of a model and its record; None where the program came from the cache without one.

    Addresses and loop nests of long programs take time and memory to keep: they are kept where the record is to be
    `complete`, and then there is one always. `traced` is given every decision about layouts, see `decision_trace`; then
    a program that is in the cache is compiled anew. Raises what `compile` raises.
    """
    give = traced or (lambda _: None)
    executable, kept = _recorded(model, options, complete, compile, traced is not None)
    if kept.outcome.passes:
        give(decisions_of(kept))
        return executable, _made(executable, kept, model, complete)
    found = _find(executable.cache_key)
    if traced is None and (not complete or (found is not None and found.complete)):
        return executable, found
    from mnc.compiler import compile as compile_anew

    anew, kept = _recorded(model, options, complete, compile_anew, traced is not None)
    give(decisions_of(kept))
    # The same program: only what was noted on the way is wanted.
    return executable, _made(anew, kept, model, complete, executable.cache_key)


def _recorded(
    model: Any, options: Options, complete: bool, how: Any, is_traced: bool
) -> tuple[Executable, Recording]:
    with explaining() as explanation:

        def recorder() -> Any:
            from mnc.record.recorder import Recorder

            return Recorder(explanation, complete=complete)

        with recording(recorder, is_traced=is_traced) as kept:
            return how(model, options), kept


def _made(executable: Executable, kept: Recording, model: Any, complete: bool, key: str = "") -> PackedRecord:
    from mnc.record.make import make_record

    record = pack(make_record(executable, kept, _graph(model), _title(model)), complete)
    store, key = open_store(), key or executable.cache_key
    if store is not None and key:
        store.write(KIND, key, {"complete": complete}, {KIND: np.frombuffer(record.content, np.uint8)})
    return record


def _find(key: str) -> PackedRecord | None:
    store = open_store() if key else None
    contents = store.read(KIND, key) if store is not None else None
    if contents is None:
        return None
    return PackedRecord(contents.arrays[KIND].tobytes(), bool(contents.description.get("complete")))


def _title(model: Any) -> str:
    return Path(model).name if isinstance(model, str | Path) else model.graph.name or "model"


def _graph(model: Any) -> Any:
    if not isinstance(model, str | Path):
        return model
    import onnx

    return onnx.load(str(model), load_external_data=False)
