"""load-again: what waits in L2BM makes room there and is loaded a second time, where L2BM would overflow.

before:  mvd %image -> %down ; ... larger tensors pass ... ; l2bmd | %down | -> ...
after:   ... larger tensors pass ... ; mvd %image -> %again ; l2bmd | %again | -> ...
"""

from dataclasses import dataclass

from mnc.mncore_backend.codegen.allocation import load_again
from mnc.mncore_backend.codegen.program_ir import MachinePass, Unit


@dataclass(frozen=True)
class LoadAgain(MachinePass):
    """End waits of loaded data in L2BM, as many as it takes until all that is there at once has room."""

    name = "load-again"

    def run_on(self, unit: Unit) -> None:
        """Rewrite the operations in place; what still does not fit is left to `allocate-buffers`, which says so."""
        unit.is_rewritten |= load_again(unit.program)
