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

from mnc.mncore_backend.assembly.records import Expression
from mnc.mncore_backend.assembly.shapes import Shape, is_relocated, step_form
from mnc.mncore_backend.emulator.arena import CYCLES, Arena, arena_layout, row_bytes
from mnc.mncore_backend.emulator.bindings import Bindings, Table, is_fit
from mnc.mncore_backend.emulator.constants import Constants
from mnc.mncore_backend.emulator.context import LATCH_OF, UNITS, Context
from mnc.mncore_backend.emulator.decode import unit_of
from mnc.mncore_backend.emulator.plan import Calls, Plan
from mnc.mncore_backend.emulator.template import Binding, Pattern, StepShape, Template

TEMPLATE_LIMIT = SHAPE_LIMIT = 1 << 14
_RELOCATED = ("m", "n", "r", "s", "lb")


class _Company:
    """Steps whose expressions have the same shapes.

    parts    per expression the tables of its places, None for a transfer between L2BM and L1BM
    fixed    bindings of operands with a list of addresses, which are part of the shape
    aliases  may two places hold the same operand?
    """

    __slots__ = ("aliases", "fixed", "parts", "shapes", "tables")

    def __init__(self, parts: list[list[Table] | None], fixed: list[Binding]) -> None:
        self.parts = parts
        self.fixed = fixed
        tables = [table for part in parts for table in part or ()]
        self.aliases = len({id(table) for table in tables}) < len(tables)
        self.tables = None if None in parts else tables
        self.shapes: dict[tuple[int, ...] | None, StepShape] = {}


class Templates:
    """Templates of one machine."""

    def __init__(self, arena: Arena, constants: Constants, strict: bool) -> None:
        self._bindings = Bindings(arena, constants, strict)
        self._known: dict[tuple[object, ...], Template | None] = {}
        self._companies: dict[tuple[Shape, ...], _Company | None] = {}
        self._numbers = 0
        self._regions = [
            range(arena.base + first * row_bytes(), arena.base + (first + count) * row_bytes())
            for first, count in (arena_layout().regions[name] for name in _RELOCATED)
        ]

    def pattern(self, expressions: Sequence[Expression]) -> Pattern | None:
        """The pattern of a step, None where it has to be decoded: also where that will raise an error. Masks must be
        open and base registers 0."""
        shapes, addresses = step_form(expressions)
        try:
            company = self._companies[shapes]
        except KeyError:
            company = self._new_company(shapes)
        if company is None:
            return None
        bindings: list[Binding] = []
        if company.tables is None:
            found = self._bind(company, shapes, addresses)
            if found is None:
                return None
            bindings = found
        else:
            for table, address in zip(company.tables, addresses, strict=True):
                binding = table.get(address)
                if binding is None:
                    found = self._bind(company, shapes, addresses)
                    if found is None:
                        return None
                    bindings = found
                    break
                bindings.append(binding)
        if company.fixed:
            bindings += company.fixed
        same = None
        if company.aliases and len(set(bindings)) < len(bindings):
            same = tuple(map(bindings.index, bindings))
        return Pattern(company.shapes.get(same) or self._new_shape(company, same, expressions), bindings)

    def _bind(self, company: _Company, shapes: Sequence[Shape], addresses: tuple[int, ...]) -> list[Binding] | None:
        """The bindings of a step, made where they are new; None where decoding will say what is wrong."""
        found: list[Binding | None] = []
        first = 0
        for shape, part in zip(shapes, company.parts, strict=True):
            own = addresses[first : first + len(shape.places)]
            first += len(own)
            if part is None:
                found.append(self._bindings.transfer(shape, own))
                continue
            expression = None
            for place, (table, address) in enumerate(zip(part, own, strict=True)):
                binding = table.get(address)
                if binding is None:
                    expression = expression or shape.at(own)
                    binding = self._bindings.add(table, expression, shape.places[place])
                found.append(binding)
        made = [binding for binding in found if binding is not None]
        return made if len(made) == len(found) else None

    def _new_company(self, shapes: tuple[Shape, ...]) -> _Company | None:
        if len(self._companies) >= SHAPE_LIMIT:
            self._companies.clear()  # numbers are not used again
        self._companies[shapes] = company = self._make_company([shape.expression for shape in shapes])
        return company

    def _make_company(self, expressions: Sequence[Expression]) -> _Company | None:
        """None if a step has to be decoded whatever its addresses."""
        parts: list[list[Table] | None] = []
        fixed: list[Binding] = []
        for expression in expressions:
            if unit_of(expression.opcode) == "l2bm":
                parts.append(None)
                continue
            parts.append(tables := [])
            for place, operand in enumerate((*expression.sources, *expression.destinations)):
                if not is_fit(operand):
                    return None
                table = self._bindings.table(expression, place)
                if is_relocated(operand):
                    tables.append(table)
                elif operand.flat is not None:
                    binding = self._bindings.add({}, expression, place)
                    if binding is None:
                        return None
                    fixed.append(binding)
        return _Company(parts, fixed)

    def _new_shape(
        self, company: _Company, same: tuple[int, ...] | None, expressions: Sequence[Expression]
    ) -> StepShape:
        units = tuple(unit_of(expression.opcode) for expression in expressions)
        operands = (operand for e in expressions for operand in (*e.sources, *e.destinations))
        latches = tuple(LATCH_OF[operand.memory] for operand in operands if operand.memory in LATCH_OF)
        if len(company.shapes) >= SHAPE_LIMIT:
            company.shapes.clear()
        self._numbers += 1
        shape = StepShape(self._numbers, tuple(unit for unit in units if unit in UNITS), latches, "l1bm" in units)
        company.shapes[same] = shape
        return shape

    def _key(self, shape: StepShape, context: Context) -> tuple[object, ...]:
        """The shape with all that its decoding depends on."""
        buffers = [context.buffers[unit] for unit in shape.units]
        values = [context.latches[unit] for unit in shape.latches]
        return (shape.number, context.turnaround if shape.uses_turnaround else None, *buffers, *values)

    def find(self, shape: StepShape, context: Context) -> Template | None:
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
        is_bound = sum(map(len, lists)) == total
        return Template(plan, offsets, found, *lists, is_bound=is_bound)
