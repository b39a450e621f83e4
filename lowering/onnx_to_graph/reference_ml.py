"""Operators of ai.onnx.ml that the ONNX reference gets wrong, put right.

- Results that are float by the specification: the reference gives integers and doubles for such inputs.
- Linear models without intercepts: the reference adds NaN.
- Post-transforms of regressors: the reference has none.
- Normalizer, linear models and trees on a vector, which is a single row.
- LabelEncoder with tensors of several elements, trees with numbers in tensors: the reference raises.
- A leaf of a classifier without weights: the reference raises.
- TreeEnsemble: see `reference_trees`.
"""

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.aionnxml._common_classifier import logistic, probit, softmax, softmax_zero
from onnx.reference.ops.aionnxml.op_feature_vectorizer import FeatureVectorizer
from onnx.reference.ops.aionnxml.op_label_encoder import LabelEncoder
from onnx.reference.ops.aionnxml.op_linear_classifier import LinearClassifier
from onnx.reference.ops.aionnxml.op_linear_regressor import LinearRegressor
from onnx.reference.ops.aionnxml.op_normalizer import Normalizer
from onnx.reference.ops.aionnxml.op_scaler import Scaler
from onnx.reference.ops.aionnxml.op_svm_classifier import SVMClassifier
from onnx.reference.ops.aionnxml.op_svm_regressor import SVMRegressor
from onnx.reference.ops.aionnxml.op_tree_ensemble_classifier import TreeEnsembleClassifier
from onnx.reference.ops.aionnxml.op_tree_ensemble_regressor import TreeEnsembleRegressor

from mnc.lowering.onnx_to_graph.reference_trees import TreeEnsemble

TRANSFORMS = {"LOGISTIC": logistic, "PROBIT": probit, "SOFTMAX": softmax, "SOFTMAX_ZERO": softmax_zero}


def _floating(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind == "f" else array.astype(np.float32)


def _float_results(operator: Any, rows: bool = False) -> type[OpRun]:
    """An operator that computes in floats and gives float32; with `rows`, a vector is a matrix of one row."""

    class FloatResults(operator):
        def _run(self, *operands: Any, **attributes: Any) -> Any:
            given = [_floating(operand) for operand in operands]
            if rows and given[0].ndim == 1:
                given[0] = given[0][np.newaxis]
            results = super()._run(*given, **attributes)
            return tuple(r.astype(np.float32) if r.dtype.kind == "f" else r for r in results)

    FloatResults.__name__ = operator.__name__
    return FloatResults


def _with_transform(operator: Any) -> type[OpRun]:
    """A regressor whose post-transform is that of the classifiers."""

    class Transformed(operator):
        def _run(self, *operands: Any, post_transform: str | None = None, **attributes: Any) -> Any:
            (scores,) = super()._run(*operands, post_transform="NONE", **attributes)
            transform = TRANSFORMS.get(post_transform or "NONE")
            return (scores if transform is None else np.asarray(transform(scores.astype(np.float64))),)

    Transformed.__name__ = operator.__name__
    return Transformed


def _with_intercepts(operator: Any) -> type[OpRun]:
    """A linear model that adds 0 where it has no intercepts."""

    class WithIntercepts(operator):
        def _run(self, *operands: Any, intercepts: Any = None, **attributes: Any) -> Any:
            return super()._run(*operands, intercepts=[0.0] if intercepts is None else intercepts, **attributes)

    WithIntercepts.__name__ = operator.__name__
    return WithIntercepts


def _with_lists(operator: Any, leaf: str) -> type[OpRun]:
    """A tree ensemble whose numbers may be in tensors, and whose leaves (`leaf` is "class" or "target") may lack
    weights: they weigh 0."""

    class WithLists(operator):
        def _run(self, *operands: Any, **attributes: Any) -> Any:
            for name in [name for name in attributes if name.endswith("_as_tensor")]:
                tensor = attributes.pop(name)
                if tensor is not None:
                    attributes[name.removesuffix("_as_tensor")] = tensor.reshape(-1).tolist()
            columns = [list(attributes[f"{leaf}_{name}"]) for name in ("treeids", "nodeids", "ids", "weights")]
            nodes = [attributes[f"nodes_{name}"] for name in ("treeids", "nodeids", "modes")]
            weighted = set(zip(*columns[:2], strict=True))
            for tree, place, mode in zip(*nodes, strict=True):
                if mode == "LEAF" and (tree, place) not in weighted:
                    for column, value in zip(columns, (tree, place, columns[2][0], 0.0), strict=True):
                        column.append(value)
            for name, column in zip(("treeids", "nodeids", "ids", "weights"), columns, strict=True):
                attributes[f"{leaf}_{name}"] = column
            return super()._run(*operands, **attributes)

    WithLists.__name__ = operator.__name__
    return WithLists


class VectorNormalizer(Normalizer):
    """Normalizer of a matrix, or of a vector as its only row."""

    def _run(self, x: np.ndarray, norm: str | None = None) -> Any:
        return (super()._run(np.atleast_2d(x), norm=norm)[0].reshape(x.shape),)


class TableLabelEncoder(LabelEncoder):
    """LabelEncoder whose keys and values may be tensors."""

    def _run(self, x: np.ndarray, **attributes: Any) -> Any:
        for name in ("keys_tensor", "values_tensor"):
            if attributes.get(name) is not None and attributes[name].dtype.kind in "fiu":
                attributes[name] = attributes[name].reshape(-1).tolist()
        default = attributes.get("default_tensor")
        if default is None and attributes.get("values_tensor") is not None:
            attributes["default_tensor"] = np.array(-1)
        return super()._run(x, **attributes)


VectorNormalizer.__name__ = "Normalizer"
TableLabelEncoder.__name__ = "LabelEncoder"

CORRECTED_ML: list[type[OpRun]] = [
    _float_results(FeatureVectorizer),
    _float_results(_with_intercepts(LinearClassifier), rows=True),
    _float_results(_with_transform(_with_intercepts(LinearRegressor)), rows=True),
    _float_results(VectorNormalizer),
    _float_results(Scaler),
    _float_results(SVMClassifier, rows=True),
    _float_results(_with_transform(SVMRegressor), rows=True),
    _float_results(_with_lists(TreeEnsembleClassifier, "class"), rows=True),
    _float_results(_with_transform(_with_lists(TreeEnsembleRegressor, "target")), rows=True),
    TreeEnsemble,
]
"""Classes that the evaluator takes instead of its own, by their names and domain."""
