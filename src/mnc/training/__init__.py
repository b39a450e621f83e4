"""Training: a forward model becomes one compiled program per optimizer step, and a trainer runs it over a data set."""

import importlib
from typing import Any

_PUBLIC = {
    "Dataset": "mnc.training.data",
    "Trainer": "mnc.training.trainer",
    "TrainingStep": "mnc.training.step",
    "load_digits": "mnc.training.data",
    "load_mnist": "mnc.training.data",
    "load_npz": "mnc.training.data",
    "make_model": "mnc.training.models",
    "training_step": "mnc.training.step",
}

__all__ = list(_PUBLIC)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Resolve public names on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'mnc.training' has no attribute '{name}'")
    return getattr(importlib.import_module(_PUBLIC[name]), name)
