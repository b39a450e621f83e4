"""Repeated patterns of statements: a step that differs from an earlier one in addresses only is not decoded again.

Programs unroll their loops, so that most steps repeat the shape of an earlier one. What a step decodes to depends on
its shape, on what it uses of the static state (latches that it reads, buffers of its units, the turnaround register)
and, through nothing but the rows and accesses of its operands, on addresses. A `Template` is a decoded step in which
the places of those rows and accesses are known; `fill` puts others there.

Whether a template is complete is checked, not assumed: an address inside PE memory or L1BM that no operand accounts for
makes a step unfit. Steps with masks, base registers, indirect addresses, single words or L2BM transfers are always
decoded.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand
from mnc.mncore_backend.emulator.arena import CYCLES, LAYOUT, ROW_BYTES, Arena, Rows
from mnc.mncore_backend.emulator.constants import OPERAND_LIMIT, Constants
from mnc.mncore_backend.emulator.context import LATCH_OF, Context
from mnc.mncore_backend.emulator.decode import unit_of
from mnc.mncore_backend.emulator.decode_l1bm import known_upper
from mnc.mncore_backend.emulator.destinations import Writer
from mnc.mncore_backend.emulator.operands import NO_DISPLACEMENT, WORDS, Reader, StaticError
from mnc.mncore_backend.emulator.plan import Access, Calls, Plan, PlanBuilder, UpperAccess, Value

TEMPLATE_LIMIT = 1 << 14
_RELOCATED = ("m", "n", "r", "s", "lb")


class Binding(NamedTuple):
    """An operand with an address: what a template may be filled with where another one stood. `parts` are rows,
    `packed` the same as records hold them; `operand` is kept, because its identity names the binding."""

    operand: Operand
    shape: int
    parts: tuple[Rows, ...]
    packed: "tuple[array[int], ...]"
    accesses: tuple[Access | UpperAccess, ...]


class Pattern(NamedTuple):
    """A step as templates see it: equal keys differ in their bindings only."""

    key: tuple[object, ...]
    bindings: list[Binding]


@dataclass(slots=True)
class Template:
    """A decoded step with the places of its bindings: (place in the records, binding, part), and for every access the
    place in its list, binding and number."""

    plan: Plan
    calls: list[tuple[int, int]]
    rows: list[tuple[int, int, int]]
    reads: list[tuple[int, int, int]]
    writes: list[tuple[int, int, int]]
    upper: list[tuple[int, int, int]]

    def fill(self, bindings: Sequence[Binding]) -> Plan:
        """The plan of the same step with other addresses."""
        known = self.plan
        records = known.records[:]
        for place, binding, part in self.rows:
            records[place : place + CYCLES + 1] = bindings[binding].packed[part]
        first = records.buffer_info()[0]
        return Plan(
            array("q", [value for address, at in self.calls for value in (address, first + at)]),
            records,
            known.before,
            known.after,
            _put(known.reads, self.reads, bindings),
            _put(known.writes, self.writes, bindings),
            _put(known.upper, self.upper, bindings),
            known.results,
            known.turnaround,
            known.noforward,
            known.is_nop,
            known.wait_tag,
            known.bank_writes,
            known.bank_reads,
            known.mask_reads,
            known.mask_writes,
            known.units,
            known.l2bm,
            known.checks_block_float,
        )


def _put(known: list, places: list[tuple[int, int, int]], bindings: Sequence[Binding]) -> list:
    if not places:
        return known
    filled = known[:]
    for place, binding, number in places:
        filled[place] = bindings[binding].accesses[number]
    return filled


class Templates:
    """Templates of one machine and the bindings of operands, by identity: the parser shares operands of equal text."""

    def __init__(self, arena: Arena, constants: Constants, strict: bool) -> None:
        self._arena = arena
        self._constants = constants
        self._strict = strict
        self._known: dict[tuple[object, ...], Template | None] = {}
        self._shapes: dict[tuple[object, ...], int] = {}
        self._sources: dict[int, Binding] = {}
        self._stores: dict[int, Binding] = {}
        self._uppers: dict[tuple[str, int], Binding] = {}
        self._regions = [
            range(arena.base + first * ROW_BYTES, arena.base + (first + count) * ROW_BYTES)
            for first, count in (LAYOUT[name] for name in _RELOCATED)
        ]

    def pattern(self, expressions: Sequence[Expression], context: Context) -> Pattern | None:
        """The pattern of a step, None where it has to be decoded: also where that will raise an error."""
        if context.masks or context.bars != NO_DISPLACEMENT:
            return None
        parts: list[object] = []
        bindings: list[Binding] = []
        for expression in expressions:
            opcode = expression.opcode
            unit = unit_of(opcode)
            if unit == "l2bm":
                return None
            state = context.turnaround if unit == "l1bm" else None
            parts += (opcode, expression.modifier, expression.tag, context.buffers.get(unit), state)
            parts += (expression.zero_flush, expression.literal)
            for operands, known in ((expression.sources, self._sources), (expression.destinations, self._stores)):
                for operand in operands:
                    binding = known.get(id(operand))
                    if binding is None or binding.operand is not operand:
                        binding = self._binding(expression, operand, known, context)
                    if binding is None:
                        return None
                    parts.append(binding.shape)
                    if binding.parts:
                        bindings.append(binding)
                    elif operand.memory in LATCH_OF:
                        parts.append(context.latches[LATCH_OF[operand.memory]])
        if len(bindings) > 1:
            numbers = list(map(id, bindings))
            if len(set(numbers)) != len(numbers):
                parts.append(tuple(map(numbers.index, numbers)))
        return Pattern(tuple(parts), bindings)

    def find(self, pattern: Pattern) -> Plan | None:
        """The plan of a step whose pattern is known."""
        template = self._known.get(pattern.key)
        return None if template is None else template.fill(pattern.bindings)

    def keep(self, pattern: Pattern, plan: Plan, calls: Calls) -> None:
        """Make a template of a step that was decoded, with the calls that it was decoded into."""
        if pattern.key in self._known:  # it was found unfit
            return
        if len(self._known) >= TEMPLATE_LIMIT:
            self._known.clear()
        self._known[pattern.key] = self._template(plan, calls, pattern.bindings)

    def _template(self, plan: Plan, calls: Calls, bindings: Sequence[Binding]) -> Template | None:
        if plan.before or plan.after or plan.l2bm:
            return None
        places: dict[int, tuple[int, int]] = {}
        accesses: dict[int, tuple[int, int]] = {}
        for number, binding in enumerate(bindings):
            for part, rows in enumerate(binding.parts):
                places.setdefault(id(rows), (number, part))
            for part, access in enumerate(binding.accesses):
                accesses.setdefault(id(access), (number, part))
        found: list[tuple[int, int, int]] = []
        offsets: list[tuple[int, int]] = []
        at = 0
        for kernel, operands in calls:
            offsets.append((kernel.address, 8 * at))
            for operand in operands:
                if id(operand) in places:
                    found.append((at, *places[id(operand)]))
                elif any(address in region for address in operand for region in self._regions):
                    return None
                at += CYCLES + 1
        lists = [
            [(i, *accesses[id(access)]) for i, access in enumerate(listed) if id(access) in accesses]
            for listed in (plan.reads, plan.writes, plan.upper)
        ]
        return Template(plan, offsets, found, *lists)

    # ---- bindings ----

    def _shape(self, *shape: object) -> int:
        """A number for everything that counts of an operand but its address."""
        return self._shapes.setdefault(shape, len(self._shapes))

    def _binding(
        self, expression: Expression, operand: Operand, table: dict[int, Binding], context: Context
    ) -> Binding | None:
        if operand.memory is Memory.L1BM:
            return self._upper(expression, operand, table is self._sources)
        if operand.memory not in WORDS:
            made = Binding(operand, self._shape(operand), (), (), ())
        elif operand.width == 1 or operand.mask is not None or operand.t_indirect or operand.pe_offset is not None:
            return None
        else:
            try:
                made = (self._source if table is self._sources else self._store)(operand, context)
            except StaticError:  # decoding says what is wrong
                return None
        if len(table) >= OPERAND_LIMIT:
            table.clear()
        table[id(operand)] = made
        return made

    def _source(self, operand: Operand, context: Context) -> Binding:
        builder = PlanBuilder(self._arena, self._constants.zero)
        Reader(builder, context, self._constants, self._strict).value(operand, "l")
        known = self._constants.operand_rows[id(operand)]
        shape = self._shape("source", operand.memory, operand.width, operand.suffix, operand.negate)
        return _bind(operand, shape, (known.rows, known.lsb_rows), (known.access,))

    def _store(self, operand: Operand, context: Context) -> Binding:
        builder, zero = PlanBuilder(self._arena, self._constants.zero), self._constants.zero
        writer = Writer(builder, context, self._constants, self._strict, suspended=False)
        writer.store(operand, Value(zero, zero), None)
        known = self._constants.stores[id(operand)]
        shape = self._shape("store", operand.memory, operand.width, operand.suffix, operand.negate)
        return _bind(operand, shape, (known.out, known.lsb_out), (known.access,))

    def _upper(self, expression: Expression, operand: Operand, is_source: bool) -> Binding | None:
        key = (expression.opcode, id(operand))
        known = self._uppers.get(key)
        if known is not None and known.operand is operand:
            return known
        if len(self._uppers) >= OPERAND_LIMIT:
            self._uppers.clear()
        try:
            found = known_upper(self._constants, self._arena, expression, self._strict)
        except StaticError:
            return None
        shape = self._shape("L1BM", is_source, operand.width, operand.suffix)
        self._uppers[key] = _bind(operand, shape, found.rows, found.accesses)
        return self._uppers[key]


def _bind(
    operand: Operand, shape: int, parts: tuple[Rows, ...], accesses: tuple[Access | UpperAccess, ...]
) -> Binding:
    return Binding(operand, shape, parts, tuple(array("q", rows) for rows in parts), accesses)
