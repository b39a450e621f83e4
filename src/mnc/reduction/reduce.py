"""The search: nodes are left out in ever smaller groups, then extents shrink, until nothing more can go."""

import time
from dataclasses import dataclass

import onnx

from mnc.core import events
from mnc.core.diagnostics import CompileError
from mnc.reduction.conditions import Condition, Seen
from mnc.reduction.cutting import part
from mnc.reduction.shapes import extents, smaller, with_extent


@dataclass
class Reduced:
    """The smallest model that was found, what it shows, and how many were tried."""

    model: onnx.ModelProto
    seen: Seen
    tries: int = 0
    complete: bool = True


class _Search:
    def __init__(self, best: Reduced, condition: Condition, seconds: float) -> None:
        self.best = best
        self._condition = condition
        self._end = time.monotonic() + seconds
        self._known: set[bytes] = set()

    def accepts(self, model: onnx.ModelProto | None) -> bool:
        """Whether a smaller model still shows the same, which makes it the best one."""
        if model is None or time.monotonic() > self._end:
            self.best.complete = self.best.complete and model is None
            return False
        text = model.SerializeToString(deterministic=True)
        if text in self._known:
            return False
        self._known.add(text)
        self.best.tries += 1
        with events.span("case", f"try {self.best.tries}, {_size(self.best.model)}"):
            seen = self._condition(model)
        if seen is None or seen.key != self.best.seen.key:
            return False
        self.best.model, self.best.seen = model, seen
        return True

    def fewer_nodes(self) -> bool:
        """Leave out groups of nodes, halves first; whether any could go."""
        changed = False
        size = len(self.best.model.graph.node)
        while size >= 1:
            start = 0
            while start < len(self.best.model.graph.node):
                count = len(self.best.model.graph.node)
                kept = [i for i in range(count) if not start <= i < start + size]
                if kept and self.accepts(part(self.best.model, kept)):
                    changed = True
                else:
                    start += size
            size = min(size, len(self.best.model.graph.node)) // 2
        return changed

    def smaller_shapes(self) -> bool:
        """Replace extents by smaller ones, everywhere or in one input; whether any shrank."""
        changed = False
        for old in extents(self.best.model):
            names = [None, *(value.name for value in self.best.model.graph.input)]
            for only in names:
                for new in smaller(old):
                    if self.accepts(with_extent(self.best.model, old, new, only)):
                        changed = True
                        break
        return changed


def _size(model: onnx.ModelProto) -> str:
    return f"{len(model.graph.node)} nodes, largest extent {max(extents(model), default=1)}"


def reduce_model(
    model: onnx.ModelProto, condition: Condition, seconds: float = 600
) -> Reduced:
    """The smallest part of a model, with the smallest extents, that still shows what the whole model does.

    Raises:
        CompileError: the model itself does not show it.
    """
    with events.span("case", f"the whole model, {_size(model)}"):
        seen = condition(model)
    if seen is None:
        hint = "mnc check MODEL shows wrong answers, mnc supports MODEL refusals, mnc compile MODEL crashes and cycles"
        raise CompileError("the model does not show what --when names", hint=hint)
    search = _Search(Reduced(model, seen, 1), condition, seconds)
    changed = True
    while changed:
        fewer = search.fewer_nodes()
        changed = search.smaller_shapes() or fewer
    return search.best
