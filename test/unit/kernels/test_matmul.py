"""Matrix products of random shapes and address patterns in both precisions, against float64."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.kernels.matmul import MatmulSpec, emit_matmul, emit_transpose, sums_fit
from mnc.mncore_backend.kernels.matmul.chunks import FORMS, choose_chunks, choose_cutting
from mnc.mncore_backend.kernels.matmul.packing import packed_offsets, packed_words, sources
from mnc.mncore_backend.kernels.matmul.spec import accumulator_longs, vector_longs

from .harness import Bench

MABS = 1024


def to_pes(values: np.ndarray, offsets: np.ndarray, size: int) -> np.ndarray:
    """Values [1024, rows, 8 * blocks] laid over (PE, word) at the offsets [rows, blocks], as words [4096, 2 * size]."""
    rows, blocks = offsets.shape
    longs = np.zeros((MABS, 4, size, 2), np.float32)
    parts = values.reshape(MABS, rows, blocks, 4, 2).transpose(0, 3, 1, 2, 4)
    keep = offsets >= 0
    longs[:, :, offsets[keep]] = parts[:, :, keep]
    return longs.reshape(4 * MABS, 2 * size)


def from_pes(words: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Inverse of `to_pes`."""
    longs = words.view(np.float32).reshape(MABS, 4, -1, 2)[:, :, offsets]
    return longs.transpose(0, 2, 3, 1, 4).reshape(MABS, offsets.shape[0], -1)


def transposed(values: np.ndarray) -> np.ndarray:
    """[1024, rows, k] to [1024, k, rows padded to a multiple of 8]."""
    padding = -values.shape[1] % 8
    return np.pad(values, ((0, 0), (0, padding), (0, 0))).transpose(0, 2, 1)


@dataclass
class Case:
    rows: int
    k_blocks: int
    n: int
    precision: str
    initial: str | None
    x_transposed: bool
    w_transposed: bool
    accumulators: int
    seed: int
    together: bool = False  # pairs of blocks are neighbours
    packed: bool = False  # halves: the host has made them
    in_two: bool = False  # as two products, the second of which goes on with the sums of the first


