"""The order of a program's operations, and what is rewritten once it is known."""

from collections.abc import Sequence

from mnc.mncore_backend.codegen.allocation import fits, load_again
from mnc.mncore_backend.codegen.selection.coalesce import coalesce_copies
from mnc.mncore_backend.codegen.selection.order import ordered_kernels
from mnc.mncore_backend.codegen.selection.owners import name_transfers
from mnc.mncore_backend.codegen.selection.prefetch import SHARES, prefetched
from mnc.mncore_backend.program import MachineOp, Program


def arrange(program: Program, runs: Sequence[Sequence[MachineOp]]) -> None:
    """Give a program the operations of `runs`: the most urgent first, or with large loads ahead if all buffers have
    room then, or as they are."""
    if (ordered := ordered_kernels(program, runs)) is not None:
        return _finish(program, ordered)
    known = len(program.buffers)
    for share in SHARES:
        ahead = prefetched(program, runs, share)
        if ahead is None:
            break
        _finish(program, ahead)
        if fits(program):
            return None
        del program.buffers[known:]
    return _finish(program, [op for run in runs for op in run])


def _finish(program: Program, operations: list[MachineOp]) -> None:
    program.operations[:] = operations
    coalesce_copies(program)
    load_again(program)
    name_transfers(program)
