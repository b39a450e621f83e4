"""The dialect object and the base class of its operations.

An operation states its meaning once, in `infer`: from operand types and attributes to result
types. Its verifier compares the result types with that, and `build` uses it to make the operation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from mnc.core.bindings import ext, ir
from mnc.dialects.counts import check_counts
from mnc.dialects.graph.attributes import to_attribute

Attributes = Mapping[str, ir.Attribute]
TensorType = ir.RankedTensorType
Tensor = ext.Operand[ir.RankedTensorType]
TensorResult = ext.Result[ir.RankedTensorType]


class Graph(ext.Dialect, name="graph"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Hardware-free tensor operations: value semantics, static shapes."""


def _positional_accessor(index: int, group: bool) -> property:
    if group:
        return property(lambda self: list(self.operation.operands)[index:])
    return property(lambda self: self.operation.operands[index] if index < len(self.operation.operands) else None)


class GraphOp(Graph.Operation):
    """Base of all graph operations: pure, verified through `infer`.

    At most one operand is optional or variadic, and it is the last; so operands are found by
    position and text needs no ``operandSegmentSizes``.
    """

    # No annotation: the dialect builder would read an annotated class variable as a field.
    optional_attributes = ()

    @classmethod
    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(name=name, traits=[ext.Pure] if name else None, **kwargs)
        fields = [field for field in cls._fields if isinstance(field, ext.OperandDef)] if name else []
        for index, field in enumerate(fields):
            if field.variadicity != ext.Variadicity.single:
                setattr(cls, field.name, _positional_accessor(index, field.variadicity == ext.Variadicity.variadic))
            elif fields[-1].variadicity != ext.Variadicity.single:
                setattr(cls, field.name, _positional_accessor(index, False))
        for attribute in cls.optional_attributes:
            setattr(cls, attribute, property(lambda self, key=attribute: self.operation.attributes.get(key)))

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        """Result types for these operand types; raises ValueError saying what is wrong."""
        raise NotImplementedError

    @classmethod
    def check(cls, operands: Sequence[Any], results: Sequence[Any], attributes: Attributes) -> None:
        """Raise ValueError unless the operation is well formed. Default: results equal `infer`."""
        expected = cls.infer(operands, attributes)
        for actual, wanted in zip(results, expected, strict=True):
            if actual != wanted:
                raise ValueError(f"result type is {actual} but {wanted} is what its operands give")

    def verify_invariants(self) -> bool:
        """Called by the native verifier; reports through a diagnostic."""
        operation = self.operation
        operands = [value.type for value in operation.operands]
        results = [value.type for value in operation.results]
        try:
            check_counts(self)
            for type_ in (*operands, *results):
                check_tensor_type(type_)
            required = (field.name for field in self._fields if isinstance(field, ext.AttributeDef))
            missing = [name for name in required if name not in operation.attributes]
            if missing:
                raise ValueError(f"requires attribute '{missing[0]}'")
            self.check(operands, results, operation.attributes)
        except (KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
            operation.location.emit_error(f"'{operation.name}' op {error}")
            return False
        return True

    @classmethod
    def build(
        cls,
        *operands: ir.Value | ir.Operation | ir.OpView,
        result_type: TensorType | None = None,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
        **attributes: Any,
    ) -> Self:
        """Make the operation at the current insertion point.

        Args:
            operands: values, or operations with one result.
            result_type: only for operations whose result does not follow from their operands.
            attributes: Python values (see `to_attribute`) or MLIR attributes; None leaves one out.

        Raises:
            ValueError: the operands or attributes do not fit together.
        """
        values = [operand if isinstance(operand, ir.Value) else operand.operation.result for operand in operands]
        made = {key: to_attribute(value) for key, value in attributes.items() if value is not None}
        operand_types = [value.type for value in values]
        if result_type is None:
            types = cls.infer(operand_types, made)
        else:
            types = [result_type]
            cls.check(operand_types, types, made)
        operation = ir.Operation.create(
            cls.OPERATION_NAME, results=types, operands=values, attributes=made, loc=loc, ip=ip
        )
        return operation.opview  # pyright: ignore[reportReturnType]


_ELEMENT_TYPES = frozenset(
    ["f16", "bf16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"],
)


def check_tensor_type(type_: Any) -> None:
    """Raise ValueError unless `type_` is a ranked tensor of static shape and an element type we know."""
    if not isinstance(type_, ir.RankedTensorType):
        raise ValueError(f"works on tensors, not on {type_}")
    if not type_.has_static_shape:
        raise ValueError(f"shapes must be static, found {type_}")
    if str(type_.element_type) not in _ELEMENT_TYPES:
        raise ValueError(f"element type {type_.element_type} is not supported")


def tensor(shape: Sequence[int], element_type: Any) -> TensorType:
    """Ranked tensor type of this shape; raises ValueError where an extent is negative."""
    if min(shape, default=0) < 0:
        raise ValueError(f"shape {list(shape)} has a negative extent")
    return ir.RankedTensorType.get(list(shape), element_type, loc=ir.Location.unknown(element_type.context))


def is_float(type_: Any) -> bool:
    """True for f16, bf16, f32 and f64."""
    return str(type_) in ("f16", "bf16", "f32", "f64")


def is_bool(type_: Any) -> bool:
    """True for i1, the type of comparisons and masks."""
    return str(type_) == "i1"


def same_element_type(types: Sequence[Any]) -> Any:
    """The one element type of `types`; raises ValueError when they differ."""
    for type_ in types[1:]:
        if type_.element_type != types[0].element_type:
            raise ValueError(f"operands have different element types {types[0].element_type} and {type_.element_type}")
    return types[0].element_type
