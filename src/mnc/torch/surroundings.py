"""In what surroundings an export runs: those of the caller change nothing about it."""

import contextlib
import sys
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def own_surroundings() -> Iterator[None]:
    """Within the block gradients can be taken, tensors are made on the CPU, and functions that are compiled by
    ``torch.compile`` run as they are written."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.autograd.set_detect_anomaly(False))  # which looks at values
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        if "torch._dynamo" in sys.modules:  # or nothing is compiled
            import torch._dynamo.config as dynamo  # costs nothing then

            stack.enter_context(torch.compiler.set_stance("force_eager"))
            stack.enter_context(dynamo.patch(error_on_nested_fx_trace=False))  # pyright: ignore[reportAttributeAccessIssue]
        yield


def uncompiled(module: torch.nn.Module) -> torch.nn.Module:
    """The module that was given to ``torch.compile``, or the module itself."""
    while isinstance(inner := getattr(module, "_orig_mod", None), torch.nn.Module):
        module = inner
    return module


__all__ = ["own_surroundings", "uncompiled"]
