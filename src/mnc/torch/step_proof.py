"""An exported step against torch, step by step, on disturbed parameters and random data.

In every step the graph starts from the state that torch is in, so both must give the same from the same, and nothing is
kept from one step to the next but torch's own module: large networks would not fit otherwise.
"""

import contextlib
import ctypes
import gc
from collections.abc import Iterator, Sequence

import numpy as np
import onnx
import torch

from mnc.core.garbage import only_new_garbage
from mnc.torch import proof as proving
from mnc.torch.capture import OPEN_LENGTHS
from mnc.torch.proof import Deviation, Proof, Runner
from mnc.torch.reference import Arrays
from mnc.torch.step_trace import StepTrace

STEPS = 3
_DRAWS = 3

Batch = tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]


def prove(traced: StepTrace, model: onnx.ModelProto, exact: onnx.ModelProto) -> Proof:
    """Both forms of the graph against torch.

    In single precision a ReLU or a maximum whose inputs are nearly equal may decide otherwise than torch, which moves
    single gradients by more than rounding: only what deviates with every draw of data is a mistake.

    Args:
        model: the graph that is returned.
        exact: the same in double precision, with all gradients as outputs.

    Raises:
        CompileError, InternalError: the graph disagrees with torch; as `proof.require`.
    """
    is_open = traced.traced.graph.meta[OPEN_LENGTHS]
    with one_thread(), only_new_garbage():
        double = _double(traced, exact)
        proving.require(double, "double", is_open)
        single: list[Deviation] = []
        for seed in range(_DRAWS):
            single = _single(traced, seed, model)
            if all(deviation.passed for deviation in single):
                break
        proving.require(single, "single", is_open)
    return Proof(tuple(double), tuple(single))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Within the context torch uses one thread. Steps of a small batch are thousands of short operations, between
    which further threads wait by spinning: 57 s of CPU time instead of 17 for ResNet-18 on a machine that is in use."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _return_memory() -> None:
    """Give back what was freed: the C library keeps it in pieces, a third of all memory here, unless it is asked."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim:
        trim(0)


def _double(traced: StepTrace, model: onnx.ModelProto) -> list[Deviation]:
    """The graph in double precision, until it deviates.

    Gradients are compared with torch's, then torch updates with the graph's: what is allowed of a gradient is no bound
    of what becomes of it. Adam divides by ``sqrt(v) + eps``, so an error of d in a gradient near 0 moves a parameter by
    up to ``lr * d / eps``, 10**8 times as much.
    """
    exact, runner = _Side(traced, torch.float64, seed=0), Runner(model)
    found: list[Deviation] = []
    for step, batch in enumerate(_batches(traced, seed=0)):
        results = exact.graph(runner, batch)
        true = exact.differentiate(batch)
        bound = proving.MIXED_BOUND if exact.reference.mixes_precision else proving.DOUBLE_BOUND
        gradients = {name: results.pop(name) for name in true if name in results}
        found += proving.compare_double(true, gradients, step, bound)
        updated = exact.update(gradients)
        found += proving.compare_double(updated, results, step, bound)
        del true, gradients, updated, results
        exact.forget()
        if not all(deviation.passed for deviation in found):
            break
    return found


def _single(traced: StepTrace, seed: int, model: onnx.ModelProto) -> list[Deviation]:
    """The graph that is returned, until it deviates."""
    exact, single = (_Side(traced, dtype, seed) for dtype in (torch.float64, torch.float32))
    runner = Runner(model)
    found: list[Deviation] = []
    for step, batch in enumerate(_batches(traced, seed)):
        results = single.graph(runner, batch)
        true = {**exact.differentiate(batch), **exact.update()}
        own = {**single.differentiate(batch), **single.update()}
        found += proving.compare_single(true, own, results, step)
        del true, own, results
        exact.forget()
        single.forget()
        if not all(deviation.passed for deviation in found):
            break
    return found


def _batches(traced: StepTrace, seed: int) -> Iterator[Batch]:
    generator = torch.Generator().manual_seed(seed)
    yield traced.sample_data, traced.sample_labels  # what the user knows to be valid
    for _ in range(STEPS - 1):
        yield traced.drawn(generator)


class _Side:
    """The module in torch in one precision, and the graph that follows it."""

    def __init__(self, traced: StepTrace, dtype: torch.dtype, seed: int) -> None:
        _return_memory()
        self._traced = traced
        self.reference = traced.reference.copied(torch.float32)
        self.reference.disturb(torch.Generator().manual_seed(seed))
        if not self.reference.gives_a_number(traced.sample_data, traced.sample_labels):
            self.reference = traced.reference.copied(torch.float32)
        self.reference.convert(dtype)

    def graph(self, runner: Runner, batch: Batch) -> Arrays:
        """What the graph makes of the state that torch is in; nothing of it is torch's memory."""
        first = self._traced.initial  # has the state that torch makes in its first step only
        state = {name: value for name, value in self.reference.values().items() if name in first}
        given = [value.detach().cpu().numpy() for values in batch for value in values]
        feeds = dict(zip((*self._traced.data, *self._traced.labels), given, strict=True))
        results = runner.run({**first, **state, **feeds})
        _return_memory()
        theirs = [*state.values(), *given]
        return {
            name: value.copy() if any(np.may_share_memory(value, other) for other in theirs) else value
            for name, value in results.items()
        }

    def differentiate(self, batch: Batch) -> Arrays:
        """The loss and the gradients that the graph should give."""
        return self.reference.differentiate(*batch, self._traced.loss)

    def update(self, found: Arrays | None = None) -> Arrays:
        """What the graph should make of parameters and state with the gradients in `found`, or torch's own."""
        self.reference.update(found)
        after = self.reference.values()
        return {out: after[name] for name, out in self._traced.updates.items()}

    def forget(self) -> None:
        """Free the gradients."""
        self.reference.forget()
        _return_memory()
