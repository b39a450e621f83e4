"""The pass `pack`: operands rearranged into blocks for the matrix unit."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir, submodule
from mnc.core.context import error_at
from mnc.core.explanation import explain
from mnc.core.pass_base import Pass, at_least
from mnc.passes.linalg.iteration import Iteration, find, named
from mnc.passes.linalg.schedule import remove_tags, schedule, tag, tagged


@dataclass(frozen=True)
class Pack(Pass):
    """Split loops into blocks and store each operand block by block.

    before: ``A[m, k]``; after: ``A[m / 8, k / 8, m % 8, k % 8]``, made by `linalg.pack` and undone
    by `linalg.unpack`, or by pads, reshapes and transpositions if `lower`.

    Options:
        sizes: block size per loop, 0 leaves a loop alone.
        kinds: which operations to pack.
        lower: replace `linalg.pack` and `linalg.unpack` by tensor operations.
    """

    name: ClassVar[str] = "pack"
    sizes: tuple[int, ...] = at_least(0, (8, 8, 8))
    kinds: tuple[str, ...] = ("contraction",)
    lower: bool = False

    def run(self, module: ir.Module) -> None:
        """Raises CompileError when there are more sizes than loops."""
        with module.context, ir.Location.unknown():
            count = 0
            loops = []
            for iteration in list(named(module, self.kinds)):
                if len(self.sizes) > len(iteration.extents):
                    message = f"has {len(iteration.extents)} loops but there are {len(self.sizes)} block sizes"
                    raise error_at(iteration.op, message)
                reason = self._refusal(iteration)
                if reason:
                    explain(type(self).__name__, iteration.op, reason)
                    continue
                tag(iteration.op, count)
                loops.append(len(iteration.extents))
                count += 1
            if count:
                self._apply(module, loops)

    def _refusal(self, iteration: Iteration) -> str | None:
        if not all(iteration.is_projected(i) for i in range(len(iteration.op.operands))):
            return "an index is more than a choice of loops"
        is_padded = any(size and extent % size for size, extent in zip(self.sizes, iteration.extents, strict=False))
        if is_padded and iteration.kind in ("reduction", "opaque"):
            return "the blocks would be padded with zeros, which its reduction would count"
        return None

    def _apply(self, module: ir.Module, loops: list[int]) -> None:
        structured, transform = submodule("dialects.transform.structured"), submodule("dialects.transform")
        with schedule(module) as root:
            for number, count in enumerate(loops):
                sizes = [*self.sizes, *[0] * (count - len(self.sizes))]
                structured.structured_pack(
                    transform.AnyOpType.get(), tagged(root, number), [], static_packed_sizes=sizes
                )
        remove_tags(module)
        if self.lower:
            _lower_packs(module)


_LOWERINGS = (
    ("linalg.pack", "LowerPackOp", ("tensor.pad", "tensor.expand_shape", "linalg.transpose")),
    (
        "linalg.unpack",
        "LowerUnPackOp",
        ("tensor.empty", "linalg.transpose", "tensor.collapse_shape", "tensor.extract_slice", "linalg.copy"),
    ),
)


def _lower_packs(module: ir.Module) -> None:
    structured = submodule("dialects.transform.structured")
    transform = submodule("dialects.transform")
    for name, lowering, results in _LOWERINGS:
        found = find(module, lambda op, name=name: op.name == name)
        for number, op in enumerate(found):
            tag(op, number)
        with schedule(module) as root:
            for number in range(len(found)):
                handle = transform.CastOp(transform.OperationType.get(name), tagged(root, number)).result
                types = [transform.OperationType.get(result) for result in results]
                getattr(structured, lowering)(*types, handle)
        remove_tags(module)
