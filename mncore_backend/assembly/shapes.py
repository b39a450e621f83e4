"""Shapes: what expressions have in common that differ in static addresses only.

Generated programs consist of few shapes. Whatever does not depend on an address, or only on differences between the
addresses of a step, is found once for a shape: see the parser, the checker and the emulator.
"""

from collections.abc import Sequence

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand

_RELOCATED = frozenset((Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1, Memory.L1BM, Memory.L2BM))
_LIMIT = 1 << 14
_KNOWN_LIMIT = 1 << 17

Addresses = tuple[int, ...]
Form = tuple["Shape", Addresses]


class Shape:
    """One shape, named by its identity.

    expression  of this shape, with 0 for all addresses
    places      positions of the operands whose addresses are not part of the shape, among sources and destinations
    operands    what stands in these places, with address 0
    """

    __slots__ = ("_known", "_operands", "expression", "operands", "places")

    def __init__(self, expression: Expression, places: tuple[int, ...]) -> None:
        self.expression = expression
        self.places = places
        self._operands = [*expression.sources, *expression.destinations]
        self.operands = tuple([self._operands[place] for place in places])
        self._known = [_known_operands(operand) for operand in self.operands]

    def at(self, addresses: Addresses) -> Expression:
        """The expression of this shape with other addresses, one per place."""
        own = self.expression
        operands = self._operands[:]
        for place, known, address in zip(self.places, self._known, addresses, strict=True):
            operand = known.get(address)
            if operand is None:
                operand = _add(known, operands[place], address)
            operands[place] = operand
        count = len(own.sources)
        sources, destinations = tuple(operands[:count]), tuple(operands[count:])
        made = Expression(own.opcode, sources, destinations, own.modifier, own.zero_flush, own.literal, own.tag)
        object.__setattr__(made, "_form", (self, addresses))
        return made


_shapes: dict[Expression, Shape] = {}
_operands: dict[Operand, dict[int, Operand]] = {}


def _known_operands(operand: Operand) -> dict[int, Operand]:
    """Operands by address that are like the given one otherwise: one record for each, whatever the shape."""
    return _operands.setdefault(operand, {})


def _add(known: dict[int, Operand], operand: Operand, address: int) -> Operand:
    if len(known) >= _KNOWN_LIMIT:
        known.clear()
    known[address] = made = _moved(operand, address)
    return made


def _moved(operand: Operand, address: int) -> Operand:
    o = operand
    return Operand(
        o.memory, o.width, address, o.stride, None, False, o.pe_offset, o.group, o.l2b, o.negate, o.suffix, o.mask
    )


def is_relocated(operand: Operand) -> bool:
    """Is the address of an operand no part of its shape?"""
    return operand.memory in _RELOCATED and operand.flat is None and not operand.t_indirect


def form_of(expression: Expression) -> Form:
    """The shape of an expression and the addresses in its places; found once."""
    try:
        return expression._form
    except AttributeError:
        form = _find(expression)
        object.__setattr__(expression, "_form", form)
        return form


def _find(expression: Expression) -> Form:
    operands = [*expression.sources, *expression.destinations]
    places = tuple([i for i, operand in enumerate(operands) if is_relocated(operand)])
    addresses = tuple([operands[place].address for place in places])
    for place in places:
        operands[place] = _moved(operands[place], 0)
    count = len(expression.sources)
    own = expression
    sources, destinations = tuple(operands[:count]), tuple(operands[count:])
    key = Expression(own.opcode, sources, destinations, own.modifier, own.zero_flush, own.literal, own.tag)
    shape = _shapes.get(key)
    if shape is None:
        if len(_shapes) >= _LIMIT:
            _shapes.clear()  # those in use go on to exist
            _operands.clear()
        shape = _shapes[key] = Shape(key, places)
        object.__setattr__(key, "_form", (shape, (0,) * len(places)))
    return shape, addresses


def step_form(expressions: Sequence[Expression]) -> tuple[tuple[Shape, ...], Addresses]:
    """The shapes of the expressions of a step, and all their addresses."""
    if len(expressions) == 1:
        shape, addresses = form_of(expressions[0])
        return (shape,), addresses
    forms = [form_of(expression) for expression in expressions]
    return tuple([shape for shape, _ in forms]), tuple([address for _, own in forms for address in own])


def canonical(expressions: Sequence[Expression]) -> tuple[Expression, ...]:
    """The same expressions; operands that are equal are the same record."""
    return tuple([shape.at(addresses) for shape, addresses in map(form_of, expressions)])
