"""Operators of ai.onnx.ml that prepare features, against the reference of ONNX."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from ml_models import DOMAIN, check_ml, ml_model, open_float

KINDS = (np.float32, np.float64, np.int64, np.int32)


def _numbers(shape: tuple[int, ...], kind: Any = np.float32) -> np.ndarray:
    return (np.random.default_rng(len(shape)).standard_normal(shape) * 3).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(6, 5), (2, 3, 4)])
@pytest.mark.parametrize("count", ["one", "each"])
def test_scaler(kind: Any, shape: tuple[int, ...], count: str) -> None:
    extent = 1 if count == "one" else shape[-1]
    offset, scale = (list(_numbers((extent,)) + i) for i in range(2))
    check_ml("Scaler", {"x": _numbers(shape, kind)}, offset=offset, scale=scale)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(kind: Any, norm: str) -> None:
    x = _numbers((7, 5), kind)
    x[2] = 0
    check_ml("Normalizer", {"x": x}, norm=norm)
    check_ml("Normalizer", {"x": x[0]}, norm=norm)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threshold", [0.0, 1.5, -2.5])
def test_binarizer(kind: Any, threshold: float) -> None:
    check_ml("Binarizer", {"x": _numbers((4, 6), kind)}, threshold=threshold)


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("missing", [float("nan"), 2.0])
def test_imputer_of_floats(count: int, missing: float) -> None:
    x = _numbers((9, 5))
    x[::2, 1] = x[3, 4] = missing
    check_ml("Imputer", {"x": x}, imputed_value_floats=list(_numbers((count,))), replaced_value_float=missing)


@pytest.mark.parametrize("count", [1, 4])
def test_imputer_of_integers(count: int) -> None:
    x = np.arange(12).reshape(3, 4) % 5
    check_ml("Imputer", {"x": x}, imputed_value_int64s=list(range(7, 7 + count)), replaced_value_int64=3)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)])
@pytest.mark.parametrize("indices", [[0, 4, 2], [[3, 1]], [2]])
def test_array_feature_extractor(shape: tuple[int, ...], indices: list[Any]) -> None:
    check_ml("ArrayFeatureExtractor", {"x": _numbers(shape), "i": np.array(indices, np.int64)})


def test_feature_vectorizer_cuts_and_fills() -> None:
    inputs = {"a": _numbers((3, 4)), "b": np.arange(6, dtype=np.int64).reshape(3, 2), "c": _numbers((3, 3))}
    check_ml("FeatureVectorizer", inputs, inputdimensions=[4, 3, 2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(6,), (3, 2)])
def test_one_hot_encoder(kind: Any, shape: tuple[int, ...]) -> None:
    x = np.arange(6).reshape(shape).astype(kind)
    check_ml("OneHotEncoder", {"x": x}, cats_int64s=[1, 4, 2], zeros=1)


@pytest.mark.parametrize("keys", ["keys_int64s", "keys_floats"])
@pytest.mark.parametrize("values", ["values_int64s", "values_floats"])
def test_label_encoder(keys: str, values: str) -> None:
    kind = np.int64 if keys == "keys_int64s" else np.float32
    x = np.arange(8).reshape(2, 4).astype(kind)
    table: dict[str, Any] = {keys: [3, 5, 0, 7], values: [10, -4, 2, 9], "default_int64": 77, "default_float": 0.5}
    if keys == "keys_floats":
        table[keys] = [float(v) for v in table[keys]]
    if values == "values_floats":
        table[values] = [float(v) / 4 for v in table[values]]
    check_ml("LabelEncoder", {"x": x}, version=2, **table)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.float64])
def test_label_encoder_with_tensors(kind: Any) -> None:
    table: dict[str, Any] = {
        "keys_tensor": numpy_helper.from_array(np.array([1, 4, 6], kind)),
        "values_tensor": numpy_helper.from_array(np.array([3, 8, 2], kind)),
        "default_tensor": numpy_helper.from_array(np.array([5], kind)),
    }
    check_ml("LabelEncoder", {"x": np.arange(8).astype(kind)}, version=4, **table)


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        ("Scaler", {"offset": [1.0, 2.0], "scale": [1.0]}, "2 numbers, for 3 features"),
        ("Imputer", {"imputed_value_floats": [1.0, 2.0]}, "2 numbers, for 3 features"),
        ("Normalizer", {"norm": "L3"}, "norm is 'L3'"),
    ],
)
def test_refusals_name_the_node(operator: str, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        import_model(ml_model(operator, {"x": np.ones((2, 3), np.float32)}, **attributes), make_context(["graph"]))


@pytest.mark.parametrize(
    ("operator", "attributes", "version"),
    [
        ("OneHotEncoder", {"cats_strings": ["a"]}, 1),
        ("LabelEncoder", {"keys_int64s": [1], "values_strings": ["a"]}, 2),
        ("LabelEncoder", {"classes_strings": ["a"]}, 1),
        ("CategoryMapper", {"cats_int64s": [1], "cats_strings": ["a"]}, 1),
    ],
)
def test_strings_are_refused(operator: str, attributes: dict[str, Any], version: int) -> None:
    model = ml_model(operator, {"x": np.ones((2, 3), np.int64)}, version=version, **attributes)
    kind = TensorProto.FLOAT if operator == "OneHotEncoder" else TensorProto.STRING
    rank = 3 if operator == "OneHotEncoder" else 2
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", kind, [None] * rank))
    with pytest.raises(CompileError, match=r"strings|not supported"):
        import_model(model, make_context(["graph"]))


def test_maps_are_refused_with_a_way_around() -> None:
    model = ml_model("ZipMap", {"x": np.ones((2, 1), np.float32)}, classlabels_int64s=[1])
    numbers = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, numbers))
    model.graph.output[0].type.CopyFrom(maps)
    with pytest.raises(CompileError, match="'zipmap': False"):
        import_model(model, make_context(["graph"]))


def _chain(*operators: tuple[str, str, dict[str, Any]], shape: tuple[int, ...] = (2, 3)) -> onnx.ModelProto:
    nodes = [
        helper.make_node(name, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}", domain=domain, **attributes)
        for i, (domain, name, attributes) in enumerate(operators)
    ]
    entry = helper.make_tensor_value_info("v0", TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "chain", [entry], [open_float(f"v{len(nodes)}")])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 3), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize("domain", [DOMAIN, "own"])
def test_an_unsupported_operator_is_named_not_its_reader(domain: str) -> None:
    name = "DictVectorizer" if domain == DOMAIN else "Secret"
    model = _chain((DOMAIN, "Scaler", {"offset": [0.0], "scale": [2.0]}), (domain, name, {}), ("", "Identity", {}))
    with pytest.raises(CompileError, match=f"operator {name} of domain '{domain}' is not supported"):
        import_model(model, make_context(["graph"]))


def test_a_chain_is_compiled_and_fills_gaps() -> None:
    scale = {"offset": [0.5, -1.0, 0.0], "scale": [2.0, 1.0, 4.0]}
    imputed = {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")}
    model = _chain((DOMAIN, "Imputer", imputed), (DOMAIN, "Scaler", scale), ("", "Neg", {}))
    x = np.array([[1, np.nan, 2], [np.nan, 0, np.nan]], np.float32)
    want = -(np.where(np.isnan(x), imputed["imputed_value_floats"], x) - scale["offset"]) * scale["scale"]
    np.testing.assert_allclose(mnc.compile(model).run({"v0": x})["v3"], want, rtol=1e-6)
