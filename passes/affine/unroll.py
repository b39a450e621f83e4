"""The pass `unroll`: several iterations of a loop in one body."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.pass_base import Pass, at_least
from mnc.passes.affine.upstream import run_upstream


@dataclass(frozen=True)
class Unroll(Pass):
    """Unroll innermost affine loops, then forward stores to loads.

    before: ``affine.for %i = 0 to 8 { ... }``; after, for ``factor=4``: ``affine.for %i = 0 to 8 step 4``

    Options:
        factor: iterations per body; the rest gets a loop of its own.
        full_below: unroll loops of at most so many iterations completely; 0 for none.
        repeats: how often to unroll what is innermost then.
    """

    name: ClassVar[str] = "unroll"
    factor: int = at_least(0, 4)
    full_below: int = at_least(0, 0)
    repeats: int = at_least(0, 1)

    def run(self, module: ir.Module) -> None:
        """Raises CompileError for a factor below 1."""
        if self.factor < 1 or self.repeats < 1:
            raise CompileError("pass 'unroll': factor and repeats must be at least 1")
        options = f"unroll-factor={self.factor} unroll-num-reps={self.repeats}"
        if self.full_below:
            options = f"unroll-factor=-1 unroll-full-threshold={self.full_below} unroll-num-reps={self.repeats}"
        with module.context, ir.Location.unknown():
            run_upstream(module, f"func.func(affine-loop-unroll{{{options}}},affine-scalrep),canonicalize")
