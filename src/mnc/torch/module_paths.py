"""Which module of the user's network a traced call comes from."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx
from torch.fx import traceback

_KEY = "module"
_FORWARD_OF = {"aten.threshold_backward.default": "aten.relu.default"}
"""Backward operators that are not called after their forward operator."""


@contextlib.contextmanager
def recorded_paths(module: torch.nn.Module) -> Iterator[None]:
    """Within the context, traced calls note the path and class of the module whose forward method runs."""
    handles: list[Any] = []
    open_contexts: list[Any] = []

    def enter(path: str, kind: str) -> Any:
        def hook(*_: Any) -> None:
            context = traceback.annotate({_KEY: (path, kind)})
            context.__enter__()
            open_contexts.append(context)

        return hook

    def leave(*_: Any) -> None:
        open_contexts.pop().__exit__(None, None, None)

    for path, part in module.named_modules():
        handles.append(part.register_forward_pre_hook(enter(path, type(part).__name__)))
        handles.append(part.register_forward_hook(leave, always_call=True))
    try:
        with traceback.preserve_node_meta():
            yield
    finally:
        for handle in handles:
            handle.remove()


def inside(path: str, kind: str) -> Any:
    """Context in which traced calls belong to something that is no part of the module, such as the loss."""
    return traceback.annotate({_KEY: (path, kind)})


def path_of(node: fx.Node) -> tuple[str, str] | None:
    """Path and class of the module that `node` belongs to; the root has an empty path."""
    return node.meta.get("custom", {}).get(_KEY)


def is_backward(node: fx.Node) -> bool:
    """True for a call of the backward part."""
    return bool(node.meta.get("custom", {}).get("backward"))


def described(node: fx.Node) -> str:
    """Suffix of a message: `` in module 'features.0' (Conv2d)``; empty when the module is unknown."""
    found = path_of(node)
    if found is None:
        return ""
    place = f"module '{found[0]}' ({found[1]})" if found[0] else f"the forward method of {found[1]}"
    return f", in the backward part of {place}" if is_backward(node) else f", in {place}"


def _twin(node: fx.Node) -> fx.Node | None:
    """The forward call that shares an operand with a backward call, of the same operator if there is one."""
    siblings = [user for operand in node.all_input_nodes for user in (operand, *operand.users)]
    known = [user for user in siblings if path_of(user) and user is not node and not is_backward(user)]
    forward = _FORWARD_OF.get(str(node.target), str(node.target))
    same = [user for user in known if forward.startswith(str(user.target).split(".default")[0])]
    return (same or known[-1:] or [None])[0]


def spread_to_backward(graph: fx.Graph) -> None:
    """Give calls without a module the one of the forward call they belong to, else that of an operand."""
    for node in graph.nodes:
        if node.op != "call_function" or path_of(node):
            continue
        twin = _twin(node)
        inherited = [path for path in map(path_of, node.all_input_nodes) if path]
        path = path_of(twin) if twin is not None else (inherited or [None])[0]
        if path is not None:
            node.meta["custom"] = {**node.meta.get("custom", {}), _KEY: path, "backward": True}
