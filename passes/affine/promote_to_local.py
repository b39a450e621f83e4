"""The pass `promote-to-local`: tiles are copied into a local memory, used there, and copied back."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.memory_spaces import map_memory_spaces, read_space
from mnc.core.pass_base import Pass
from mnc.passes.affine.upstream import run_upstream

# Upstream wants an integer for the fast memory; this one stands for the attribute meanwhile.
_PLACEHOLDER = 4242


@dataclass(frozen=True)
class PromoteToLocal(Pass):
    """Copy what affine loops touch into buffers of a local memory space.

    before: loops over ``memref<64x64xf32>``; after: per tile a copy to ``memref<16x64xf32, #local>`` and back

    Options:
        memory_space: text of the attribute of the local memory, such as ``#mncore.memory<"LM0">`` or ``1``.
        capacity: bytes of the local memory, rounded down to KiB; copies are placed at the outermost
            loop level at which they fit.
    """

    name: ClassVar[str] = "promote-to-local"
    memory_space: str = "1"
    capacity: int = 16384

    def run(self, module: ir.Module) -> None:
        """Raises CompileError for a capacity below 1 KiB or an unreadable memory space."""
        if self.capacity < 1024:
            raise CompileError(f"pass 'promote-to-local': capacity {self.capacity} is below 1024 bytes")
        with module.context, ir.Location.unknown():
            space = read_space(self.memory_space, self.name)
            options = (
                f"fast-mem-space={_PLACEHOLDER} fast-mem-capacity={self.capacity // 1024} "
                "generate-dma=false skip-non-unit-stride-loops=false"
            )
            run_upstream(module, f"func.func(affine-data-copy-generate{{{options}}}),canonicalize,cse")
            placeholder = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _PLACEHOLDER)
            map_memory_spaces(module, lambda old: space if old is not None and old == placeholder else old)
