"""What the compiler asks prices for: recorded while layouts of the light models of the `onnx` package are chosen."""

import sys
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from price_samples import Sample, from_models

from mnc.compiler import import_model
from mnc.core.context import make_context
from mnc.mncore_backend.placement.candidates import contraction
from mnc.options import Options
from mnc.stages import Pipeline, stage_pipeline

sys.path.append(str(Path(__file__).parents[1]))
from benchmarks.models import build

MODELS = ("squeezenet", "shufflenet", "resnet50", "inception_v1", "densenet121", "resnet18")
POLICIES = ((), ("tensor-parallel",), ("cyclic",))
DECISION = "assign-layouts"

_TRANSLATED: dict[str, tuple[str, Callable[..., Any]]] = {
    "relayout_steps": ("relayout", lambda source, target: (source, target)),
    "_tiling_steps": (
        "tiling",
        lambda extents, operand, plan: (
            tuple(extents),
            operand.windows,
            operand.layout,
            tuple(plan.digits.get(d, ()) for d in range(len(extents))),
        ),
    ),
    "reduce_steps": ("reduction", lambda result, partial, **_: (result, tuple(partial))),
    "arrival_steps": ("arrival", lambda layout: layout),
}
"""Functions of `candidates.contraction` that ask for a price -> kind, and what of the arguments is kept."""


def recorded(models: Collection[str] = MODELS) -> dict[str, dict[str, list[Sample]]]:
    """Samples by kind and model."""
    found: dict[str, dict[str, list[Sample]]] = {}
    for model in models:
        asked: dict[str, set[Any]] = {kind: set() for kind, _ in _TRANSLATED.values()}
        with ExitStack() as stack:
            for name, (kind, keep) in _TRANSLATED.items():
                stack.enter_context(patch.object(contraction, name, _listening(name, keep, asked[kind])))
            for policy in POLICIES:
                _choose_layouts(model, Options(prefer=policy))
        for kind, arguments in asked.items():
            samples = [from_models(kind, own, model) for own in sorted(arguments, key=str)]
            found.setdefault(kind, {})[model] = [sample for sample in samples if sample is not None]
    found["store"] = {
        model: [Sample("store", own.source, origin=own.origin) for own in samples]
        for model, samples in found["arrival"].items()
    }
    return found


def _listening(name: str, keep: Callable[..., Any], asked: set[Any]) -> Callable[..., Any]:
    answer = getattr(contraction, name)

    def listen(*arguments: Any, **options: Any) -> Any:
        asked.add(keep(*arguments, **options))
        return answer(*arguments, **options)

    return listen


def _choose_layouts(model: str, options: Options) -> None:
    module = import_model(build(model), make_context())
    for stage in ("graph", "linalg"):
        stage_pipeline(stage, options).run(module)
    entries = stage_pipeline("spmd", options).entries
    Pipeline(tuple(entries[: [entry.name for entry in entries].index(DECISION) + 1])).run(module)
