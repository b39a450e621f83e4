"""The window of operations that compete for steps: builds the graph as the window moves over the program."""

from collections.abc import Mapping, Sequence

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Memory, Operand, Transfer
from mnc.mncore_backend.isa import OPCODES, Unit
from mnc.mncore_backend.program import BufferOperand, MachineOp
from mnc.mncore_backend.scheduling.chains import Chain, find_chains
from mnc.mncore_backend.scheduling.dependence import Dependences
from mnc.mncore_backend.scheduling.graph import Bundle, Node
from mnc.mncore_backend.scheduling.timeline import timing_of
from mnc.mncore_backend.scheduling.touches import Touch, describe, narrowed, transfer_touches
from mnc.mncore_backend.scheduling.urgency import compute_priorities

_CONTROL = (Unit.NOP, Unit.NOFORWARD, Unit.WAIT)


def _upper(operand: object) -> Operand:
    resolved = operand.resolve() if isinstance(operand, BufferOperand) else operand
    assert isinstance(resolved, Operand)
    return resolved


def transfer_of(op: MachineOp) -> Transfer:
    """The MV of an operation, without a tag."""
    return Transfer(op.opcode, op.size, _upper(op.sources[0]), _upper(op.destinations[0]))


def moving_memories(operations: Sequence[MachineOp]) -> frozenset[Memory]:
    """Local memories whose base register is written."""
    names = {Memory.BAR0: Memory.BAR0, Memory.BAR1: Memory.BAR1}
    return frozenset(
        names[o.memory]
        for op in operations
        for o in op.destinations
        if not isinstance(o, BufferOperand) and o.memory in names
    )


class Window:
    """Bundles whose members have all been read and that are not placed yet, with up-to-date priorities."""

    def __init__(
        self,
        operations: Sequence[MachineOp],
        size: int,
        *,
        deep: bool = True,
        earlier: Mapping[int, int] | None = None,
    ) -> None:
        """`deep`, `earlier`: see `compute_priorities`."""
        self._deep = deep
        self._earlier = earlier
        self._operations = operations
        self._size = size
        self._next = 0
        self._chains: dict[int, Chain] = {i: c for c in find_chains(operations) for row in c.rows for i in row}
        self._dependences = Dependences(moving_memories(operations))
        self._open: dict[int, Bundle] = {}
        self.bundles: list[Bundle] = []
        self.unplaced = 0

    @property
    def exhausted(self) -> bool:
        """The whole program has been read."""
        return self._next == len(self._operations)

    def wants_more(self) -> bool:
        """A quarter of the window has become free."""
        return not self.exhausted and 4 * self.unplaced <= 3 * self._size

    def extend(self) -> list[Bundle]:
        """Read operations until the window is full; the bundles that have become ready to be looked at (no predecessor
        left to place). Priorities are computed anew."""
        ready = []
        while not self.exhausted and (self.unplaced < self._size or self._open):
            bundle = self._read_one()
            if bundle.missing == 0:
                bundle.complete()
                bundle.pending -= 1
                self.bundles.append(bundle)
                self.unplaced += 1
                if bundle.pending == 0:
                    ready.append(bundle)
        self.bundles = [b for b in self.bundles if not b.placed]
        compute_priorities(self.bundles, deep=self._deep, earlier=self._earlier)
        return ready

    def _read_one(self) -> Bundle:
        index = self._next
        self._next += 1
        op = self._operations[index]
        node, touches = _make_node(index, op)
        bundle = self._join(node)
        found = self._dependences.add(node, touches)
        for before, distance in found.steps.items():
            self._connect(before, node, distance, found.sooner[before])
        bundle.missing -= 1
        return bundle

    def _join(self, node: Node) -> Bundle:
        """The bundle of a new node."""
        chain = self._chains.get(node.index)
        if chain is None:
            node.bundle = Bundle(node.index, [[node]], is_transfer=node.transfer is not None)
            return node.bundle
        first = chain.rows[0][0]
        bundle = self._open.get(first)
        if bundle is None:
            bundle = self._open[first] = Bundle(node.index, [[] for _ in chain.rows])
            bundle.missing = sum(len(row) for row in chain.rows)
        node.row = next(r for r, row in enumerate(chain.rows) if node.index in row)
        bundle.rows[node.row].append(node)
        node.bundle = bundle
        if bundle.missing == 1:
            del self._open[first]
        return bundle

    @staticmethod
    def _connect(before: Node, node: Node, distance: int, sooner: int) -> None:
        bundle = node.bundle
        if before.bundle is bundle:
            bundle.internal.append((before, node, distance))
        elif before.step < 0:
            before.successors.append((node, distance, sooner))
            bundle.pending += 1
        elif before.transfer is not None:
            bundle.transfers.append(before)
        else:
            node.earliest = max(node.earliest, before.step + distance)
            node.sooner = max(node.sooner, before.step + sooner)


def _make_node(index: int, op: MachineOp) -> tuple[Node, tuple[Touch, ...]]:
    if op.is_transfer:
        transfer = transfer_of(op)
        return Node(index, op, transfer=transfer, timing=timing_of(transfer)), transfer_touches(transfer)
    info = OPCODES.get(op.opcode)
    if info is None or info.unit in _CONTROL:
        raise InternalError(f"operation {index}: {op.opcode} is not for generators to emit")
    expression = op.resolve()
    needs, touches = describe(expression)
    return Node(index, op, expression, needs=needs), narrowed(touches, op)
