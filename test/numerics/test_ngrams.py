"""Counting n-grams of integers: all modes, gaps, several lists, against the reference."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import mnc
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator


def _model(shape: list[int], **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **attributes)
    result = [*shape[:-1], max(attributes["ngram_indexes"]) + 1]
    graph = helper.make_graph(
        [node], "ngrams",
        [helper.make_tensor_value_info("x", TensorProto.INT32, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("seed", range(12))
def test_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mode, weighs = ["TF", "IDF", "TFIDF"][seed % 3], seed % 4 > 1
    shape = [int(rng.integers(1, 12))] if seed % 2 else [int(rng.integers(1, 4)), int(rng.integers(1, 12))]
    counts, pool, starts = rng.integers(0, 5, 3), [], []
    counts[0] += not counts.any()
    for size, count in enumerate(counts, 1):
        starts.append(len(pool))
        pool += rng.integers(0, 3, size * count).tolist()  # some n-grams are there twice
    places = rng.integers(0, 2 * counts.sum(), counts.sum()).tolist()
    smallest = int(rng.integers(1, 4))
    count = max(places) + 1
    weights = rng.standard_normal(count).astype(np.float32) if weighs else np.ones(count, np.float32)
    attributes = {
        "mode": mode, "min_gram_length": smallest, "max_gram_length": int(rng.integers(smallest, 4)),
        "max_skip_count": int(rng.integers(0, 4)), "ngram_counts": starts, "ngram_indexes": places, "pool_int64s": pool,
    }  # fmt: skip
    model = _model(shape, **attributes, weights=weights.tolist())
    inputs = {"x": rng.integers(0, 3, shape).astype(np.int32)}
    wanted = np.asarray(evaluator(model).run(None, inputs)[0])
    program = mnc.compile(model if weighs else _model(shape, **attributes))  # the reference wants weights for all modes
    found = program.run(inputs if program.inputs else {})["y"]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


GIVEN = {
    "mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
    "ngram_indexes": [0, 1], "pool_int64s": [3, 4],
}  # fmt: skip
REFUSED = [
    ([3], {"mode": "XY"}, "mode 'XY' does not exist"),
    ([3], {"pool_int64s": None, "pool_strings": ["a", "b"]}, "its n-grams are strings"),
]


@pytest.mark.parametrize(("shape", "changed", "message"), REFUSED)
def test_what_is_refused(shape: list[int], changed: dict[str, Any], message: str) -> None:
    attributes = {name: value for name, value in {**GIVEN, **changed}.items() if value is not None}
    model = _model(shape, **attributes)
    del model.graph.output[0].type.tensor_type.shape.dim[1:]
    with pytest.raises(CompileError, match=message):
        mnc.compile(model)
