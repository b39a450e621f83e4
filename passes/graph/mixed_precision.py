"""The pass `mixed-precision`."""

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Literal

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError, node_name
from mnc.core.explanation import explain
from mnc.core.pass_base import Pass, at_least
from mnc.dialects.graph.contraction import PRECISION
from mnc.mncore_backend.target import PRECISIONS
from mnc.passes.graph.classify_fusion import graph_operations
from mnc.passes.graph.matching import shape_of

CONTRACTIONS = ("graph.matmul", "graph.gemm", "graph.conv", "graph.conv_transpose")


@dataclass(frozen=True)
class MixedPrecision(Pass):
    """Choose the precision of every contraction by name, size or default.

    before: ``graph.matmul(%x, %w)``; after: ``graph.matmul(%x, %w) {mnc.precision = "single"}``

    In this order: an attribute that is there stays; the first of ``rules``, such as ``head*:single``,
    whose pattern matches the ONNX node name; single for at most ``single-up-to`` multiply-adds, which
    cost little; ``default``, where none leaves the choice to `assign-layouts`.
    """

    name: ClassVar[str] = "mixed-precision"
    default: Literal["none", "single", "pseudo-single", "half"] = "none"
    rules: tuple[str, ...] = ()
    single_up_to: int = at_least(0, 0)

    def run(self, module: ir.Module) -> None:
        """Raises CompileError for a rule that is not ``pattern:precision``."""
        rules = [_rule(text) for text in self.rules]
        with module.context:
            for operation in (o for operations in graph_operations(module) for o in operations):
                if operation.name not in CONTRACTIONS:
                    continue
                if PRECISION in operation.attributes:
                    explain("MixedPrecision", operation, "it already has a precision")
                    continue
                chosen = self._choice(operation, rules)
                if chosen != "none":
                    operation.attributes[PRECISION] = ir.StringAttr.get(chosen)

    def _choice(self, operation: Any, rules: list[tuple[str, str]]) -> str:
        name = node_name(operation.location) or ""
        for pattern, precision in rules:
            if fnmatchcase(name, pattern):
                return precision
        return "single" if multiply_adds(operation) <= self.single_up_to else self.default


def _rule(text: str) -> tuple[str, str]:
    pattern, separator, precision = text.rpartition(":")
    if not separator or precision not in PRECISIONS:
        raise CompileError(
            f"pass 'mixed-precision': '{text}' is not a rule",
            hint="a rule is a node name pattern, a colon and single, pseudo-single or half, such as head*:single",
        )
    return pattern, precision


def multiply_adds(operation: Any) -> int:
    """Number of products that the contraction sums."""
    left, right = (shape_of(value) for value in list(operation.operands)[:2])
    result = math.prod(shape_of(operation.results[0]))
    if operation.name == "graph.conv":
        return result * math.prod(right[1:])
    if operation.name == "graph.conv_transpose":
        return math.prod(left) * math.prod(right[1:])
    transposed = operation.name == "graph.gemm" and operation.attributes["transA"].value
    return result * (left[0] if transposed else left[-1])
