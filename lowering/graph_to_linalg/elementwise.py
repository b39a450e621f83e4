"""Element-wise graph operations -> one `linalg.generic` each, broadcasting in the indexing maps."""

from collections.abc import Callable

from mnc.core.bindings import arith, ir
from mnc.dialects.graph.attributes import boolean
from mnc.lowering.graph_to_linalg import scalar as s
from mnc.lowering.graph_to_linalg.activation import UNARY, UnaryBody
from mnc.lowering.graph_to_linalg.emit import element_of, empty, generic, is_unsigned, pointwise, shape_of, signless
from mnc.lowering.graph_to_linalg.source import Handler, Source

BinaryBody = Callable[[ir.Value, ir.Value, ir.Type], ir.Value]

ARITHMETIC: dict[str, BinaryBody] = {
    "graph.add": s.add,
    "graph.sub": s.subtract,
    "graph.mul": s.multiply,
    "graph.div": s.divide,
    "graph.max": s.maximum,
    "graph.min": s.minimum,
    "graph.pow": s.power,
    "graph.and": lambda a, b, _: arith.AndIOp(a, b).result,
    "graph.or": lambda a, b, _: arith.OrIOp(a, b).result,
    "graph.xor": lambda a, b, _: arith.XOrIOp(a, b).result,
    "graph.bitwise_and": lambda a, b, _: arith.AndIOp(a, b).result,
    "graph.bitwise_or": lambda a, b, _: arith.OrIOp(a, b).result,
    "graph.bitwise_xor": lambda a, b, _: arith.XOrIOp(a, b).result,
    "graph.shift_left": lambda a, b, _: arith.ShLIOp(a, b).result,
    "graph.shift_right": lambda a, b, t: (arith.ShRUIOp(a, b) if is_unsigned(t) else arith.ShRSIOp(a, b)).result,
    "graph.equal": lambda a, b, t: s.compare("eq", a, b, t),
    "graph.greater": lambda a, b, t: s.compare("gt", a, b, t),
    "graph.less": lambda a, b, t: s.compare("lt", a, b, t),
    "graph.greater_or_equal": lambda a, b, t: s.compare("ge", a, b, t),
    "graph.less_or_equal": lambda a, b, t: s.compare("le", a, b, t),
}
"""Operations of two operands -> scalar body."""


def _binary(body: BinaryBody) -> Handler:
    def lower(source: Source, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        element = source.element(0)
        return pointwise([lhs, rhs], source.result_shape(), source.result_element(), lambda a, b: body(a, b, element))

    return lower


def _unary(body: UnaryBody) -> Handler:
    def lower(source: Source, operand: ir.Value) -> ir.Value:
        element, attributes = source.element(0), source.attributes
        return pointwise(
            [operand], source.result_shape(), source.result_element(), lambda a: body(a, element, attributes)
        )

    return lower


def lower_mod(source: Source, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Remainder; ``fmod`` chooses whose sign it takes."""
    body = s.truncated_modulo if boolean(source.attributes, "fmod") else s.floor_modulo
    return _binary(body)(source, lhs, rhs)


def lower_where(source: Source, condition: ir.Value, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """`arith.select` of broadcast operands."""
    return pointwise([condition, lhs, rhs], source.result_shape(), source.result_element(), s.select)


def lower_cast(source: Source, operand: ir.Value) -> ir.Value:
    """Element type conversion; between types of equal bits there is nothing to do."""
    before, after = source.element(0), source.result_element()
    if before == after:
        return operand
    return pointwise([operand], source.result_shape(), after, lambda a: s.cast(a, before, after))


def lower_bitcast(source: Source, operand: ir.Value) -> ir.Value:
    """`arith.bitcast`; integers of either sign are the same already."""
    after = source.result_element()
    if element_of(operand) == signless(after):
        return operand
    return pointwise([operand], source.result_shape(), after, lambda a: arith.BitcastOp(signless(after), a).result)


def lower_broadcast_to(source: Source, operand: ir.Value) -> ir.Value:
    """Copying generic whose map drops or pins the broadcast dimensions."""
    return pointwise([operand], source.result_shape(), source.result_element(), lambda a: a)


def lower_transpose(source: Source, operand: ir.Value) -> ir.Value:
    """Copying generic with a permuted map, so that fusion can fold it into its consumer."""
    return permuted(operand, source.ints("permutation"))


def permuted(operand: ir.Value, permutation: list[int]) -> ir.Value:
    """Dimension i of the result is dimension ``permutation[i]`` of `operand`."""
    shape = shape_of(operand)
    element = ir.RankedTensorType(operand.type).element_type
    loops = [permutation.index(i) for i in range(len(permutation))]
    init = empty([shape[p] for p in permutation], element)
    return generic([operand], [loops, list(range(len(shape)))], [init], "p" * len(shape), lambda a, _: a)


HANDLERS: dict[str, Handler] = {
    **{name: _binary(body) for name, body in ARITHMETIC.items()},
    **{name: _unary(body) for name, body in UNARY.items()},
    "graph.mod": lower_mod,
    "graph.where": lower_where,
    "graph.cast": lower_cast,
    "graph.bitcast": lower_bitcast,
    "graph.broadcast_to": lower_broadcast_to,
    "graph.transpose": lower_transpose,
}
