"""Operators of ai.onnx.ml that map numbers to numbers by a table.

Every element is compared with every key. Strings are refused: the machine has none.
"""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, reshape, shape_of


def _no_strings(node: Node, attribute: str) -> CompileError:
    return node.error(
        f"attribute '{attribute}' has strings, which the machine does not have",
        hint="number the categories before the model is trained and exported, or cut the model here",
    )


def _beside(x: Any) -> Any:
    """The tensor with a last dimension, along which its elements meet a table."""
    return reshape(x, [*shape_of(x), 1])


def one_hot_encoder(node: Node) -> Any:
    """OneHotEncoder: 1 in the column of the category; a row of zeros for a number that is none.

    With `zeros` = 0 the specification asks for an error there, which a program cannot raise.
    """
    if node.attribute("cats_strings"):
        raise _no_strings(node, "cats_strings")
    x = node.operand(0)
    categories = np.array(node.attribute("cats_int64s", []))
    if not categories.size:
        raise node.error("has no categories", hint="give them in cats_int64s")
    hit = graph.Equal.build(_beside(x), constant(categories, like=x)).result
    return cast(hit, ir.F32Type.get())


def _table(node: Node, what: str) -> np.ndarray:
    """Keys or values of a LabelEncoder."""
    if node.attribute(f"{what}_strings"):
        raise _no_strings(node, f"{what}_strings")
    for name, dtype in ((f"{what}_floats", np.float32), (f"{what}_int64s", np.int64)):
        if node.attribute(name):
            return np.array(node.attribute(name), dtype)
    tensor = node.attribute(f"{what}_tensor")
    if tensor is None:
        raise node.error(f"has no {what}", hint=f"give them in {what}_int64s, {what}_floats or {what}_tensor")
    if tensor.dtype.kind not in "fiu":
        raise _no_strings(node, f"{what}_tensor")
    return tensor.reshape(-1)


def _default(node: Node, values: np.ndarray) -> np.ndarray:
    if node.attribute("values_tensor") is not None:
        tensor = node.attribute("default_tensor")
        filler = -1 if values.dtype.kind == "i" else -0.0
        return np.asarray(filler if tensor is None else tensor, values.dtype).reshape(())
    if values.dtype == np.float32:
        return np.array(node.attribute("default_float", -0.0), np.float32)
    return np.array(node.attribute("default_int64", -1), np.int64)


def label_encoder(node: Node) -> Any:
    """LabelEncoder between numbers: the value of the key that an element is, or the default.

    Of equal keys the last one counts, as in the reference of ONNX.
    """
    keys, values = _table(node, "keys"), _table(node, "values")
    if len(keys) != len(values):
        raise node.error(f"has {len(keys)} keys and {len(values)} values", hint="give a value for each key")
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        raise node.error("a key is NaN, which the machine does not have", hint="replace NaN by an Imputer before it")
    last = dict(zip(keys.tolist(), values.tolist(), strict=True))
    default = _default(node, values)
    x = node.operand(0)
    own = constant(np.array(list(last.values()), values.dtype))
    hit = graph.Equal.build(_beside(x), constant(np.array(list(last), keys.dtype), like=x)).result
    kept = graph.Where.build(hit, own, constant(0, like=own)).result
    axis = [len(shape_of(x))]
    found = graph.Reduce.build(kept, kind="sum", axes=axis, keepdims=False).result
    is_found = graph.Reduce.build(hit, kind="max", axes=axis, keepdims=False).result
    return graph.Where.build(is_found, found, constant(default, like=found)).result
