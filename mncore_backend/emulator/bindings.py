"""Bindings of operands and transfers: what a template is filled with (see `templates`)."""

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand
from mnc.mncore_backend.assembly.shapes import Addresses, Shape
from mnc.mncore_backend.emulator.arena import Arena
from mnc.mncore_backend.emulator.constants import OPERAND_LIMIT, Constants
from mnc.mncore_backend.emulator.context import Context
from mnc.mncore_backend.emulator.decode_l1bm import known_upper
from mnc.mncore_backend.emulator.destinations import find_store
from mnc.mncore_backend.emulator.l2bm import plan_l2bm
from mnc.mncore_backend.emulator.operands import WORD_MEMORIES, StaticError, check_static, find_source
from mnc.mncore_backend.emulator.template import Binding

Table = dict[int, Binding]
"""Bindings of operands that are alike but for their addresses, by address."""

_PLAIN = Context()


def _operand(expression: Expression, place: int) -> tuple[Operand, bool]:
    """The operand in a place among sources and destinations, and whether it is a source."""
    count = len(expression.sources)
    return (expression.sources[place], True) if place < count else (expression.destinations[place - count], False)


def is_fit(operand: Operand) -> bool:
    """Is an operand found in the same rows whenever a step is executed? Single words are fetched by kernels of their
    own."""
    if operand.memory not in WORD_MEMORIES:
        return True
    return operand.width > 1 and operand.mask is None and not operand.t_indirect and operand.pe_offset is None


class Bindings:
    """Makes bindings of one machine. All of them suppose base registers that are 0."""

    def __init__(self, arena: Arena, constants: Constants, strict: bool) -> None:
        self._arena = arena
        self._constants = constants
        self._strict = strict
        self._tables: dict[tuple[object, ...], Table] = {}
        self._transfers: dict[tuple[Shape, Addresses], Binding] = {}

    def table(self, expression: Expression, place: int) -> Table:
        """The bindings of an operand, by its place among sources and destinations; its address does not count."""
        operand, is_source = _operand(expression, place)
        opcode = expression.opcode if operand.memory is Memory.L1BM else ""
        return self._tables.setdefault((opcode, operand, is_source), {})

    def add(self, table: Table, expression: Expression, place: int) -> Binding | None:
        """Make the binding of an operand; None where decoding will say what is wrong."""
        operand, is_source = _operand(expression, place)
        try:
            if operand.memory is Memory.L1BM:
                made = self._upper(expression)
            else:
                made = self._source(operand) if is_source else self._store(operand)
        except StaticError:
            return None
        if len(table) >= OPERAND_LIMIT:
            table.clear()
        table[operand.address] = made
        return made

    def _source(self, operand: Operand) -> Binding:
        known = self._constants.operand_rows.get(id(operand))
        if known is None or known.operand is not operand:
            check_static(operand, self._strict)
            known = find_source(operand, _PLAIN, self._arena.base, self._strict)
            self._constants.keep_operand(known)
        return Binding((known.rows, known.lsb_rows) if operand.width == 4 else (known.rows,), (known.access,))

    def _store(self, operand: Operand) -> Binding:
        known = self._constants.stores.get(id(operand))
        if known is None or known.operand is not operand:
            check_static(operand, self._strict)
            known = find_store(operand, _PLAIN, self._arena.base, self._strict)
            self._constants.keep_store(known)
        return Binding((known.out, known.lsb_out) if operand.width == 4 else (known.out,), (known.access,))

    def _upper(self, expression: Expression) -> Binding:
        found = known_upper(self._constants, self._arena, expression, self._strict)
        return Binding(found.rows, found.accesses)

    def transfer(self, shape: Shape, addresses: Addresses) -> Binding | None:
        """The binding of a transfer between L2BM and L1BM that a kernel does."""
        key = (shape, addresses)
        known = self._transfers.get(key)
        if known is not None:
            return known
        try:
            plan = plan_l2bm(shape.at(addresses))
        except ValueError:  # decoding says what is wrong
            return None
        if plan.copy is None:
            return None
        if len(self._transfers) >= OPERAND_LIMIT:
            self._transfers.clear()
        rows = self._constants.rows_of_copy(plan.copy, self._arena)
        made = self._transfers[key] = Binding(rows, l2bm=plan)
        return made
