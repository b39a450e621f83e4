"""coalesce-copies: who computes a value writes it where a copy would have brought it.

before:  fvadd | %x | %y | -> %a ;  ipassa | %a | -> %b
after:   fvadd | %x | %y | -> %b
"""

from dataclasses import dataclass

from mnc.mncore_backend.codegen.coalescing.coalesce import coalesce_copies
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit


@dataclass(frozen=True)
class CoalesceCopies(MachinePass):
    """Drop copies between kernels whose value its producers can write to the target themselves."""

    name = "coalesce-copies"
    done = "rewritten"

    def run_on(self, unit: Unit) -> None:
        """Rewrite producers and drop copies in place."""
        unit.is_rewritten |= coalesce_copies(unit.program) > 0
