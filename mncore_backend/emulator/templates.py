"""Repeated patterns of statements: a step that differs from an earlier one in addresses only is not decoded again.

Programs unroll their loops, so that most steps repeat the shape of an earlier one. What a step decodes to depends on
its shape, on what it uses of the situation (latches that it reads, buffers of its units, the turnaround register)
and, through nothing but the rows and accesses of its operands, on addresses. A `Template` is a decoded step in which
the places of those rows and accesses are known; `fill` puts others there.

Whether a template is complete is checked, not assumed: an address inside PE memory or L1BM that no operand accounts for
makes a step unfit. Steps with masks, base registers, indirect addresses, single words or L2BM transfers that no kernel
does are always decoded.
"""

from collections.abc import Sequence

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand
from mnc.mncore_backend.emulator.arena import CYCLES, LAYOUT, ROW_BYTES, Arena
from mnc.mncore_backend.emulator.constants import OPERAND_LIMIT, Constants
from mnc.mncore_backend.emulator.context import LATCH_OF, UNITS, Context
from mnc.mncore_backend.emulator.decode import unit_of
from mnc.mncore_backend.emulator.decode_l1bm import known_upper
from mnc.mncore_backend.emulator.destinations import find_store
from mnc.mncore_backend.emulator.l2bm import plan_l2bm
from mnc.mncore_backend.emulator.operands import WORDS, StaticError, check_static, find_source
from mnc.mncore_backend.emulator.plan import Calls, Plan
from mnc.mncore_backend.emulator.template import Binding, Pattern, Shape, Template

TEMPLATE_LIMIT = SHAPE_LIMIT = 1 << 14
_RELOCATED = ("m", "n", "r", "s", "lb")


