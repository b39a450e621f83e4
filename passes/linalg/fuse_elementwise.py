"""The pass `fuse-elementwise`: upstream fusion under a policy by fusion class."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir, passmanager
from mnc.core.explanation import explain
from mnc.core.pass_base import Pass
from mnc.passes.linalg.iteration import Iteration, body_operations, find, generics, read

_BARRIER = "mnc_fusion.barrier"
PRECISION = "mncore.precision"
EPILOGUE = "mnc.epilogue"
"""Marks element-wise work on the result of a contraction: bias, activation."""


@dataclass(frozen=True)
class FuseElementwise(Pass):
    """Fuse element-wise producers into their only consumer, where no element is computed twice.

    before: two ``linalg.generic`` in a row; after: one, at the fused location of both

    - injective into injective: yes, unless the consumer broadcasts or revisits what it reads;
    - injective into a reduction: yes (`into_reductions`), under the same condition;
      products that a sum takes in become a contraction in ``single``: the model asked for no matrix product;
    - into a contraction: only copies, such as a transposition, which change nothing but its map;
    - across reshapes: no, because upstream would change the loops of both sides for it.

    Consumers of a contraction stay separate; those that could be its epilogue are marked ``mnc.epilogue``.
    """

    name: ClassVar[str] = "fuse-elementwise"
    into_reductions: bool = True

    def run(self, module: ir.Module) -> None:
        """Fuse everywhere; refusals are explained."""
        context = module.context
        with context, ir.Location.unknown():
            unregistered = context.allow_unregistered_dialects
            context.allow_unregistered_dialects = True
            try:
                _run(module, "canonicalize,cse")
                self._put_barriers(module)
                precisions, products = _precisions(module), _products(module)
                _run(module, "linalg-fuse-elementwise-ops")
                _remove_barriers(module)
                _restore_precisions(module, precisions)
                _keep_single(module, products)
                _run(module, "canonicalize,cse")
            finally:
                context.allow_unregistered_dialects = unregistered
            for op in generics(module):
                _fuse_location(op)
                _mark_epilogue(op)

    def _put_barriers(self, module: ir.Module) -> None:
        # Results of what will read at computed indices when all is fused; operations hash by operands, which change.
        picking: set[ir.Value] = set()
        for op in generics(module):
            consumer = read(op)
            picks = any(inner.name == "tensor.extract" for inner in body_operations(op))
            if picks:
                picking.update(op.results)
            for operand in range(len(op.operands)):
                value = op.operands[operand]
                producer = value.owner
                if isinstance(producer, ir.Block):
                    continue
                reason = self._refusal(producer, consumer, operand) or _through_copies(producer, op)
                folds = consumer is not None and consumer.kind in ("reduction", "contraction")
                if not reason and value in picking and folds:
                    reason = "the producer reads at computed indices, which a reduction cannot"
                if not reason and value in picking and picks:
                    reason = "the producer reads at computed indices, and what it reads may be an index"
                if reason:
                    explain(type(self).__name__, op, reason)
                    _protect(op, operand)
                elif value in picking:
                    picking.update(op.results)
            _protect_from_reshapes(op)
        for pad in find(module, lambda op: op.name == "tensor.pad"):
            if not isinstance(pad.operands[0].owner, ir.Block):  # upstream would move a reshape to the other side of it
                _protect(pad, 0)

    def _refusal(self, producer: ir.Operation, consumer: Iteration | None, operand: int) -> str | None:
        """Why `producer` must not be fused into operand `operand` of `consumer`."""
        if producer.name in ("tensor.expand_shape", "tensor.collapse_shape"):
            return "the operand is a reshape"
        is_number = producer.name in ("arith.constant", "linalg.fill")
        if is_number and consumer is not None and _has_own_loops(consumer, operand):
            return "a sum of products with one number has no rows or columns for a matrix unit"
        if producer.name != "linalg.generic":
            return None
        if consumer is None:
            return "an index of the consumer is not linear"
        source = read(producer)
        if source is None or source.kind not in ("copy", "injective"):
            return "the producer is not element-wise"
        if source.kind == "copy":
            projected = all(source.is_projected(i) for i in range(len(producer.operands)))
            if consumer.kind in ("reduction", "opaque") and not (projected and consumer.is_projected(operand)):
                return "the copy would leave indices that are more than a choice of loops"
            if consumer.kind == "contraction" and not (projected and consumer.is_projected(operand)):
                return "the copy would leave a contraction whose indices are more than a choice of loops"
            return None
        if consumer.kind in ("contraction", "opaque"):
            return f"the consumer is a {consumer.kind}"
        if consumer.kind == "reduction" and not self.into_reductions:
            return "fusion into reductions is switched off"
        if not consumer.reads_all_loops(operand):
            return "the consumer reads an element more than once, so it would be computed again"
        return None


def _has_own_loops(consumer: Iteration, operand: int) -> bool:
    """Whether a factor of a product has rows or columns: loops of the result that the other factor has not."""
    if consumer.kind != "contraction" or operand >= consumer.inputs:
        return False
    own, other = (consumer.loops(number) for number in (operand, 1 - operand))
    return any(consumer.parallel[d] and consumer.extents[d] > 1 for d in own - other)


def _through_copies(producer: ir.Operation, op: ir.Operation) -> str | None:
    """Why element-wise work must not be fused into a copy: the copy is fused into contractions, and would take it
    along."""
    source, consumer = (read(o) if o.name == "linalg.generic" else None for o in (producer, op.operation))
    if source is None or consumer is None or source.kind != "injective" or consumer.kind != "copy":
        return None
    users = [use.owner.operation for use in op.operation.results[0].uses]
    kinds = [found.kind for user in users if user.name == "linalg.generic" and (found := read(user)) is not None]
    if any(kind in ("contraction", "opaque") for kind in kinds):
        return "the copy is fused into a contraction"
    return next(filter(None, (_through_copies(producer, user) for user in users if _is_copy(user))), None)


def _is_copy(op: ir.Operation) -> bool:
    found = read(op) if op.name == "linalg.generic" else None
    return found is not None and found.kind == "copy"


def _precisions(module: ir.Module) -> dict[str, ir.Attribute]:
    """Chosen precisions by the location of the multiply-adds; as text, because locations hash by identity."""
    found = [op for op in generics(module) if PRECISION in op.attributes]
    return {str(inner.location): op.attributes[PRECISION] for op in found for inner in body_operations(op)[:-1]}


def _restore_precisions(module: ir.Module, precisions: dict[str, ir.Attribute]) -> None:
    """Upstream fusion makes new operations without these attributes."""
    for op in generics(module) if precisions else []:
        places = [str(inner.location) for inner in body_operations(op)[:-1]]
        given = [precisions[place] for place in places if place in precisions]
        if given and _is_contraction(op):
            op.attributes[PRECISION] = given[0]


def _products(module: ir.Module) -> set[str]:
    """Locations of the multiply-adds of contractions, as text."""
    found = [op for op in generics(module) if _is_contraction(op)]
    return {str(inner.location) for op in found for inner in body_operations(op)[:-1]}


def _keep_single(module: ir.Module, products: set[str]) -> None:
    """What was a product element by element, and then a sum, keeps the precision of element-wise work."""
    for op in generics(module):
        if _is_contraction(op) and PRECISION not in op.attributes:
            places = {str(inner.location) for inner in body_operations(op)[:-1]}
            if not places & products:
                op.attributes[PRECISION] = ir.StringAttr.get("single")


def _is_contraction(op: ir.Operation) -> bool:
    found = read(op)
    return found is not None and found.kind == "contraction"


def _run(module: ir.Module, pipeline: str) -> None:
    passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)


def _protect(op: ir.Operation, operand: int) -> None:
    """Hide the producer of one operand behind an operation that nothing folds."""
    value = op.operands[operand]
    with ir.InsertionPoint(op):
        barrier = ir.Operation.create(_BARRIER, results=[value.type], operands=[value], loc=op.location)
    op.operands[operand] = barrier.results[0]


def _protect_from_reshapes(op: ir.Operation) -> None:
    for use in list(op.results[0].uses) if op.results else []:
        user = use.owner.operation
        if user.name in ("tensor.expand_shape", "tensor.collapse_shape"):
            _protect(user, use.operand_number)


def _remove_barriers(module: ir.Module) -> None:
    for op in find(module, lambda op: op.name == _BARRIER):
        op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()


def _fuse_location(op: ir.Operation) -> None:
    """The location of a fused operation names all operations whose work it does, but no inputs and constants, which
    upstream patterns add."""
    locations = list(dict.fromkeys(inner.location for inner in body_operations(op)[:-1]))
    if locations:
        op.location = locations[0] if len(locations) == 1 else ir.Location.fused(locations)


def _mark_epilogue(op: ir.Operation) -> None:
    consumer = read(op)
    if consumer is None or consumer.kind != "injective":
        return
    for operand in range(consumer.inputs):
        value = op.operands[operand]
        if isinstance(value.owner, ir.Block) or value.owner.name != "linalg.generic":
            continue
        producer = read(value.owner)
        single = len(list(value.uses)) == 1
        if producer is not None and producer.kind == "contraction" and single and consumer.reads_all_loops(operand):
            op.attributes[EPILOGUE] = ir.UnitAttr.get()
