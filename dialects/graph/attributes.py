"""Python values <-> MLIR attributes of the graph dialect."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mnc.core.bindings import ir

_NUMPY_TO_MLIR = {
    "float32": "f32", "float16": "f16", "float64": "f64", "bfloat16": "bf16", "bool": "i1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
}  # fmt: skip
_MLIR_TO_NUMPY = {mlir: numpy for numpy, mlir in _NUMPY_TO_MLIR.items()}


def to_attribute(value: Any) -> ir.Attribute:
    """Attribute of a Python value: bool, int (i64), float (f32), str, sequence of int, array, type."""
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, ir.Type):
        return ir.TypeAttr.get(value)
    if isinstance(value, bool | np.bool_):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, int | np.integer):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value))
    if isinstance(value, float | np.floating):
        return ir.FloatAttr.get_f32(float(value))
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, np.ndarray):
        return dense(value)
    if isinstance(value, list | tuple):
        return ir.DenseI64ArrayAttr.get([int(item) for item in value])
    raise TypeError(f"no attribute for a value of type {type(value).__name__}")


def double(value: float) -> ir.Attribute:
    """A float attribute that holds every integer of 32 bits; f32 holds those of 24."""
    return ir.FloatAttr.get_f64(float(value))


def element_type(dtype: Any) -> ir.Type:
    """MLIR element type of a numpy dtype (``bfloat16`` is the one of ml_dtypes).

    Raises:
        ValueError: a dtype that the graph dialect does not have.
    """
    name = np.dtype(dtype).name
    if name not in _NUMPY_TO_MLIR:
        raise ValueError(f"element type {name} is not supported")
    return ir.Type.parse(_NUMPY_TO_MLIR[name])


def numpy_dtype(type_: Any) -> np.dtype:
    """numpy dtype of an MLIR element type; bf16 needs ml_dtypes, which comes with onnx."""
    name = _MLIR_TO_NUMPY[str(type_)]
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def dense(array: np.ndarray) -> ir.Attribute:
    """Elements attribute holding `array`; equal arrays of one context share their storage."""
    type_ = element_type(array.dtype)
    array = np.array(array, order="C", copy=None)
    if array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    return ir.DenseElementsAttr.get(array, shape=list(array.shape), type=type_)


def to_numpy(attribute: Any) -> np.ndarray:
    """Array of a dense elements attribute, the inverse of `dense`: read only, as it shares the attribute's storage, and
    keeps the context alive."""
    type_ = ir.RankedTensorType(attribute.type)
    dtype = numpy_dtype(type_.element_type)
    if dtype.name == "bfloat16":
        return _bfloat16_to_numpy(attribute, type_, dtype)
    return np.asarray(attribute).view(dtype).reshape(tuple(type_.shape))


def _bfloat16_to_numpy(attribute: Any, type_: Any, dtype: np.dtype) -> np.ndarray:
    # The buffer protocol of the bindings has no bf16, but the text is exact: numbers, or all bytes in hexadecimal.
    shape = tuple(type_.shape)
    if attribute.is_splat:
        return np.full(shape, ir.FloatAttr(attribute.get_splat_value()).value, dtype)
    text = str(attribute).rpartition(" : ")[0]
    if match := re.search(r'"0x([0-9A-Fa-f]*)"', text):
        return np.frombuffer(bytes.fromhex(match[1]), dtype).reshape(shape)
    words = re.findall(r"0x[0-9A-Fa-f]+|[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", text)
    bits = [_bfloat16_bits(word, dtype) for word in words]
    return np.array(bits, np.uint16).view(dtype).reshape(shape)


def _bfloat16_bits(word: str, dtype: np.dtype) -> int:
    """Infinities and NaN print as their bits."""
    return int(word, 16) if word.startswith("0x") else int(np.array(float(word), dtype).view(np.uint16))


def int_array(attributes: Mapping[str, ir.Attribute], name: str) -> list[int]:
    """Values of an ``array<i64: ...>`` attribute; raises ValueError if it is anything else."""
    attribute = attributes[name]
    if not isinstance(attribute, ir.DenseI64ArrayAttr):
        raise ValueError(f"attribute '{name}' must be array<i64: ...>, found {attribute}")
    return list(attribute)


def integer(attributes: Mapping[str, ir.Attribute], name: str) -> int:
    """Value of an integer attribute."""
    attribute = attributes[name]
    if not isinstance(attribute, ir.IntegerAttr):
        raise ValueError(f"attribute '{name}' must be an integer, found {attribute}")
    return attribute.value


def boolean(attributes: Mapping[str, ir.Attribute], name: str) -> bool:
    """Value of a boolean attribute."""
    attribute = attributes[name]
    if not isinstance(attribute, ir.BoolAttr):
        raise ValueError(f"attribute '{name}' must be true or false, found {attribute}")
    return attribute.value


def real(attributes: Mapping[str, ir.Attribute], name: str) -> float:
    """Value of a float attribute."""
    attribute = attributes[name]
    if not isinstance(attribute, ir.FloatAttr):
        raise ValueError(f"attribute '{name}' must be a float such as 0.5 : f32, found {attribute}")
    return attribute.value


def string(attributes: Mapping[str, ir.Attribute], name: str, allowed: tuple[str, ...]) -> str:
    """Value of a string attribute, one of `allowed`."""
    attribute = attributes[name]
    if not isinstance(attribute, ir.StringAttr) or attribute.value not in allowed:
        raise ValueError(f"attribute '{name}' must be one of {', '.join(allowed)}, found {attribute}")
    return attribute.value


class AttributeReader:
    """Attributes of the operation `op` as Python values, for those who are handed one operation."""

    op: Any

    @property
    def attributes(self) -> Any:
        """Attributes of the operation."""
        return self.op.attributes

    def ints(self, name: str) -> list[int]:
        """Attribute ``array<i64: ...>``."""
        return int_array(self.attributes, name)

    def int(self, name: str) -> int:
        """Integer attribute."""
        return integer(self.attributes, name)

    def bool(self, name: str) -> bool:
        """Boolean attribute."""
        return boolean(self.attributes, name)

    def real(self, name: str) -> float:
        """Float attribute."""
        return real(self.attributes, name)

    def text(self, name: str) -> str:
        """String attribute."""
        return ir.StringAttr(self.attributes[name]).value
