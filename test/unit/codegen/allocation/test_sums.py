"""Sums that registers do not hold pass a local memory, while no matrix can be read from it."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.kernels.matmul import MatmulSpec, emit_matmul, sums_fit
from mnc.mncore_backend.kernels.matmul.spec import BLOCK
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, Builder, Program


def summed_tiles(rows: int, n_blocks: int, k_blocks: int, *, beside: int) -> tuple[Buffer, list[Buffer]]:
    """The result to which the products of four tiles add, and the buffers of their matrices; `beside` long words of LM1
    hold something else."""
    program = Program()
    builder = Builder(program)
    program.buffer("other", beside, (Memory.LM1,), pinned=True)
    result = program.buffer("y", rows * n_blocks, LOCAL_MEMORY)
    y_offset = np.arange(rows * n_blocks).reshape(rows, n_blocks)
    x_offset = np.arange(rows * k_blocks).reshape(rows, k_blocks)
    w_offset = np.arange(BLOCK * n_blocks * k_blocks).reshape(BLOCK * n_blocks, k_blocks)
    matrices = []
    for tile in range(4):
        x = program.buffer("x", x_offset.size, LOCAL_MEMORY)
        matrices.append(program.buffer("w", w_offset.size, LOCAL_MEMORY))
        initial = (result, y_offset) if tile else None
        spec = MatmulSpec(x, x_offset, matrices[-1], w_offset, result, y_offset, initial)
        assert not sums_fit([spec])
        emit_matmul(builder, spec)
    allocate(program)
    return result, matrices


@pytest.mark.parametrize(("rows", "n_blocks", "k_blocks"), [(16, 16, 4), (47, 7, 3), (8, 32, 2)])
@pytest.mark.parametrize("beside", [0, 600])
def test_sums_and_matrices_have_memories_of_their_own(rows: int, n_blocks: int, k_blocks: int, beside: int) -> None:
    result, matrices = summed_tiles(rows, n_blocks, k_blocks, beside=beside)
    assert {result.memory, *(matrix.memory for matrix in matrices)} == {Memory.LM0, Memory.LM1}
    assert result.memory not in {matrix.memory for matrix in matrices}
