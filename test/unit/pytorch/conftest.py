"""One thread for torch: its pool fights with the other test workers for the same cores."""

import importlib.util

_found = importlib.util.find_spec("torch")
if _found is not None and _found.origin is not None:
    import torch

    torch.set_num_threads(1)
