"""The pass `settle-nan`.

before:  %1 = "graph.is_nan"(%x)   %2 = "graph.where"(%1, %nan, %0)   %3 = "graph.exp"(%2)
after:   %3 = "graph.exp"(%0), since a run refuses NaN in %x
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.passes.graph.nan_flow import NanFlow, nan_flow, question


@dataclass(frozen=True)
class SettleNan(Pass):
    """Care for NaN where it may come, and nowhere else.

    Inputs with whose NaN arithmetic computes hold none, so questions for it are dropped. Constants that hold NaN are
    refused where something computes with it, which the machine cannot.
    """

    name: ClassVar[str] = "settle-nan"

    def run(self, module: ir.Module) -> None:
        """Raises CompileError for a constant with whose NaN something computes."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                _settle(function.operation.regions[0].blocks[0])


def _settle(block: ir.Block) -> None:
    flow = nan_flow(block)
    dropped = [view.operation for view in block.operations if _is_needless(view.operation, flow)]
    for op in dropped:
        op.results[0].replace_all_uses_with(op.operands[1 + question(op.operands[0])[1]])
        op.erase()
    readers = (nan_flow(block) if dropped else flow).readers
    for origin, reader in readers.items():
        if not isinstance(origin.owner, ir.Block):
            raise _refusal(reader)


def _is_needless(op: Any, flow: NanFlow) -> bool:
    """Whether a selection asks for NaN that no run brings. Other values that hold none may stand for what has NaN in
    the model: a softmax of nothing but negative infinities."""
    if op.name != "graph.where" or op.operands[1 + question(op.operands[0])[1]].type != op.results[0].type:
        return False
    asked, _ = question(op.operands[0])
    origins = flow.of(asked) if asked is not None else frozenset()
    return bool(origins) and all(one in flow.readers and isinstance(one.owner, ir.Block) for one in origins)


def _refusal(reader: Any) -> Exception:
    hint = "put a number in its place; a conversion that makes NaN of numbers beyond its type needs saturate = 1"
    return error_at(reader, "computes with NaN of a constant, which the machine does not have", hint)
