"""Attention of ONNX Runtime with packed operands, buffers and sinks, against numpy."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mnc
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from runtime_models import MASK, attended, heads, model_of, near, results, softmax

RNG = np.random.default_rng(1)
X = RNG.standard_normal((2, 5, 12)).astype(np.float32)
Q, K, V = (RNG.standard_normal((2, 5, 12)).astype(np.float32) for _ in range(3))
ALL = np.ones((5, 5), bool)
PAST = np.array([3], np.int32)


def _packed(*parts: np.ndarray) -> np.ndarray:
    """[batch, place, head, part, size] of parts [batch, place, hidden]."""
    return np.stack([part.reshape(2, 5, 3, 4) for part in parts], 3)


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_packed_operands(opset: int) -> None:
    bias = RNG.standard_normal(36).astype(np.float32)
    for operands in ([_packed(Q, K, V)], [Q, _packed(K, V)]):
        (y,) = results("MultiHeadAttention", operands, num_heads=3, opset=opset)
        near(y, attended(heads(Q), heads(K), heads(V), ALL))
    (y,) = results("MultiHeadAttention", [_packed(Q, K, V), None, None, bias, MASK], num_heads=3, opset=opset)
    q, k, v = (heads(x + own) for x, own in zip((Q, K, V), np.split(bias, 3), strict=True))
    near(y, attended(q, k, v, MASK[:, None, None] == 1))


def test_queries_without_keys_that_are_not_packed_are_refused() -> None:
    model, _ = model_of("MultiHeadAttention", [X], num_heads=3)
    with pytest.raises(CompileError, match=r"'axis'\. Rank=3") as caught:
        import_model(model, make_context(["graph"]))
    assert "null" not in str(caught.value)  # what only follows from it is left out


def test_a_bias_of_values_that_are_longer_than_queries() -> None:
    values, bias = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 5, 18), (42,)))
    (y,) = results("MultiHeadAttention", [Q, K, values, bias], num_heads=3)
    q, k, v = (heads(x + own) for x, own in zip((Q, K, values), np.split(bias, [12, 24]), strict=True))
    near(y, attended(q, k, v, ALL))


def _filled(buffer: np.ndarray, past: int, rows: np.ndarray) -> np.ndarray:
    """A buffer [batch, head, room, size] with rows behind the past, and zeros behind them."""
    wide = np.zeros_like(buffer)
    wide[:, :, :past] = buffer[:, :, :past]
    wide[:, :, past : past + rows.shape[2]] = rows
    return wide


@pytest.mark.parametrize("free", [(), (8,)])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("masked", [None, np.array([[1] * 8, [0] * 2 + [1] * 6], np.int32)])
def test_caches_that_are_buffers(free: tuple[int, ...], causal: int, masked: np.ndarray | None) -> None:
    caches = RNG.standard_normal((2, 2, 3, 10, 4)).astype(np.float32)
    bias = RNG.standard_normal((1, 3, 5, 8)).astype(np.float32)
    operands = [Q, K, V, None, masked, bias, *caches, PAST]
    how: dict[str, Any] = {"num_heads": 3, "unidirectional": causal, "outputs": (0, 1, 2), "free": free}
    y, *found = results("MultiHeadAttention", operands, **how)
    wanted = [_filled(cache, 3, heads(x)) for cache, x in zip(caches, (K, V), strict=True)]
    for one, other in zip(found, wanted, strict=True):
        near(one, other)
    keys, values = (x[:, :, :8] for x in wanted)
    kept = np.tril(np.ones((5, 8), bool), 3 if causal else 8)[None, None]
    kept = kept if masked is None else kept & (masked[:, None, None] == 1)
    scores = np.where(kept, heads(Q) @ keys.swapaxes(-1, -2) / 2 + bias, -1e30)
    near(y, (softmax(scores) @ values).swapaxes(1, 2).reshape(2, 5, 12))


def test_a_past_and_a_present_in_one_buffer() -> None:
    weights, past = (RNG.standard_normal(shape).astype(np.float32) for shape in ((12, 36), (2, 2, 3, 10, 4)))
    how: dict[str, Any] = {"num_heads": 3, "unidirectional": 1, "past_present_share_buffer": 1, "outputs": (0, 1)}
    y, present = results("Attention", [X, weights, None, None, past, None, PAST], free=(6,), **how)
    q, k, v = (heads(part) for part in np.split(X @ weights, 3, axis=-1))
    wanted = [_filled(old, 3, new) for old, new in zip(past, (k, v), strict=True)]
    near(present, np.stack(wanted))
    keys, values = (x[:, :, :8] for x in wanted)
    near(y, attended(q, keys, values, np.tril(np.ones((5, 8), bool), 3)))
    with pytest.raises(CompileError, match="length of the past"):
        import_model(model_of("Attention", [X, weights, None, None, past], **how)[0], make_context(["graph"]))


@pytest.mark.parametrize("free", [(), (3,)])
def test_masks_of_ends_and_beginnings(free: tuple[int, ...]) -> None:
    weights = RNG.standard_normal((12, 36)).astype(np.float32)
    (y,) = results("Attention", [X, weights, None, np.array([4, 5, 1, 2], np.int32)], num_heads=3, free=free)
    q, k, v = (heads(part) for part in np.split(X @ weights, 3, axis=-1))
    places = np.arange(5)
    kept = (places < np.array([[4], [5]])) & (places >= np.array([[1], [2]]))
    near(y, attended(q, k, v, kept[:, None, None]))


def test_a_mask_with_rows_for_all_places() -> None:
    """[batch, 1, room, room]: the rows of the new places are those behind the past."""
    weights, past = (RNG.standard_normal(shape).astype(np.float32) for shape in ((12, 36), (2, 2, 3, 4, 4)))
    mask = np.tril(np.ones((2, 1, 12, 12), np.int32))
    (y,) = results("Attention", [X, weights, None, mask, past], num_heads=3)
    q, k, v = (heads(part) for part in np.split(X @ weights, 3, axis=-1))
    k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    near(y, attended(q, k, v, np.tril(np.ones((5, 9), bool), 4)))


@pytest.mark.parametrize("sink", [None, np.array([0.5, -1, 2, 0], np.float32)])
def test_sinks_take_a_share(sink: np.ndarray | None) -> None:
    query, key, value = (RNG.standard_normal((2, 5, size)).astype(np.float32) for size in (16, 8, 8))
    empty = np.zeros((2, 2, 0, 4), np.float32)
    operands = [query, key, value, empty, empty, np.array([4, 4], np.int32), np.array(5, np.int32)]
    how = {"num_heads": 4, "kv_num_heads": 2, "smooth_softmax": int(sink is None)}
    (y,) = results("GroupQueryAttention", [*operands, None, None, None, None, sink], **how)
    keys, values = (np.repeat(heads(x, 2), 2, axis=1) for x in (key, value))
    scores = np.where(np.tril(ALL), heads(query, 4) @ keys.swapaxes(-1, -2) / 2, -1e30)
    own = np.broadcast_to(np.zeros(4, np.float32) if sink is None else sink, (2, 5, 4)).swapaxes(1, 2)[..., None]
    shares = softmax(np.concatenate([scores, own], -1))[..., :-1]
    near(y, (shares @ values).swapaxes(1, 2).reshape(2, 5, 16))


def test_a_step_with_buffers_runs() -> None:
    packed, caches = (RNG.standard_normal(s).astype(np.float32) for s in ((1, 1, 2, 3, 4), (2, 1, 2, 6, 4)))
    model, inputs = model_of(
        "MultiHeadAttention", [packed, *[None] * 5, *caches, PAST], (0, 1), num_heads=2, free=(8,)
    )  # fmt: skip
    found = mnc.compile(model, mnc.Options(effort="quick")).run(inputs)
    query, key, value = (packed[:, :, :, i].swapaxes(1, 2) for i in range(3))
    keys, values = (_filled(cache, 3, x) for cache, x in zip(caches, (key, value), strict=True))
    near(found["y1"], keys)
    wanted = attended(query, keys[:, :, :4], values[:, :, :4], np.ones((1, 4), bool))
    np.testing.assert_allclose(found["y0"], wanted, rtol=1e-3, atol=1e-3)