class Templates:
    """Templates of one machine and the bindings of operands, by identity: the parser shares operands of equal text."""

    def __init__(self, arena: Arena, constants: Constants, strict: bool) -> None:
        self._arena = arena
        self._constants = constants
        self._strict = strict
        self._known: dict[tuple[object, ...], Template | None] = {}
        self._known_shapes: dict[tuple[object, ...], Shape] = {}
        self._numbers = 0
        self._shapes: dict[tuple[object, ...], int] = {}  # of operands
        self._sources: dict[int, Binding] = {}
        self._stores: dict[int, Binding] = {}
        self._uppers: dict[tuple[str, int], Binding] = {}
        self._transfers: dict[int, Binding] = {}
        self._regions = [
            range(arena.base + first * ROW_BYTES, arena.base + (first + count) * ROW_BYTES)
            for first, count in (LAYOUT[name] for name in _RELOCATED)
        ]

    def pattern(self, expressions: Sequence[Expression], context: Context) -> Pattern | None:
        """The pattern of a step, None where it has to be decoded: also where that will raise an error. Masks must be
        open and base registers 0."""
        parts: list[object] = []
        bindings: list[Binding] = []
        for expression in expressions:
            opcode = expression.opcode
            if unit_of(opcode) == "l2bm":
                binding = self._transfer(expression)
                if binding is None:
                    return None
                parts += (opcode, expression.modifier, binding.shape)
                bindings.append(binding)
                continue
            parts += (opcode, expression.modifier, expression.tag, expression.zero_flush, expression.literal)
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
        if len(bindings) > 1 and len(set(bindings)) != len(bindings):
            parts.append(tuple(map(bindings.index, bindings)))
        key = tuple(parts)
        return Pattern(self._known_shapes.get(key) or self._new_shape(key, expressions), bindings)

    def _new_shape(self, key: tuple[object, ...], expressions: Sequence[Expression]) -> Shape:
        units = tuple(unit_of(expression.opcode) for expression in expressions)
        operands = (operand for e in expressions for operand in (*e.sources, *e.destinations))
        latches = tuple(LATCH_OF[operand.memory] for operand in operands if operand.memory in LATCH_OF)
        if len(self._known_shapes) >= SHAPE_LIMIT:
            self._known_shapes.clear()  # numbers are not used again
        self._numbers += 1
        shape = Shape(self._numbers, tuple(unit for unit in units if unit in UNITS), latches, "l1bm" in units)
        self._known_shapes[key] = shape
        return shape

    def _key(self, shape: Shape, context: Context) -> tuple[object, ...]:
        """The shape with all that its decoding depends on."""
        buffers = [context.buffers[unit] for unit in shape.units]
        values = [context.latches[unit] for unit in shape.latches]
        return (shape.number, context.turnaround if shape.uses_turnaround else None, *buffers, *values)

    def find(self, shape: Shape, context: Context) -> Template | None:
        """The template of a shape in a situation."""
        return self._known.get(self._key(shape, context))

    def keep(self, pattern: Pattern, context: Context, plan: Plan, calls: Calls) -> Template | None:
        """Make a template of a step that was decoded, with the calls that it was decoded into; None if it is unfit."""
        key = self._key(pattern.shape, context)
        if key in self._known:  # it was found unfit
            return None
        if len(self._known) >= TEMPLATE_LIMIT:
            self._known.clear()
        template = self._known[key] = self._template(plan, calls, pattern.bindings)
        return template

    def _template(self, plan: Plan, calls: Calls, bindings: Sequence[Binding]) -> Template | None:
        if plan.facts.before or plan.facts.after or (plan.facts.l2bm and not plan.facts.copies_l2bm):
            return None
        places: dict[int, tuple[int, int]] = {}
        accesses: dict[int, tuple[int, int]] = {}
        for number, binding in enumerate(bindings):
            for part, rows in enumerate(binding.parts):
                places.setdefault(id(rows), (number, part))
            for part, access in enumerate(binding.accesses):
                accesses.setdefault(id(access), (number, part))
        found: list[tuple[int, int, int, int]] = []
        offsets: list[tuple[int, int]] = []
        at = 0
        for number, (_, operands) in enumerate(calls):
            offsets.append((2 * number + 1, 8 * at))
            for operand in operands:
                end = at + CYCLES + 1
                if id(operand) in places:
                    found.append((at, end, *places[id(operand)]))
                elif any(address in region for address in operand for region in self._regions):
                    return None
                at = end
        facts = plan.facts
        lists = [
            [(i, *accesses[id(access)]) for i, access in enumerate(listed) if id(access) in accesses]
            for listed in (facts.reads, facts.writes, facts.upper)
        ]
        total = len(facts.reads) + len(facts.writes) + len(facts.upper) + len(facts.mask_reads) + len(facts.mask_writes)
        is_bound = sum(map(len, lists)) == total and not facts.l2bm
        return Template(plan, offsets, found, *lists, is_bound=is_bound)

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
            made = Binding(operand, self._shape(operand))
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
        known = self._constants.operand_rows.get(id(operand))
        if known is None or known.operand is not operand:
            check_static(operand, self._strict)
            known = find_source(operand, context, self._arena.base, self._strict)
            self._constants.keep_operand(known)
        shape = self._shape("source", operand.memory, operand.width, operand.suffix, operand.negate)
        rows = (known.rows, known.lsb_rows) if operand.width == 4 else (known.rows,)
        return Binding(operand, shape, rows, (known.access,))

    def _store(self, operand: Operand, context: Context) -> Binding:
        known = self._constants.stores.get(id(operand))
        if known is None or known.operand is not operand:
            check_static(operand, self._strict)
            known = find_store(operand, context, self._arena.base, self._strict)
            self._constants.keep_store(known)
        shape = self._shape("store", operand.memory, operand.width, operand.suffix, operand.negate)
        rows = (known.out, known.lsb_out) if operand.width == 4 else (known.out,)
        return Binding(operand, shape, rows, (known.access,))

    def _transfer(self, expression: Expression) -> Binding | None:
        """The binding of a transfer between L2BM and L1BM that a kernel does."""
        known = self._transfers.get(id(expression))
        if known is not None and known.operand is expression:
            return known
        try:
            plan = plan_l2bm(expression)
        except ValueError:  # decoding says what is wrong
            return None
        if plan.copy is None:
            return None
        if len(self._transfers) >= OPERAND_LIMIT:
            self._transfers.clear()
        shape = self._shape("L2BM", plan.copy._replace(far=0, near=0))
        rows = self._constants.rows_of_copy(plan.copy, self._arena)
        made = self._transfers[id(expression)] = Binding(expression, shape, rows, l2bm=plan)
        return made

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
        self._uppers[key] = Binding(operand, shape, found.rows, found.accesses)
        return self._uppers[key]

