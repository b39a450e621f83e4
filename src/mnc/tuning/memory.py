"""Trials in the cache on disk, so that no search tries what an earlier one tried."""

from dataclasses import asdict
from typing import Any

from mnc.cache import fingerprints
from mnc.cache.models import model_key
from mnc.cache.store import open_store
from mnc.options import Options
from mnc.tuning.search import Keep, Look
from mnc.tuning.trial import Trial

KIND = "trial"
"""Of entries of the cache."""


def remembered(model: Any) -> tuple[Look, Keep]:
    """Functions that find and keep trials of a model; both do nothing where there is no cache."""
    store = open_store()
    named = None if store is None else model_key(model, store)
    if store is None or named is None:
        return lambda _: None, lambda *_: None

    def key(options: Options) -> str:
        text = fingerprints.options_text(options, {})
        return fingerprints.digest(fingerprints.compiler_version(), KIND, named.digest, text)

    def look(options: Options) -> Trial | None:
        contents = store.read(KIND, key(options))
        return None if contents is None else _restored(contents.description)

    def keep(options: Options, trial: Trial) -> None:
        space = None if trial.space is None else [[*key, list(found)] for key, found in trial.space.items()]
        store.write(KIND, key(options), {**asdict(trial), "space": space}, {})

    return look, keep


def _restored(plain: Any) -> Trial | None:
    try:
        found = plain["space"]
        space = None if found is None else {(kind, node): tuple(names) for kind, node, names in found}
        return Trial(plain["cycles"], plain["steps"], tuple(plain["preferences"]), space, plain["error"])
    except (KeyError, TypeError, ValueError):
        return None
