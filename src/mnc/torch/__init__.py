"""From PyTorch to ONNX: inference graphs and whole training steps, proven before they are returned.

    import mnc.torch
    step = mnc.torch.export_train_step(module, torch.nn.CrossEntropyLoss(), optimizer, (batch, labels))
    model = mnc.torch.export_inference(module, batch)

Needs the extra ``mnc[torch]``. Nothing here uses ``torch.onnx``: a step is traced into ATen operators and written by
the table in `operators`.
"""

import importlib
import importlib.util
from typing import Any

from mnc.core.diagnostics import CompileError

_PUBLIC = {
    "TrainStep": "mnc.torch.train_step",
    "export_inference": "mnc.torch.inference",
    "export_train_step": "mnc.torch.train_step",
}

__all__ = list(_PUBLIC)  # pyright: ignore[reportUnsupportedDunderAll]


def is_available() -> bool:
    """True if PyTorch is installed; a mere folder called ``torch`` on the search path does not count."""
    found = importlib.util.find_spec("torch")
    return found is not None and found.origin is not None


def __getattr__(name: str) -> Any:
    """Resolve public names on first use; raises CompileError if PyTorch is not installed."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'mnc.torch' has no attribute '{name}'")
    if not is_available():
        hint = "install the extra: pip install 'mnc[torch]'"
        raise CompileError("exporting from PyTorch needs the package torch, which is not installed", hint=hint)
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value
