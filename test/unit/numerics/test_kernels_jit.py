"""Calling convention: records, block ranges, shared operands, tables, threads."""

import threading

import numpy as np
import pytest

from mnc.mncore_backend.emulator.kernels import alu, copy, run_table


def _array(blocks: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 64, (blocks, 4, 64), dtype=np.uint64)


def test_a_kernel_is_compiled_once() -> None:
    assert alu("add", "i") is alu("add", "i")
    assert alu("add", "i") is not alu("add", "l")


def test_rows_anywhere_and_block_ranges() -> None:
    """Rows at addresses 7, 2, 2, 5 of a memory; only blocks 1 and 2 are touched."""
    memory, constant = _array(4, 1).reshape(4, 4, 64).repeat(2, axis=1), _array(1, 2)
    out = np.zeros((4, 4, 64), dtype=np.uint64)
    rows = [7, 2, 2, 5]
    addresses = [memory.ctypes.data + 512 * row for row in rows]
    kernel = alu("add", "l")
    record = kernel.record(out=out, x=(addresses, memory.strides[0]), y=(constant.ctypes.data + 512 * np.arange(4), 0))
    kernel.call(record, 1, 3)
    assert not out[[0, 3]].any()
    for block in (1, 2):
        assert np.array_equal(out[block], memory[block, rows] + constant[0])


def test_operands_may_be_updated_in_place() -> None:
    x, y = _array(2, 3), _array(2, 4)
    expected = x + y
    alu("add", "l")(out=x, x=x, y=y)
    assert np.array_equal(x, expected)


def test_wrong_operands_are_refused() -> None:
    x = _array(1, 5)
    with pytest.raises(TypeError):
        alu("add", "l").record(out=x, x=x)
    with pytest.raises(TypeError):
        alu("inc", "l").record(out=x, x=x, y=x)


def test_table_runs_steps_in_order_on_each_block() -> None:
    x, y = _array(64, 6), _array(64, 7)
    a, b = np.zeros_like(x), np.zeros_like(x)
    add, dec, move = alu("add", "l"), alu("dec", "l"), copy()
    steps = [(add, add.record(out=a, x=x, y=y)), (dec, dec.record(out=b, x=a)), (move, move.record(out=a, x=b))]
    table = np.array([(kernel.address, record.ctypes.data) for kernel, record in steps], dtype=np.int64)
    workers = [threading.Thread(target=run_table, args=(table, first, first + 32)) for first in (0, 32)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert np.array_equal(a, x + y - np.uint64(1))


def test_table_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError):
        run_table(np.zeros((1, 3), dtype=np.int64), 0, 1)
