"""From a Python function over tensors to a graph of primitive ATen calls."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from traceback import extract_tb
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.distributions import Distribution
from torch.func import functionalize
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.modules import transformer

from mnc.core.diagnostics import CompileError
from mnc.torch import strides
from mnc.torch.checkpoints import no_checkpoints
from mnc.torch.decompositions import decompositions, loss, normalization
from mnc.torch.graph_edits import calls, replace
from mnc.torch.module_paths import recorded_paths, spread_to_backward
from mnc.torch.operators import operator_name
from mnc.torch.other_functions import OtherFunctions
from mnc.torch.own_functions import own_functions
from mnc.torch.second_round import Lowering

_aten = torch.ops.aten
OPEN_LENGTHS = "open lengths"
"""In the metadata of a captured graph: whether it packs sequences whose lengths are inputs."""


def _zeros(size: Sequence[int], **options: Any) -> torch.Tensor:
    """Zeros that forward differentiation knows to be zeros; torch takes those to another device where it adds them."""
    return _aten.zeros.default(size, **options)


_FIRST = {_aten._efficientzerotensor.default: _zeros}
"""What is taken apart in the first round already."""


def capture(
    function: Callable[..., Any], arguments: Sequence[torch.Tensor], module: torch.nn.Module, *, training: bool
) -> fx.GraphModule:
    """Trace ``function(*arguments)``, which returns a list of tensors, into calls that the operator table knows.

    Two rounds: the first records what torch runs, with the module each call comes from; then pairs of calls that
    belong together are joined; the second takes composite calls apart.

    Raises:
        CompileError: the function looks at values of tensors while it runs, or uses what cannot be traced.
    """
    with recorded_paths(module), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        traced = _traced(functionalize(function), arguments, _FIRST)
    spread_to_backward(traced.graph)
    for node in calls(traced.graph, _aten._linalg_check_errors.default):
        traced.graph.erase_node(node)  # no graph tells that a matrix is singular
    traced.graph.eliminate_dead_code()
    _join_cross_entropy(traced.graph)
    _return_statistics(traced.graph)
    _return_moments(traced.graph)
    _drop_mask_guards(traced.graph)
    strides.number(traced.graph)
    traced.recompile()
    with traceback.preserve_node_meta():
        # Calls that torch itself takes apart in this round may change tensors in place, as cosine_similarity does.
        lowered = _traced(functionalize(Lowering(traced).run), arguments, decompositions(training))
    lowered.graph.eliminate_dead_code()
    lowered.meta[OPEN_LENGTHS] = traced.meta[OPEN_LENGTHS]
    return lowered


_READS = "forward must not branch on values of tensors, nor call item() or numpy()"
_BY_VALUE = ("it depends on the value of a tensor", _READS)
_REMEDIES = {
    "backward() called": ("it calls backward()", "take gradients by torch.autograd.grad, or by torch.func"),
    "data-dependent": _BY_VALUE,
    "doesn't have storage": ("it takes the data out of a tensor", _READS),
    "got Tensor": ("it takes a size or a number from a tensor", _READS),
    "mutate a captured Tensor": (
        "it changes a parameter, or another tensor that it did not make, in place",
        "register what a step changes as a buffer, which forward may write",
    ),
    "requires_grad_()": ("it calls requires_grad_() within a transform of torch.func", "take gradients by torch.func"),
    "saved tensor hooks": ("it uses hooks on saved tensors", "leave torch.autograd.graph out"),
}
"""Part of a message of torch -> what it means here, and a hint."""


def _untraceable(error: Exception) -> CompileError:
    """What to tell of an error of torch in a trace, with the line of the user's code."""
    text = next(iter(str(error).strip().splitlines()), type(error).__name__)
    if isinstance(error, DataDependentOutputException | DynamicOutputShapeException):
        reason, hint = f"{_BY_VALUE[0]}, in {text}", _READS
    else:
        found = (value for phrase, value in _REMEDIES.items() if phrase in text)
        reason, hint = next(found, (text, "torch raises this in a trace, where tensors have shapes but no values"))
    frames = [
        (os.path.normpath(frame.filename).split(os.sep), frame.lineno) for frame in extract_tb(error.__traceback__)
    ]
    own = [(path[-1], line) for path, line in frames if not {"torch", "mnc", "<string>"} & set(path)]
    place = f" ({own[-1][0]}:{own[-1][1]})" if own else ""
    return CompileError(f"the module cannot be traced: {reason}{place}", hint=hint)