def run(case: Case, x: np.ndarray, w: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Y [1024, rows, n] of the kernel for X [1024, rows, k], W [1024, n, k]; every buffer has scrambled addresses."""
    random = np.random.default_rng(case.seed)
    bench = Bench(case.seed)
    n_blocks = -(-case.n // 8)

    def scrambled(*shape: int) -> np.ndarray:
        rows, blocks = shape
        if case.together and not case.x_transposed and not case.w_transposed:
            pairs = random.permutation(rows * -(-blocks // 2)).reshape(rows, -1)
            return (2 * pairs[:, :, None] + np.arange(2)).reshape(rows, -1)[:, :blocks]
        return random.permutation(int(np.prod(shape)) + 3)[: int(np.prod(shape))].reshape(shape)

    k = 8 * case.k_blocks
    x_offset = scrambled(k, -(-case.rows // 8)) if case.x_transposed else scrambled(case.rows, case.k_blocks)
    w_offset = scrambled(k, n_blocks) if case.w_transposed else scrambled(8 * n_blocks, case.k_blocks)
    if not case.w_transposed:
        w_offset[case.n :] = -1
    y_offset = scrambled(case.rows, n_blocks)
    padded_w = np.pad(w, ((0, 0), (0, 8 * n_blocks - case.n), (0, 0)))
    x_size, w_size, y_size = (int(o.max()) + 1 for o in (x_offset, w_offset, y_offset))
    x_words = to_pes(transposed(x) if case.x_transposed else x, x_offset, x_size)
    w_words = to_pes(transposed(w) if case.w_transposed else padded_w, w_offset, w_size)
    buffers = bench.buffer(x_size, x_words), bench.buffer(w_size, w_words)
    initial = None
    if case.initial == "bias":
        bias = bench.buffer(n_blocks, to_pes(start[:, :1], np.arange(n_blocks)[None], n_blocks))
        initial = (bias, np.tile(np.arange(n_blocks), (case.rows, 1)))
    y = bench.buffer(y_size, to_pes(start, y_offset, y_size) if case.initial == "y" else None)
    if case.initial == "y":
        initial = (y, y_offset)
    spec = MatmulSpec(
        buffers[0], x_offset, buffers[1], w_offset, y, y_offset, initial, case.precision,  # type: ignore[arg-type]
        case.x_transposed, case.w_transposed, case.accumulators,
    )  # fmt: skip
    if case.packed and case.precision == "half" and not case.w_transposed:
        spec = packed(bench, spec, w_words)
        emit_matmul(bench.builder, spec)
    elif case.in_two and case.k_blocks > 1 and not case.x_transposed and not case.w_transposed and sums_fit([spec]):
        first, second = (
            replace(spec, x_offset=x_offset[:, own], w_offset=w_offset[:, own]) for own in (slice(1), slice(1, None))
        )
        sums = emit_matmul(bench.builder, first, is_last=False)
        emit_matmul(bench.builder, second, sums=sums)
    else:
        emit_matmul(bench.builder, spec)
    bench.run()
    return from_pes(bench.words(y), y_offset)[:, :, : case.n]


def packed(bench: Bench, spec: MatmulSpec, words: np.ndarray) -> MatmulSpec:
    """The same product with a matrix of halves, made of the words [4096, words] of the matrix of singles."""
    places = sources(spec)
    values = np.where(places >= 0, words.view(np.float32)[:, places], 0.0)
    blocks = values.reshape(MABS, 4, -1, 4).transpose(0, 2, 1, 3)
    longs = packed_words(blocks.reshape(MABS, -1)).reshape(MABS, -1, 4, 2).transpose(0, 2, 1, 3)
    made = bench.buffer(len(places), np.ascontiguousarray(longs).reshape(4 * MABS, -1))
    return replace(spec, w=made, w_offset=packed_offsets(spec, 0), w_packed=True)


CASES = st.builds(
    Case,
    rows=st.sampled_from([1, 2, 3, 4, 5, 8, 13, 31, 48]),
    k_blocks=st.integers(1, 4),
    n=st.sampled_from([1, 3, 8, 11, 16, 29]),
    precision=st.sampled_from(["pseudo-single", "single", "half"]),
    initial=st.sampled_from([None, "bias", "y"]),
    x_transposed=st.booleans(),
    w_transposed=st.booleans(),
    accumulators=st.sampled_from([16, 64, 192]),
    seed=st.integers(0, 10**6),
    in_two=st.booleans(),
    together=st.booleans(),
    packed=st.booleans(),
)


def operands(case: Case, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(case.seed + 1)
    k, n = 8 * case.k_blocks, 8 * -(-case.n // 8)
    shapes = ((case.rows, k), (case.n, k), (case.rows, n))
    x, w, start = ((scale * random.normal(size=(MABS, *shape))).astype(np.float32) for shape in shapes)
    return x, w, start if case.initial == "y" else np.repeat(start[:, :1], case.rows, axis=1)


def block_scale(values: np.ndarray, precision: str) -> np.ndarray:
    """2^(E+1) for the greatest element of each block along the last axis, in [2^E, 2^(E+1)): the conversion error of an
    element is at most that times 2^-M (the all-ones rule can raise the exponent by one)."""
    own = np.abs(values.astype(np.float64))
    padding = -own.shape[-1] % 16 if precision == "half" else 0
    together = 2 if precision == "half" else 1
    blocks = np.pad(own, ((0, 0), (0, 0), (0, padding))).reshape(*values.shape[:2], -1, together, 4, 2)
    axes = {"pseudo-single": (3, 4, 5), "single": (3, 4), "half": (3, 4, 5)}[precision]
    greatest = blocks.max(axis=axes, keepdims=True)
    scale = np.broadcast_to(2.0 ** (np.floor(np.log2(greatest)) + 1), blocks.shape)
    return scale.reshape(*values.shape[:2], -1)[:, :, : values.shape[-1]]


BITS = {"pseudo-single": 18, "single": 23, "half": 9 - np.log2(1.25)}
"""Bits that conversion keeps; to halves it is two, the first of 10 bits."""
BLOCKS = {"pseudo-single": 8, "single": 4, "half": 16}


@settings(max_examples=25, deadline=None)
@given(case=CASES)
def test_error_bound(case: Case) -> None:
    """Conversion errors of both operands plus one rounding per block and instruction."""
    x, w, start = operands(case, 1.0)
    result = run(case, x, w, start)
    x64, w64 = x.astype(np.float64), w.astype(np.float64).transpose(0, 2, 1)
    added = start[:, :, : case.n] * (case.initial is not None)
    bits, block = BITS[case.precision], BLOCKS[case.precision]
    scales = block_scale(x, case.precision), block_scale(w, case.precision).transpose(0, 2, 1)
    conversion = (np.abs(x64) @ scales[1] + scales[0] @ np.abs(w64) + scales[0] @ scales[1] * 2.0**-bits) * 2.0**-bits
    partial = np.abs(x64) @ np.abs(w64) + np.abs(added)
    rounding = -(-8 * case.k_blocks // block) * 2.0**-24 * partial
    assert (np.abs(result - (x64 @ w64 + added)) <= conversion + rounding).all()


@settings(max_examples=15, deadline=None)
@given(case=CASES)
def test_integers_are_exact(case: Case) -> None:
    x, w, start = (np.rint(a) for a in operands(case, 40.0))
    exact = x.astype(np.float64) @ w.astype(np.float64).transpose(0, 2, 1)
    if case.initial is not None:
        exact = exact + start[:, :, : case.n]
    np.testing.assert_array_equal(run(case, x, w, start), exact)


def test_transposition_copies_bits() -> None:
    bench = Bench()
    random = np.random.default_rng(0)
    words = random.integers(0, 2**32, (4096, 48), dtype=np.uint64).astype(np.uint32)
    source, target = bench.buffer(24, words), bench.buffer(24)
    reads, writes = random.permutation(24).reshape(3, 8), random.permutation(24).reshape(3, 8)
    emit_transpose(bench.builder, source, reads, target, writes)
    bench.run()
    before = words.reshape(MABS, 4, 24, 2)
    after = bench.words(target).reshape(MABS, 4, 24, 2)
    for block in range(3):
        matrix = before[:, :, reads[block]].transpose(0, 2, 1, 3).reshape(MABS, 8, 8)
        moved = after[:, :, writes[block]].transpose(0, 2, 1, 3).reshape(MABS, 8, 8)
        np.testing.assert_array_equal(moved, matrix.transpose(0, 2, 1))


@pytest.mark.parametrize(("rows", "n_blocks"), [(1, 1), (5, 40), (64, 8), (1000, 3), (17, 17)])
def test_chunks_cover_the_product_and_fit(rows: int, n_blocks: int) -> None:
    bench = Bench()
    buffers = [bench.buffer(1) for _ in range(3)]
    zeros = np.zeros((rows, 2)), np.zeros((8 * n_blocks, 2)), np.zeros((rows, n_blocks))
    spec = MatmulSpec(buffers[0], zeros[0], buffers[1], zeros[1], buffers[2], zeros[2])
    covered = np.zeros((rows, n_blocks), int)
    for chunk in choose_chunks(spec):
        covered[chunk.rows.start : chunk.rows.stop, chunk.n_blocks.start : chunk.n_blocks.stop] += 1
        assert 4 * chunk.groups * len(chunk.n_blocks) <= spec.accumulators
        assert 8 * chunk.groups <= spec.vectors
    assert (covered == 1).all()


@pytest.mark.parametrize(("rows", "n_blocks", "chunks"), [(47, 7, 2), (64, 8, 4), (16, 16, 2), (8, 32, 2)])
def test_rows_are_cut_into_few_chunks(rows: int, n_blocks: int, chunks: int) -> None:
    """Of cuttings that keep the MAU busy as long, that which converts matrices least often: a matrix serves all rows of
    a chunk."""
    cut = choose_cutting(rows, n_blocks, FORMS["g"], accumulators=accumulator_longs(), vectors=vector_longs())
    assert cut.chunks == chunks
    assert cut.products == max(2, -(-rows // 4)) * n_blocks
    assert cut.of_matrix + cut.of_rows <= cut.products + cut.chunks * cut.groups


def test_mismatched_shapes_are_refused() -> None:
    buffer = Bench().buffer(1)
    with pytest.raises(InternalError, match="w_offset must be"):
        MatmulSpec(buffer, np.zeros((4, 2)), buffer, np.zeros((8, 3)), buffer, np.zeros((4, 1)))
