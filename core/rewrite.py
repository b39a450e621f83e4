"""Patterns that separate *match*, *refuse with a reason* and *rewrite*.

A pattern returns None where it has nothing to do, `refuse("why")` where it nearly applies, and
anything else where it applies; that value is handed to `rewrite`. Reasons are collected while
`explaining()` is active; ``mnc-opt --explain`` prints them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.bindings import rewrite as drivers
from mnc.core.explanation import explain


@dataclass(frozen=True)
class Refusal:
    """Why a pattern that nearly matched left the operation alone."""

    reason: str


def refuse(reason: str) -> Refusal:
    """Decline a near match; `reason` is a short clause such as ``the reshape has two uses``."""
    return Refusal(reason)


class Pattern:
    """One rewrite rule. The docstring states the equation; `root` is the operation it starts from.

    Patterns are plain objects: what they need to know is given to their constructor.
    """

    root: ClassVar[str] = ""
    benefit: ClassVar[int] = 1

    def match(self, op: Any) -> Any:
        """None: nothing to do; a `Refusal`: nearly; anything else goes to `rewrite`."""
        raise NotImplementedError

    def rewrite(self, op: Any, match: Any, rewriter: drivers.PatternRewriter) -> None:
        """Replace `op` with ``rewriter.replace_op`` (insertion point and location are set)."""
        raise NotImplementedError

    def __call__(self, op: Any, rewriter: drivers.PatternRewriter) -> bool:
        """Driver callback: a falsy result means that the pattern was applied."""
        match = self.match(op)
        if match is None:
            return True
        if isinstance(match, Refusal):
            explain(type(self).__name__, op.operation, match.reason)
            return True
        with rewriter.ip, op.location:
            self.rewrite(op, match, rewriter)
        return False


def _frozen(patterns: Sequence[Pattern]) -> drivers.FrozenRewritePatternSet:
    pattern_set = drivers.RewritePatternSet()
    for pattern in patterns:
        pattern_set.add(pattern.root, pattern, pattern.benefit)
    return pattern_set.freeze()


_SWEEPS = 100  # a slice moves past one operation per sweep, and chains are longer than the default of ten


def apply_greedily(module: ir.Module, patterns: Sequence[Pattern]) -> None:
    """Apply `patterns` until none matches; folds and removes dead operations on the way.

    Operations created or looked up before are dangling afterwards: look them up again.
    """
    config = drivers.GreedyRewriteConfig()
    config.max_iterations = _SWEEPS
    with module.context:
        drivers.apply_patterns_and_fold_greedily(module, _frozen(patterns), config)


def attributes_of(op: Any) -> dict[str, ir.Attribute]:
    """Attributes of an operation by name, for building a changed copy."""
    attributes = op.operation.attributes
    names = [entry if isinstance(entry, str) else entry.name for entry in attributes]
    return {name: attributes[name] for name in names}


def location_of_all(*ops: Any) -> ir.Location:
    """Where several operations come from: for one that does the work of all of them, so that each keeps its name."""
    return ir.Location.fused([op.operation.location for op in ops])