@contextmanager
def _traceable_torch() -> Iterator[None]:
    """Within the block torch takes no way that cannot be traced."""
    fastpath, onednn = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    detect, validates = transformer._detect_is_causal_mask, Distribution._validate_args
    torch.backends.mha.set_fastpath_enabled(False)  # its fused operators have no definition
    torch._C._set_mkldnn_enabled(False)  # nor has its LSTM
    transformer._detect_is_causal_mask = _is_said_to_be_causal
    Distribution.set_default_validate_args(False)  # looks at values
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fastpath)
        torch._C._set_mkldnn_enabled(onednn)
        transformer._detect_is_causal_mask = detect
        Distribution.set_default_validate_args(validates)


def _is_said_to_be_causal(mask: torch.Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether a mask is causal, without a look at its values: torch would compare them in order to use a faster kernel
    where they are, and applies the mask otherwise."""
    del mask, size
    return is_causal is True


def _traced(function: Callable[..., Any], arguments: Sequence[torch.Tensor], table: dict[Any, Any]) -> fx.GraphModule:
    tracer = make_fx(function, decomposition_table=table, tracing_mode="fake", _allow_non_fake_inputs=True)
    try:
        with _traceable_torch(), own_functions(), no_checkpoints(), OtherFunctions() as others:
            graph = tracer(*arguments)
            graph.meta[OPEN_LENGTHS] = others.sequences.has_open_lengths
            return graph
    except CompileError:
        raise
    except (RuntimeError, ValueError, TypeError, NotImplementedError, AssertionError) as error:
        raise _untraceable(error) from error


def _join_cross_entropy(graph: fx.Graph) -> None:
    """log-softmax backward of NLL backward -> one call without the sum over classes."""
    nll = (_aten.nll_loss_backward.default, _aten.nll_loss2d_backward.default)
    for node in calls(graph, _aten._log_softmax_backward_data.default):
        inner, logs, axis = node.args[:3]
        if not (isinstance(inner, fx.Node) and inner.target in nll and isinstance(logs, fx.Node)):
            continue
        if inner.args[1] is logs and axis == 1 and logs.meta["val"].dim() > 1 and len(inner.users) == 1:
            replace(node, loss.cross_entropy_backward, inner.args)
            graph.erase_node(inner)


def _return_statistics(graph: fx.Graph) -> None:
    """native_batch_norm writes its running statistics -> a function that returns the new ones, used from there on."""
    for node in calls(graph, _aten.native_batch_norm.default):
        statistics = node.args[3:5]
        order = {user: i for i, user in enumerate(graph.nodes)}
        new = replace(node, normalization.batch_norm, node.args)
        for index, old in enumerate(statistics, 3):
            if not isinstance(old, fx.Node) or not node.args[5]:
                continue
            with graph.inserting_after(new):
                updated = graph.call_function(_item, (new, index))
            for user in list(old.users):
                if order.get(user, -1) > order[node]:
                    user.replace_input_with(old, updated)


def _return_moments(graph: fx.Graph) -> None:
    """native_layer_norm, which inference keeps whole -> a function that returns mean and deviation, where a gradient
    that the module computes reads them."""
    for node in calls(graph, _aten.native_layer_norm.default):
        if any(user.args[1] != 0 for user in node.users):
            replace(node, normalization.native_layer_norm, node.args)


_KEEP_FINITE = ("mul", "div", "view", "_unsafe_view", "expand", "transpose", "permute", "clone")


def _drop_mask_guards(graph: fx.Graph) -> None:
    """Attention guards its soft-max against rows that are masked entirely: not needed straight behind a product."""
    for node in calls(graph, _aten._safe_softmax.default):
        source: Any = node.args[0]
        while isinstance(source, fx.Node) and operator_name(source) in _KEEP_FINITE:
            source = source.args[0]
        if isinstance(source, fx.Node) and operator_name(source) in ("bmm", "mm"):
            replace(node, _aten._softmax.default, (node.args[0], node.args[1], False))


def _item(values: Sequence[Any], index: int) -> Any:
    return values[index]
