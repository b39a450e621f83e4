"""compile(model, options) with the cache on disk in front of it: a program that was made before is read, not made.

A hit imports neither MLIR nor onnx. Whatever concerns the cache may fail - no directory, a full disk, a damaged entry -
without failing a compilation; errors of models are never kept, they are found anew with their own file names.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mnc.arguments import TorchModule, read_model, read_pipeline
from mnc.cache import fingerprints, programs
from mnc.cache.models import ModelKey, model_key
from mnc.cache.store import Store, open_store
from mnc.core.garbage import no_collection
from mnc.core.given_shapes import read_shapes
from mnc.executable import Executable
from mnc.options import Options
from mnc.origin import Origin

if TYPE_CHECKING:
    import onnx

    from mnc.core.pipeline import Pipeline

PROGRAM, REPORT = "program", "report"
"""Kinds of entries."""


@no_collection()
def compile(
    model: "str | os.PathLike[str] | onnx.ModelProto | TorchModule",
    options: Options | Mapping[str, Any] | None = None,
    *,
    pipeline: "Pipeline | str | None" = None,
    shapes: Mapping[str, Any] | None = None,
    sample: Any = None,
) -> Executable:
    """Compile a model, or take the program from the cache when the same compiler made it before from the same content
    with the same options.

    Args:
        model: path of an ONNX file, an ``onnx.ModelProto``, or a ``torch.nn.Module``, which is exported for inference.
        options: `Options`, or a mapping such as ``{"precision": "single"}``.
        pipeline: passes to run instead of the default ones: an edited `default_pipeline`, or the text that
            ``mnc-opt --pass-pipeline`` takes; such programs are not kept.
        shapes: shapes of inputs whose dimensions the model leaves open; adds to those of the options.
        sample: input of a torch module, or a tuple of inputs; its shapes are those of the program.

    Raises:
        CompileError: the model cannot be compiled; names node, reason and a hint.
    """
    chosen = Options.of(options)
    if shapes is not None:
        chosen = replace(chosen, shapes={**chosen.shapes, **read_shapes(shapes)})
    passes, source = read_pipeline(pipeline), read_model(model, sample)
    return replace(_compiled(source, chosen, passes), origin=Origin(source, chosen, passes))


def _compiled(model: Any, options: Options, pipeline: "Pipeline | None") -> Executable:
    def make() -> Executable:
        from mnc.compiler import compile as compile_anew

        return compile_anew(model, options, pipeline=pipeline)

    store = open_store()
    if store is None or pipeline is not None or options.dump_dir is not None:
        return make()
    named = model_key(model, store)
    if named is None:
        return make()
    options_key = fingerprints.options_text(options, {})
    return _through(store, fingerprints.digest(PROGRAM, named.digest, options_key), named, make)


@no_collection()
def compile_module(module: Any, options: Options) -> Executable:
    """Run the stages on a module in the graph dialect, which may be changed, and make its program; or take it from the
    cache. Raises CompileError."""

    def make() -> Executable:
        from mnc.compiler import in_order, order_of, run_stages, to_executable

        order = order_of(module)
        run_stages(module, options)
        return in_order(to_executable(module), order)

    store = open_store()
    if store is None or options.dump_dir is not None:
        return make()
    named = ModelKey(fingerprints.module_digest(module))
    options_key = fingerprints.options_text(options, {})
    return _through(store, fingerprints.digest("module", named.digest, options_key), named, make)


def _through(store: Store, content: str, named: ModelKey, make: Callable[[], Executable]) -> Executable:
    key = fingerprints.digest(fingerprints.compiler_version(), content)
    if (found := _find(store, key, named)) is not None:
        return found
    from mnc.cache.prices import remembered_prices

    # Recorded and given again below, so that a hit can give them, too.
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            with remembered_prices(store):
                made = make()
        except BaseException:
            _repeat([str(warning.message) for warning in given])
            raise
    messages = [str(warning.message) for warning in given]
    _repeat(messages)
    description, arrays = programs.describe(made)
    kept = {"program": description, "warnings": messages, "file_name": named.file_name}
    if named.is_current() and store.write(PROGRAM, key, kept, arrays):
        return replace(made, cache_key=key)
    return made


def _find(store: Store, key: str, named: ModelKey) -> Executable | None:
    contents = store.read(PROGRAM, key)
    if contents is None:
        return None
    try:
        found = programs.restore(contents.description["program"], contents.arrays)
        messages, recorded = contents.description["warnings"], contents.description["file_name"]
        _repeat([_renamed(message, recorded, named.file_name) for message in messages])
    except (KeyError, TypeError, ValueError):
        store.remove(PROGRAM, key)
        return None
    return replace(found, cache_key=key)


def _repeat(messages: list[str]) -> None:
    for message in messages:
        warnings.warn(message, stacklevel=4)


def _renamed(message: str, recorded: str, now: str) -> str:
    """A message about a model, as it reads for the same model in another file."""
    return now + message.removeprefix(recorded) if recorded and message.startswith(recorded) else message


@no_collection()
def report_of(executable: Executable) -> dict[str, Any]:
    """`mnc.report.report`, from the cache where the program came from there or went there."""
    from mnc.report import report

    store = open_store() if executable.cache_key else None
    if store is None:
        return report(executable)
    if (contents := store.read(REPORT, executable.cache_key)) is not None:
        return programs.restore_report(contents)
    made = report(executable)
    store.write(REPORT, executable.cache_key, *programs.describe_report(made))
    return made


__all__ = ["compile", "compile_module", "report_of"]
