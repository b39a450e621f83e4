"""Types of the results of the operators of domain ai.onnx.ml, most of which the inference of ONNX leaves out.

The rules are those of the operator specifications (https://onnx.ai/onnx/operators/, "ai.onnx.ml"): an input of one
dimension is a single row, and what is computed is float, whatever the type of the input.
"""

from collections.abc import Callable, Sequence
from typing import Any

import onnx

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.unsupported_hints import unsupported_hint

ML_DOMAIN = "ai.onnx.ml"
_TYPES = onnx.TensorProto


class _Operands:
    """Attributes of a node, and static shapes and element types of what it reads."""

    def __init__(self, node: onnx.NodeProto, types: Sequence[onnx.TypeProto]) -> None:
        self._attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        self.kinds = [type_.tensor_type.elem_type for type_ in types]
        self.shapes = [[dim.dim_value for dim in type_.tensor_type.shape.dim] for type_ in types]
        self.rows = self.shapes[0][0] if len(self.shapes[0]) > 1 else 1

    def attribute(self, name: str, default: Any) -> Any:
        """Value of an attribute."""
        return self._attributes.get(name, default)

    def count(self, *names: str) -> int:
        """Length of the first of these lists that is there."""
        return next((len(self._attributes[name]) for name in names if name in self._attributes), 0)


def _tensor(kind: int, shape: Sequence[int]) -> onnx.TypeProto:
    return onnx.helper.make_tensor_type_proto(kind, list(shape))


def _same(x: _Operands) -> list[onnx.TypeProto]:
    return [_tensor(x.kinds[0], x.shapes[0])]


def _as_float(x: _Operands) -> list[onnx.TypeProto]:
    return [_tensor(_TYPES.FLOAT, x.shapes[0])]


def _extracted(x: _Operands) -> list[onnx.TypeProto]:
    count = 1
    for extent in x.shapes[1]:
        count *= extent
    return [_tensor(x.kinds[0], [*(x.shapes[0][:-1] or [1]), count])]


def _joined(x: _Operands) -> list[onnx.TypeProto]:
    return [_tensor(_TYPES.FLOAT, [x.shapes[0][0], sum(x.attribute("inputdimensions", []))])]


def _one_hot(x: _Operands) -> list[onnx.TypeProto]:
    return [_tensor(_TYPES.FLOAT, [*x.shapes[0], x.count("cats_int64s", "cats_strings")])]


def _encoded(x: _Operands) -> list[onnx.TypeProto]:
    named = {"values_floats": _TYPES.FLOAT, "values_int64s": _TYPES.INT64, "values_strings": _TYPES.STRING}
    kinds = [kind for name, kind in named.items() if x.attribute(name, None)]
    table = x.attribute("values_tensor", None)
    kinds += [table.data_type] if table is not None else []
    return [_tensor(kinds[0] if kinds else _TYPES.UNDEFINED, x.shapes[0])]


def _targets(name: str) -> Callable[[_Operands], list[onnx.TypeProto]]:
    return lambda x: [_tensor(_TYPES.FLOAT, [x.rows, x.attribute(name, 1)])]


def _trees(x: _Operands) -> list[onnx.TypeProto]:
    return [_tensor(x.kinds[0], [x.rows, x.attribute("n_targets", 1)])]


def _classified(x: _Operands, scores: int) -> list[onnx.TypeProto]:
    kind = _TYPES.STRING if x.attribute("classlabels_strings", []) else _TYPES.INT64
    return [_tensor(kind, [x.rows]), _tensor(_TYPES.FLOAT, [x.rows, scores])]


def _linear_classes(x: _Operands) -> list[onnx.TypeProto]:
    classes = x.count("classlabels_ints", "classlabels_strings")
    scores = x.count("coefficients") // max(x.shapes[0][-1], 1)
    return _classified(x, 2 if scores == 1 and classes == 2 else scores) if scores else []


def _tree_classes(x: _Operands) -> list[onnx.TypeProto]:
    return _classified(x, x.count("classlabels_int64s", "classlabels_strings"))


def _vector_classes(x: _Operands) -> list[onnx.TypeProto]:
    classes = x.count("classlabels_ints", "classlabels_strings")
    of_pairs = x.count("vectors_per_class") and not x.count("prob_a")
    return _classified(x, max(classes * (classes - 1) // 2, 2) if of_pairs else classes)


_NUMERIC_ENCODER = 2
"""Version from which on LabelEncoder knows numbers on both sides."""


def check_inferable(model: onnx.ModelProto, file_name: str) -> None:
    """Raise CompileError for operators on maps and strings that ONNX's inference cannot be asked about: where the type
    of the operand is unknown, it ends the process."""
    version = next((entry.version for entry in model.opset_import if entry.domain == ML_DOMAIN), 1)
    for node in model.graph.node:
        is_map = node.op_type == "DictVectorizer" or (node.op_type == "LabelEncoder" and version < _NUMERIC_ENCODER)
        if node.domain == ML_DOMAIN and is_map:
            message = f"operator {node.op_type} of domain '{ML_DOMAIN}' is not supported"
            hint = unsupported_hint(node.op_type, (), ML_DOMAIN)
            raise CompileError(message, node.name or next(iter(node.output), None), node.op_type, hint, file_name)


_RULES: dict[str, Callable[[_Operands], list[onnx.TypeProto]]] = {
    "ArrayFeatureExtractor": _extracted,
    "Binarizer": _same,
    "FeatureVectorizer": _joined,
    "Imputer": _same,
    "LabelEncoder": _encoded,
    "LinearClassifier": _linear_classes,
    "LinearRegressor": _targets("targets"),
    "Normalizer": _as_float,
    "OneHotEncoder": _one_hot,
    "SVMClassifier": _vector_classes,
    "SVMRegressor": _targets(""),
    "Scaler": _as_float,
    "TreeEnsemble": _trees,
    "TreeEnsembleClassifier": _tree_classes,
    "TreeEnsembleRegressor": _targets("n_targets"),
}


def ml_types(node: onnx.NodeProto, types: Sequence[onnx.TypeProto]) -> list[onnx.TypeProto]:
    """Types of the results of a node of ai.onnx.ml whose operands have these types, of static shape and at least one
    dimension each; none of an operator that is not known."""
    rule = _RULES.get(node.op_type)
    operands = _Operands(node, types)
    if rule is None or not all(operands.shapes):
        return []
    return [type_ for type_ in rule(operands) if type_.tensor_type.elem_type]
