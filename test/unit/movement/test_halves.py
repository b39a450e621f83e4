"""A large tensor behind a transfer that fills all L2BMs."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.movement.halves import HALF_LATENCY, MOST, segments_behind
from mnc.mncore_backend.program import BufferOperand, MachineOp

from .test_batch import LARGE, SMALL, check

WIDE = "((8_L2B:1, 32:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))"


def _goes_to_pdm(op: MachineOp) -> bool:
    target = op.destinations[0]
    return isinstance(target, BufferOperand) and target.buffer.choices == (Memory.PDM,)


@given(st.integers(1, MOST // 64 + 20).map(lambda n: 64 * n), st.integers(1, 2000))
def test_segments_bring_everything_once_to_both_halves(total: int, work: int) -> None:
    found = segments_behind(total, work)
    for half in range(2):
        own = sorted((s.start, s.size) for s in found if s.half == half)
        assert not found or sum(size for _, size in own) == total
        assert all(start + size == after for (start, size), (after, _) in pairwise(own))
    assert all(s.size > 0 and s.size % 64 == 0 for s in found)
    assert sum(s.from_pdm for s in found) == bool(found)


def test_what_is_small_or_too_large_comes_as_usual() -> None:
    assert not segments_behind(HALF_LATENCY, 16)
    assert not segments_behind(MOST + 64, 300)


def test_a_piece_passes_by_pdm() -> None:
    texts = [SMALL["all rows everywhere"], "((16_MAB:1, 4_PE:1, 2_W:1),)", WIDE, SMALL["a row of each L1B"]]
    program = check(texts, [0, 1, 2, 3])
    moves = [op for op in program.operations if op.is_transfer]
    to_pdm = [op for op in moves if _goes_to_pdm(op)]
    assert len(to_pdm) == 4  # one of each group
    assert moves.index(to_pdm[0]) == 1  # behind what fills all L2BMs


def test_nothing_passes_by_pdm_if_the_tensor_is_first() -> None:
    program = check([LARGE], [0])
    assert not any(op.is_transfer and _goes_to_pdm(op) for op in program.operations)
