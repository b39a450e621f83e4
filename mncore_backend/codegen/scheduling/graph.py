"""Nodes of the dependence graph and the bundles that are placed as a whole."""

from dataclasses import dataclass, field

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Expression, Memory, Transfer
from mnc.mncore_backend.codegen.scheduling.needs import Needs, far_enough, merged
from mnc.mncore_backend.codegen.scheduling.timeline import TransferTiming
from mnc.mncore_backend.program import MachineOp


@dataclass(eq=False, slots=True)
class Node:
    """One operation.

    row        of its bundle
    step       set when it is placed
    earliest   least step that the placed predecessors allow
    sooner     the same, if results may be taken from latches
    forwards   (producer, memory, latch) of operands that a latch could deliver
    successors (operation, distance in steps, distance if the latch delivers)
    """

    index: int
    op: MachineOp
    expression: Expression | None = None
    transfer: Transfer | None = None
    needs: Needs | None = None
    timing: TransferTiming | None = None
    row: int = 0
    earliest: int = 0
    sooner: int = 0
    step: int = -1
    forwards: list[tuple["Node", Memory, Memory]] = field(default_factory=list)
    successors: list[tuple["Node", int, int]] = field(default_factory=list)
    bundle: "Bundle" = None  # type: ignore[assignment]  # set right after creation

    @property
    def name(self) -> str:
        return f"operation {self.index} ({self.op.opcode})"


@dataclass(eq=False, slots=True)
class Bundle:
    """Operations with fixed distances: one operation, or a chain tied by latches.

    rows        per row the nodes that share a step
    offsets     step of each row relative to the first; steps between rows that are not 1 apart hold nothing but nop
    needs       per row what its step must provide
    pending     predecessors not yet placed (and 1 while members are missing)
    transfers   MVs that must have finished before the first row
    priority    steps from the first row to the end of the longest path that starts here
    number      place among the bundles of the window
    following   bundles that depend on it, and the steps from its first row to theirs at least, as far as they have
                been looked at: `followed` successors of its nodes
    is_transfer one MV
    """

    index: int
    rows: list[list[Node]]
    offsets: list[int] = field(default_factory=lambda: [0])
    needs: list[Needs] = field(default_factory=list)
    pending: int = 1
    missing: int = 1
    transfers: list[Node] = field(default_factory=list)
    priority: int = 0
    placed: bool = False
    internal: list[tuple[Node, Node, int]] = field(default_factory=list)
    number: int = -1
    is_transfer: bool = False
    following: dict["Bundle", int] = field(default_factory=dict)
    followed: int = 0

    @property
    def nodes(self) -> list[Node]:
        return [node for row in self.rows for node in row]

    @property
    def earliest(self) -> int:
        """First step at which the first row may be placed."""
        if len(self.rows) == 1 == len(self.rows[0]):
            return self.rows[0][0].earliest
        return max(node.earliest - self.offsets[node.row] for row in self.rows for node in row)

    @property
    def sooner(self) -> int:
        """The same, if results may be taken from latches."""
        if len(self.rows) == 1 == len(self.rows[0]):
            return self.rows[0][0].sooner
        return max(node.sooner - self.offsets[node.row] for row in self.rows for node in row)

    def complete(self) -> None:
        """All members are known: join the needs of each row and fix the distances between rows."""
        if self.is_transfer:
            return
        self.needs = self.needs_of_rows()
        self.offsets = [0]
        for row in range(1, len(self.rows)):
            self.offsets.append(self._offset(row))
        for before, after, distance in self.internal:
            if self.offsets[after.row] - self.offsets[before.row] < distance:
                raise InternalError(f"{before.name} must precede {after.name}, which their latches exclude")

    def retire(self) -> None:
        """The bundle is placed: let go of the operations around it, of which one would keep the next from being freed
        to the end of the program."""
        for node in self.nodes:
            node.forwards = []
        self.rows, self.transfers, self.internal, self.following = [], [], [], {}

    def needs_of_rows(self) -> list[Needs]:
        """Per row the needs of its nodes, joined."""
        return [self._row_needs(row) for row in self.rows]

    def _row_needs(self, row: list[Node]) -> Needs:
        total = row[0].needs
        assert total is not None
        for node in row[1:]:
            assert node.needs is not None
            joined = merged(total, node.needs)
            if joined is None:
                names = " and ".join(n.name for n in row)
                raise InternalError(f"{names} must share a step because of their latches, but no step takes both")
            total = joined
        return total

    def _offset(self, row: int) -> int:
        """Least offset of a row that keeps every distance to the rows before; what lies between is filled by nops."""
        offset = self.offsets[row - 1] + 1
        for before, after, distance in self.internal:
            if after.row == row and before.row < row:
                offset = max(offset, self.offsets[before.row] + distance)
        while not all(
            far_enough(self.needs[r], self.needs[row], offset - self.offsets[r]) for r in range(row)
        ):
            offset += 1
        return offset
