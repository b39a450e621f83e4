"""Operators of ONNX Runtime against what its documentation says of them, in numpy."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import mnc
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from runtime_models import LENGTHS, MASK, attended, heads, model_of, near, results, softmax, turned

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 5, 12)).astype(np.float32)
SKIP = RNG.standard_normal((2, 5, 12)).astype(np.float32)
SCALE, BIAS = (RNG.standard_normal(12).astype(np.float32) for _ in range(2))


def _normalized(x: np.ndarray, epsilon: float = 1e-12) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_activations(opset: int) -> None:
    near(results("BiasGelu", [X, BIAS], opset=opset)[0], _gelu(X + BIAS))
    near(results("Gelu", [X], opset=opset)[0], _gelu(X))
    value, gate = np.split(X + BIAS, 2, axis=-1)
    near(results("BiasSplitGelu", [X, BIAS], opset=opset)[0], value * _gelu(gate))
    s = X + BIAS
    by_tanh = 0.5 * s * (1 + np.tanh(math.sqrt(2 / math.pi) * (s + 0.044715 * s**3)))
    near(results("FastGelu", [X, BIAS], opset=opset)[0], by_tanh)
    near(results("QuickGelu", [X], opset=opset, alpha=2.0)[0], X / (1 + np.exp(-2 * X)))


@pytest.mark.parametrize("opset", [11, 17, 23])
def test_normalizations_of_sums(opset: int) -> None:
    y, total = results("SkipLayerNormalization", [X, SKIP, SCALE, BIAS, BIAS], outputs=(0, 3), opset=opset)
    near(total, X + SKIP + BIAS)
    near(y, _normalized(X + SKIP + BIAS) * SCALE + BIAS)
    operands = [X, SKIP, SCALE]
    y, total = results("SkipSimplifiedLayerNormalization", operands, outputs=(0, 3), opset=opset, epsilon=1e-3)
    near(y, total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-3) * SCALE)
    alone = results("SimplifiedLayerNormalization", [X, SCALE], opset=opset, domain="", axis=-1)
    near(alone[0], X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5) * SCALE)


def test_a_layer_normalization_before_there_was_one() -> None:
    how = {"domain": "", "opset": 11, "axis": -1}
    near(results("LayerNormalization", [X, SCALE, BIAS], **how)[0], _normalized(X, 1e-5) * SCALE + BIAS)


def test_embeddings() -> None:
    words, places, kinds = (RNG.standard_normal((9, 12)).astype(np.float32) for _ in range(3))
    ids, segments = RNG.integers(0, 9, (2, 5)).astype(np.int32), RNG.integers(0, 2, (2, 5)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    operands = [ids, segments, words, places, kinds, SCALE, BIAS, mask]
    y, lengths = results("EmbedLayerNormalization", operands, outputs=(0, 1))
    near(y, _normalized(words[ids] + places[:5] + kinds[segments]) * SCALE + BIAS)
    np.testing.assert_array_equal(lengths, [3, 5])


CAUSAL = np.tril(np.ones((5, 5), bool))


@pytest.mark.parametrize("mask", [LENGTHS, MASK, np.repeat(MASK[:, None], 5, 1)])
@pytest.mark.parametrize("opset", [11, 17])
def test_attention_with_masks(mask: np.ndarray, opset: int) -> None:
    weights, bias = (RNG.standard_normal(shape).astype(np.float32) for shape in ((12, 36), (36,)))
    (y,) = results("Attention", [X, weights, bias, mask], opset=opset, num_heads=3)
    q, k, v = (heads(part) for part in np.split(X @ weights + bias, 3, axis=-1))
    near(y, attended(q, k, v, MASK[:, None, None] == 1))


def test_attention_with_a_past() -> None:
    weights, past = (RNG.standard_normal(shape).astype(np.float32) for shape in ((12, 36), (2, 2, 3, 4, 4)))
    how = {"num_heads": 3, "unidirectional": 1, "outputs": (0, 1), "scale": 0.3}
    y, present = results("Attention", [X, weights, None, None, past], **how)
    q, k, v = (heads(part) for part in np.split(X @ weights, 3, axis=-1))
    k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    near(present, np.stack([k, v]))
    near(y, attended(q, k, v, np.tril(np.ones((5, 9), bool), 4), 0.3))


def test_attention_of_several_heads() -> None:
    q, k, v = (RNG.standard_normal((2, 5, 12)).astype(np.float32) for _ in range(3))
    past = RNG.standard_normal((2, 3, 4, 4)).astype(np.float32)
    bias = RNG.standard_normal((1, 3, 5, 9)).astype(np.float32)
    operands = [q, k, v, None, None, bias, past, past]
    y, key, value = results("MultiHeadAttention", operands, num_heads=3, outputs=(0, 1, 2))
    whole = [np.concatenate([past, heads(x)], 2) for x in (k, v)]
    near(key, whole[0])
    near(value, whole[1])
    scores = heads(q) @ whole[0].swapaxes(-1, -2) / 2 + bias
    near(y, (softmax(scores) @ whole[1]).swapaxes(1, 2).reshape(2, 5, 12))
    (y,) = results("MultiHeadAttention", [q, *whole, None, LENGTHS], num_heads=3)  # keys and values have heads
    near(y, attended(heads(q), whole[0], whole[1], (np.arange(9) < LENGTHS[:, None])[:, None, None]))


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("with_heads", [False, True])
@pytest.mark.parametrize("positions", [np.array([2]), np.array([[4, 3, 2, 1, 0], [0, 1, 2, 3, 4]])])
def test_rotary_embedding(interleaved: int, with_heads: bool, positions: np.ndarray) -> None:
    angles = RNG.standard_normal((9, 2)).astype(np.float32)
    x = heads(X) if with_heads else X
    (y,) = results("RotaryEmbedding", [x, positions, np.cos(angles), np.sin(angles)], interleaved=interleaved)
    places = positions if positions.ndim == 2 else np.arange(2, 7)[None]
    parts = turned(heads(X), angles[places], interleaved)
    near(y, parts if with_heads else parts.swapaxes(1, 2).reshape(2, 5, 12))


@pytest.mark.parametrize(("room", "total"), [(6, 7), (16, 7), (4, 7)])  # a cache that grows by one, is a buffer, by 3
@pytest.mark.parametrize("window", [-1, 3])
def test_a_step_with_caches_of_groups(room: int, total: int, window: int) -> None:
    ends, size = np.array([6, 3], np.int32) if room > 4 else np.array([4, 3], np.int32), max(room, total)
    query, new = RNG.standard_normal((2, 1, 16)).astype(np.float32), RNG.standard_normal((2, 2, 1, 8))
    caches = RNG.standard_normal((2, 2, 2, room, 4)).astype(np.float32)
    key, value = (x.astype(np.float32) for x in new)
    angles = RNG.standard_normal((20, 2)).astype(np.float32)
    operands = [query, key, value, *caches, ends, np.array(total, np.int32), np.cos(angles), np.sin(angles)]
    how = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": window, "outputs": (0, 1, 2)}
    y, *found = results("GroupQueryAttention", operands, **how)
    turns = angles[ends[:, None]]
    wanted = []
    for cache, rows in zip(caches, (turned(heads(key, 2), turns, 0), heads(value, 2)), strict=True):
        wide = np.zeros((2, 2, size, 4), np.float32)
        for b, end in enumerate(ends):
            wide[b, :, :end], wide[b, :, end] = cache[b, :, :end], rows[b, :, 0]
        wanted.append(wide)
    near(found[0], wanted[0])
    near(found[1], wanted[1])
    apart = ends[:, None] - np.arange(size)
    kept = (apart >= 0) & (apart < (window if window > 0 else size))
    keys, values = (np.repeat(x, 2, axis=1) for x in wanted)
    near(y, attended(turned(heads(query, 4), turns, 0), keys, values, kept[:, None, None]))


def test_a_prompt_of_packed_queries_keys_and_values() -> None:
    packed = RNG.standard_normal((2, 5, 32)).astype(np.float32)
    empty = np.zeros((2, 2, 0, 4), np.float32)
    operands = [packed, None, None, empty, empty, np.array([4, 2], np.int32), np.array(5, np.int32)]
    y, key = results("GroupQueryAttention", operands, num_heads=4, kv_num_heads=2, softcap=2.0, outputs=(0, 1))
    q, k, v = (heads(part, n) for part, n in zip(np.split(packed, [16, 24], axis=-1), (4, 2, 2), strict=True))
    near(key, k)
    k, v = (np.repeat(x, 2, axis=1) for x in (k, v))
    scores = np.where(CAUSAL, 2 * np.tanh(q @ k.swapaxes(-1, -2) / 4), -1e30)
    near(y, (softmax(scores) @ v).swapaxes(1, 2).reshape(2, 5, 16))


def test_attention_of_integers() -> None:
    x, weights = RNG.integers(0, 256, (2, 5, 12)).astype(np.uint8), RNG.integers(-128, 128, (12, 36)).astype(np.int8)
    scale, own, bias = np.float32(0.01), RNG.random(36).astype(np.float32) / 99, RNG.random(36).astype(np.float32)
    operands = [x, weights, bias, scale, own, LENGTHS, np.uint8(128), np.int8(0)]
    (y,) = results("QAttention", operands, num_heads=3)
    floats = ((x.astype(np.int32) - 128) @ weights.astype(np.int32)) * (scale * own) + bias
    q, k, v = (heads(part) for part in np.split(floats, 3, axis=-1))
    near(y, attended(q, k, v, MASK[:, None, None] == 1))


def test_products_with_transposed_operands() -> None:
    a, b = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 4, 3), (5, 4)))
    near(results("FusedMatMul", [a, b], transA=1, transB=1, alpha=0.5)[0], 0.5 * a.swapaxes(1, 2) @ b.T)
    rows, columns = (RNG.standard_normal(shape).astype(np.float32) for shape in ((4, 3), (6, 3)))
    apart = ((rows[:, None] - columns[None]) ** 2).sum(-1)
    near(results("CDist", [rows, columns], metric="euclidean")[0], np.sqrt(apart))
    product = RNG.standard_normal((3, 5)).astype(np.float32)
    (y,) = results("FusedGemm", [rows, product], activation="LeakyRelu", activation_alpha=0.5)
    near(y, np.where(rows @ product < 0, 0.5, 1) * (rows @ product))


def test_convolution_with_a_sum_and_an_activation() -> None:
    x, w, z = (RNG.standard_normal(s).astype(np.float32) for s in ((1, 3, 4, 4), (2, 3, 1, 1), (1, 2, 4, 4)))
    (y,) = results("FusedConv", [x, w, None, z], activation="Clip", activation_params=[-0.5, 0.5])
    near(y, np.clip(np.einsum("oc,ncij->noij", w[:, :, 0, 0], x) + z, -0.5, 0.5))


def test_group_normalization_of_channels_that_come_last() -> None:
    x = RNG.standard_normal((2, 3, 4, 12)).astype(np.float32)
    (y,) = results("GroupNorm", [x, SCALE, BIAS], groups=4, activation=1)
    groups = x.reshape(2, 3, 4, 4, 3)
    mean, variance = (f(groups, axis=(1, 2, 4), keepdims=True) for f in (np.mean, np.var))
    scaled = ((groups - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * SCALE + BIAS
    near(y, scaled / (1 + np.exp(-scaled)))


def test_sums_of_quantized_tensors() -> None:
    a, b = (RNG.integers(0, 256, (3, 7)).astype(np.uint8) for _ in range(2))
    scales, zeros = [np.float32(s) for s in (0.02, 0.03, 0.04)], [np.uint8(z) for z in (3, 120, 128)]
    floats = [(x.astype(np.float32) - z) * s for x, z, s in zip((a, b), zeros, scales, strict=False)]
    for op_type, exact in (("QLinearAdd", floats[0] + floats[1]), ("QLinearMul", floats[0] * floats[1])):
        (y,) = results(op_type, [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]])
        np.testing.assert_array_equal(y, np.clip(np.round(exact / scales[2]) + zeros[2], 0, 255))


def test_selections_of_quantized_tensors() -> None:
    a, b = (RNG.integers(0, 256, (3, 7)).astype(np.uint8) for _ in range(2))
    scales, zeros = [np.float32(s) for s in (0.02, 0.03, 0.04)], [np.uint8(z) for z in (3, 120, 128)]
    chosen = RNG.integers(0, 2, (3, 7)).astype(bool)
    first, second = ((x.astype(np.float32) - z) * s for x, z, s in zip((a, b), zeros, scales, strict=False))
    operands = [chosen, a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]]
    (y,) = results("QLinearWhere", operands, free=(0,))
    wanted = np.round(np.where(chosen, first, second) / scales[2]) + zeros[2]
    np.testing.assert_array_equal(y, np.clip(wanted, 0, 255))


def test_a_quantized_gemm() -> None:
    a, b = RNG.integers(0, 256, (3, 4)).astype(np.uint8), RNG.integers(-128, 128, (5, 4)).astype(np.int8)
    step, own = np.float32(0.5), np.arange(1, 6, dtype=np.float32) / 8
    bias = np.arange(5, dtype=np.int32) * 100
    (y,) = results("QGemm", [a, step, np.uint8(9), b, own, np.zeros(5, np.int8), bias], transB=1)
    near(y, ((a.astype(np.int32) - 9) @ b.T.astype(np.int32) + bias) * (step * own))


def test_weights_of_four_bits_in_blocks() -> None:
    numbers, zeros = RNG.integers(0, 16, (7, 3, 16)), RNG.integers(0, 16, (7, 4))  # 3 blocks, and one to fill bytes
    packed, packed_zeros = ((v[..., ::2] + 16 * v[..., 1::2]).astype(np.uint8) for v in (numbers, zeros))
    scales = RNG.random((7, 3)).astype(np.float32)
    x = RNG.standard_normal((2, 40)).astype(np.float32)
    operands = [x, packed, scales, packed_zeros.reshape(-1)]
    (y,) = results("MatMulNBits", operands, K=40, N=7, bits=4, block_size=16)
    near(y, x @ ((numbers - zeros[:, :3, None]) * scales[..., None]).reshape(7, 48)[:, :40].T)


def test_it_runs() -> None:
    model, inputs = model_of("SkipLayerNormalization", [X, SKIP, SCALE, BIAS])
    program = mnc.compile(model)
    near(program.run(inputs)["y0"], _normalized(X + SKIP) * SCALE + BIAS)


def test_half_precision_keeps_its_type() -> None:
    model, _ = model_of("FastGelu", [X.astype(np.float16), BIAS.astype(np.float16)], opset=11)
    assert "tensor<2x5x12xf16>" in str(import_model(model, make_context(["graph"])))


def test_forms_that_are_not_supported_are_refused() -> None:
    model, _ = model_of("Attention", [X, RNG.standard_normal((12, 36)).astype(np.float32)], num_heads=3, do_rotary=1)
    with pytest.raises(CompileError, match="do_rotary") as caught:
        import_model(model, make_context(["graph"]))
    assert caught.value.node == "own"
    assert "RotaryEmbedding" in str(caught.value.hint)
    operands = [X, SKIP, SCALE]
    with pytest.raises(CompileError, match="'y1' is not supported"):
        import_model(model_of("SkipLayerNormalization", operands, outputs=(0, 1))[0], make_context(["graph"]))
