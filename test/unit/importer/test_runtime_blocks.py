"""Weights and tables of ONNX Runtime that are quantized in blocks, against numpy."""

import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate
from runtime_models import model_of, near, results

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("with_zeros", [False, True])
def test_rows_of_weights_that_name_their_blocks(with_zeros: bool) -> None:
    numbers, zeros = RNG.integers(0, 16, (7, 3, 16)), RNG.integers(0, 16, (7, 4))
    packed, packed_zeros = ((v[..., ::2] + 16 * v[..., 1::2]).astype(np.uint8) for v in (numbers, zeros))
    scales, blocks = RNG.random((7, 3)).astype(np.float32), RNG.permutation(np.arange(48) // 16).astype(np.int32)
    x = RNG.standard_normal((2, 40)).astype(np.float32)
    operands = [x, packed, scales, packed_zeros.reshape(-1) if with_zeros else None, blocks]
    (y,) = results("MatMulNBits", operands, K=40, N=7, bits=4, block_size=16)
    own = blocks[:40]
    offsets = zeros[:, own] if with_zeros else 8
    near(y, x @ ((numbers.reshape(7, 48)[:, :40] - offsets) * scales[:, own]).T)


def _packed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Bytes of numbers, the lowest bits first."""
    count = 8 // bits
    wide = np.pad(numbers, [(0, 0), (0, -numbers.shape[1] % count)]).reshape(len(numbers), -1, count)
    return (wide << (bits * np.arange(count))).sum(-1).astype(np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("with_zeros", [False, True])
def test_rows_of_tables_of_bytes(bits: int, with_zeros: bool) -> None:
    numbers, zeros = RNG.integers(0, 2**bits, (9, 64)), RNG.integers(0, 2**bits, (9, 4))
    scales, rows = RNG.random((9, 4)).astype(np.float32), np.array([[8, 0], [3, 3]])
    operands = [_packed(numbers, bits), rows, scales, _packed(zeros, bits) if with_zeros else None]
    (y,) = results("GatherBlockQuantized", operands, free=(1,), bits=bits, block_size=16)
    offsets = np.repeat(zeros, 16, 1) if with_zeros else 2 ** (bits - 1)
    near(y, ((numbers - offsets) * np.repeat(scales, 16, 1))[rows])


def test_rows_of_tables_of_small_integers() -> None:
    """Those of 4 bits have no zero point by default; blocks may lie along another axis than the last one."""
    numbers, scales = RNG.integers(-8, 8, (9, 32, 2)), RNG.random((9, 2, 2)).astype(np.float32)
    rows = np.array([5, 1])
    operands = [np.zeros(0, np.int8), rows, scales]
    how = {"free": (1,), "opset": 21, "quantize_axis": -2, "block_size": 16}
    model, inputs = model_of("GatherBlockQuantized", operands, **how)  # pyright: ignore[reportArgumentType]
    table = helper.make_tensor("x0", TensorProto.INT4, numbers.shape, numbers.reshape(-1).tolist())
    model.graph.initializer[0].CopyFrom(table)
    (y,) = evaluate(import_model(model, make_context(["graph"])), inputs)
    near(y, (numbers * np.repeat(scales, 16, 1))[rows])
