"""spill-buffers: values leave local memory where it would overflow, and come back before they are used again.

before:  %a = memref.alloc() ... (long without a use) ... affine.load %a
after:   %a = memref.alloc() ... mncore.spill %a, %d ... %b = memref.alloc(); mncore.fetch %d, %b ... affine.load %b

What a `mncore.dl` brought and nobody changed is loaded again instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mnc.core.bindings import ir, memref
from mnc.core.diagnostics import node_name
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.dialects.mncore import Dl, Fetch, Scratch, Spill
from mnc.dialects.mncore.attributes import memory_attribute, placement_of, shape_text
from mnc.mncore_backend.codegen.allocation.allocate import CapacityError
from mnc.mncore_backend.codegen.residency.accesses import Accesses, partial_sums, read_accesses
from mnc.mncore_backend.codegen.residency.plan import Action, Kind, NoRoom, Use, Value, plan_residency
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import chip


def _local_longs() -> int:
    """Long words of local memory of a PE."""
    return sum(chip().memories[memory].longs for memory in LOCAL_MEMORY)


@dataclass(frozen=True)
class SpillBuffers(Pass):
    """Keep what is in use at once within local memory: store values to DRAM and fetch them, or load them again.

    ``percent`` of local memory may be used; the rest is left to what kernels and movements need for themselves.
    """

    name: ClassVar[str] = "spill-buffers"
    percent: int = at_least(1, 100)

    def run(self, module: ir.Module) -> None:
        """Rewrite every function; raises CapacityError where one operation alone does not fit."""
        with module.context, ir.Location.unknown():
            for op in functions_of(module):
                _spill(op.operation, _local_longs() * self.percent // 100)


def _spill(function: Any, capacity: int) -> None:
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    accesses = read_accesses(operations)
    roots = list(accesses.uses)
    _Rewriter(operations, accesses, roots).apply(_planned(operations, accesses, roots, capacity))


def _planned(operations: list[Any], accesses: Accesses, roots: list[Any], capacity: int) -> list[Action]:
    values = _values(accesses, roots, operations)
    try:
        return plan_residency(values, capacity)
    except NoRoom as error:
        raise _refused(error, values, roots, operations, capacity) from None


def check_operations_fit(function: Any) -> None:
    """Refuse a distributed function of which one operation alone needs more than local memory; raises CapacityError.

    Asked before movements are planned, because plans of what cannot fit are as large as the model.
    """
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    accesses = read_accesses(operations)
    _planned(operations, accesses, list(accesses.uses), _local_longs())


def _values(accesses: Accesses, roots: list[Any], operations: list[Any]) -> list[Value]:
    """What the planner sees; it keeps resident values and sums in parts, whose replicas differ, where they are."""
    stays = partial_sums(operations, accesses)
    values = []
    for root in roots:
        places = accesses.uses[root]
        loads = [operations[place] for place, _ in places[:1]]
        loaded = bool(loads) and loads[0].name == "mncore.dl"
        uses = tuple(Use(place, writes) for place, writes in places)
        size = placement_of(root.type).layout.local_size
        pinned = root.owner.name == "mncore.resident"
        values.append(Value(str(root.type), size, uses, loaded, pinned, root in stays))
    return values


def _refused(
    error: NoRoom, values: list[Value], roots: list[Any], operations: list[Any], capacity: int
) -> CapacityError:
    def described(number: int) -> tuple[str, int]:
        writer = operations[values[number].uses[0].place]
        name = node_name(writer.location)
        shape = shape_text(placement_of(roots[number].type).layout.shape)
        return f"{f'{name!r}' if name else 'a value'} of {shape}", values[number].size

    shown = sorted((described(number) for number in error.values), key=lambda item: -item[1])
    return CapacityError(LOCAL_MEMORY, error.needed, capacity, shown, operations[error.place].location)


@dataclass
class _Rewriter:
    """Carries out actions; `now` is the buffer in which each root is at the moment, None for the first one."""

    operations: list[Any]
    accesses: Accesses
    roots: list[Any]
    now: dict[Any, Any] = field(default_factory=dict)
    scratch: dict[Any, Any] = field(default_factory=dict)
    casts: dict[tuple[Any, Any], Any] = field(default_factory=dict)

    def apply(self, actions: list[Action]) -> None:
        pending = list(actions)
        for place, operation in enumerate(self.operations):
            while pending and pending[0].place == place:
                self._act(pending.pop(0), operation)
            if self.now:
                self._redirect(operation, operation)

    def _act(self, action: Action, before: Any) -> None:
        root = self.roots[action.value]
        with ir.InsertionPoint(before), before.location:
            if action.kind is Kind.SPILL:
                memory = self.scratch.get(root) or self._make_scratch(root)
                self.scratch[root] = memory
                Spill(self.now.get(root, root), memory)
            elif action.kind is Kind.FETCH:
                self._fetch(root)

    def _fetch(self, root: Any) -> None:
        made = memref.AllocOp(root.type, [], []).result
        self.now[root] = made
        self.casts = {key: value for key, value in self.casts.items() if key[0] != root}
        if root in self.scratch:
            Fetch(self.scratch[root], made)
            return
        load = self.operations[self.accesses.uses[root][0][0]]
        alias = next(alias for alias in self.accesses.aliases[root] if alias == load.operands[1])
        again = Dl(load.operands[0], self._alias(root, alias))
        for name in ("index_map", "padding"):
            if name in load.attributes:
                again.operation.attributes[name] = load.attributes[name]

    @staticmethod
    def _make_scratch(root: Any) -> Any:
        type_ = ir.MemRefType(root.type)
        memory = ir.MemRefType.get(type_.shape, type_.element_type, memory_space=memory_attribute("DRAM"))
        return Scratch(memory).memory

    def _alias(self, root: Any, alias: Any) -> Any:
        """What stands for `alias`, a view of `root`, at the moment."""
        made = self.now[root]
        if alias.type == made.type:
            return made
        key = root, alias.type
        if key not in self.casts:
            self.casts[key] = memref.MemorySpaceCastOp(alias.type, made).result
        return self.casts[key]

    def _redirect(self, operation: Any, anchor: Any) -> None:
        if operation.name == "memref.memory_space_cast":
            return  # made again where it is wanted
        for number, operand in enumerate(operation.operands):
            root = self.accesses.root_of.get(operand)
            if root is not None and root in self.now:
                with ir.InsertionPoint(anchor), anchor.location:
                    operation.operands[number] = self._alias(root, operand)
        for inner in _inner(operation):
            self._redirect(inner, anchor)


def _inner(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
