"""What a PE statement is decoded into, and the builder that collects it.

A plan is a table of kernel calls with their records, run block-major, plus the facts the strict checks need: which
words it reads and writes. Work that no kernel does (indirect addressing, base registers) is a host action before or
after the table.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.emulator.arena import CYCLES, SCRATCH_OPERANDS, Arena, Rows, arena_layout, row_bytes
from mnc.mncore_backend.emulator.kernels.jit import Kernel
from mnc.mncore_backend.emulator.l2bm import L2bmPlan
from mnc.mncore_backend.emulator.merged_stores import store_at_once
from mnc.mncore_backend.target import cached_per_machine

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.engine import Engine
    from mnc.mncore_backend.emulator.template import Binding, Template

HostAction = Callable[["Engine"], None]
Call = tuple[Kernel, tuple[Sequence[int], ...]]
Calls = Sequence[Call]
"""Kernel calls with their operands: rows, or a number per cycle."""


@cached_per_machine()
def _first_bytes() -> dict[str, int]:
    return {name: first * row_bytes() for name, (first, _) in arena_layout().regions.items()}


class Value(NamedTuple):
    """A 2-long: rows of D0:D1 and rows of D2:D3, cycles 0..3."""

    msb: Rows
    lsb: Rows


class Access(NamedTuple):
    """Words of one PE memory that a step reads or writes, before BAR, T and j when `dynamic`."""

    memory: Memory
    words: tuple[int, ...]  # first word per cycle (aligned); cycles that touch nothing are left out
    width: int
    operand: Operand
    dynamic: bool = False  # addresses depend on T, j or unequal base registers
    mask: tuple[int, bool] | None = None  # run-time write mask: (entry, 2-long word length)


class UpperAccess(NamedTuple):
    """Long words of every L1BM that a step reads or writes: first of each cycle, and how many."""

    firsts: tuple[int, ...]
    count: int
    write: bool


@dataclass(slots=True)
class Facts:
    """What a decoded PE statement does besides its kernel calls, for every address that it may be filled with, but for
    `reads`, `writes`, `upper` and `l2bm`."""

    before: list[HostAction]
    after: list[HostAction]
    reads: list[Access]
    writes: list[Access]
    upper: list[UpperAccess]
    results: dict[str, Value]
    turnaround: tuple[int, str] | None
    noforward: bool
    is_nop: bool
    wait_tag: int | None
    bank_writes: list[tuple[str, str, tuple[int, ...]]]  # bank, precision, rows
    bank_reads: list[tuple[str, str, tuple[int, ...], bool]]  # bank, precision, rows, needs the decoded copy
    mask_reads: set[int]
    mask_writes: list[tuple[int, tuple[int, ...]]]  # entry, cycles
    units: tuple[str, ...]
    l2bm: list[L2bmPlan]
    checks_block_float: bool
    copies_l2bm: bool  # a kernel does the one L2BM transfer of the step

    @property
    def acts(self) -> bool:
        """Is there work for the host?"""
        return bool(self.before or self.after or self.l2bm)

    @property
    def is_steady(self) -> bool:
        """Does the step touch the same words of the same memories whenever it is executed?"""
        return self.copies_l2bm >= bool(self.l2bm) and not any(access.dynamic for access in (*self.reads, *self.writes))


@dataclass(slots=True)
class Plan:
    """A decoded PE statement. One that a template made shares the facts of the template, but for what it accesses: its
    own transfers are in `l2bm`.

    `verified` is the epoch of the shadow in which the step was seen to meet no poison (see `checks`). `is_new` says
    that it was never run.
    """

    table: "array[int]"  # address of a kernel and of its record, in turns
    records: "array[int]"
    facts: Facts
    template: "Template | None" = None
    bindings: "Sequence[Binding]" = ()
    verified: int = -1
    is_new: bool = True
    l2bm: "Sequence[L2bmPlan]" = ()

    def accesses(self) -> tuple[list[Access], list[Access], list[UpperAccess]]:
        """Words that the step reads, words that it writes, and long words of L1BM."""
        if self.template is not None:
            return self.template.accesses(self.bindings)
        return self.facts.reads, self.facts.writes, self.facts.upper


def rows_of(base: int, region: str, rows: Sequence[int]) -> Rows:
    """Rows of a region of the arena that begins at `base`, one per cycle."""
    first = base + _first_bytes()[region]
    a, b, c, d = rows
    stride = arena_layout().block_bytes
    return (first + a * row_bytes(), first + b * row_bytes(), first + c * row_bytes(), first + d * row_bytes(), stride)


class PlanBuilder:
    """Collects the kernel calls and facts of one step."""

    __slots__ = (
        *("arena", "zero", "compute", "carries", "stores", "late_stores", "before", "after", "reads", "writes"),
        *("upper", "results", "turnaround", "bank_writes", "bank_reads", "mask_reads", "mask_writes", "l2bm"),
        *("checks_block_float", "copies_l2bm", "_scratch", "_base"),
    )

    def __init__(self, arena: Arena, zero: Rows) -> None:
        self.arena = arena
        self._base = arena.base
        self.zero = zero
        self.compute: list[tuple[Kernel, tuple[Sequence[int], ...]]] = []
        self.carries: list[tuple[Kernel, tuple[Sequence[int], ...]]] = []
        self.stores: list[tuple[Kernel, tuple[Sequence[int], ...]]] = []
        self.late_stores: list[tuple[Kernel, tuple[Sequence[int], ...]]] = []
        self.before: list[HostAction] = []
        self.after: list[HostAction] = []
        self.reads: list[Access] = []
        self.writes: list[Access] = []
        self.upper: list[UpperAccess] = []
        self.results: dict[str, Value] = {}
        self.turnaround: tuple[int, str] | None = None
        self.bank_writes: list[tuple[str, str, tuple[int, ...]]] = []
        self.bank_reads: list[tuple[str, str, tuple[int, ...], bool]] = []
        self.mask_reads: set[int] = set()
        self.mask_writes: list[tuple[int, tuple[int, ...]]] = []
        self.l2bm: list[L2bmPlan] = []
        self.checks_block_float = False
        self.copies_l2bm = False
        self._scratch = 0

    def rows(self, region: str, rows: Sequence[int]) -> Rows:
        """Rows of a region, one per cycle."""
        return rows_of(self._base, region, rows)

    def scratch_row(self) -> int:
        """First of four fresh scratch rows of the step."""
        if self._scratch == SCRATCH_OPERANDS:
            raise RuntimeError("a step needs more scratch operands than the arena has")
        self._scratch += 1
        return (self._scratch - 1) * CYCLES

    def scratch(self) -> Rows:
        """Fresh scratch rows of the step."""
        first = self.scratch_row()
        return self.rows("scratch", (first, first + 1, first + 2, first + 3))

    def call(self, kernel: Kernel, **operands: Sequence[int]) -> None:
        """Add a kernel call to the compute phase."""
        self.compute.append((kernel, tuple(map(operands.__getitem__, kernel.operands))))

    def carry(self, kernel: Kernel, **operands: Sequence[int]) -> None:
        """Add a kernel call that takes PE memory elsewhere, as it was before the step: ahead of the stores."""
        self.carries.append((kernel, tuple(map(operands.__getitem__, kernel.operands))))

    def store(self, kernel: Kernel, **operands: Sequence[int]) -> None:
        """Add a kernel call to the store phase, which follows all computation of the step."""
        self.stores.append((kernel, tuple(map(operands.__getitem__, kernel.operands))))

    def store_late(self, kernel: Kernel, **operands: Sequence[int]) -> None:
        """Add a kernel call behind the stores: mask registers change after every use of a mask in the step."""
        self.late_stores.append((kernel, tuple(map(operands.__getitem__, kernel.operands))))

    def calls(self) -> Calls:
        """All kernel calls in their order."""
        compute, stores = store_at_once(self._base, self.compute, self.carries, self.stores)
        return (*compute, *self.carries, *stores, *self.late_stores)

    def finish(
        self, calls: Calls, *, noforward: bool, is_nop: bool, wait_tag: int | None, units: tuple[str, ...]
    ) -> Plan:
        """The finished plan of these calls: one record array, and a table of (kernel, record) addresses."""
        flat: list[int] = []
        starts: list[tuple[int, int]] = []
        for kernel, operands in calls:
            starts.append((kernel.address, 8 * len(flat)))
            for operand in operands:
                flat += operand
                if len(operand) == CYCLES:
                    flat.append(0)
        records = array("q", flat)
        first = records.buffer_info()[0]
        table = array("q", [value for address, at in starts for value in (address, first + at)])
        facts = Facts(
            self.before,
            self.after,
            self.reads,
            self.writes,
            self.upper,
            self.results,
            self.turnaround,
            noforward,
            is_nop,
            wait_tag,
            self.bank_writes,
            self.bank_reads,
            self.mask_reads,
            self.mask_writes,
            units,
            self.l2bm,
            self.checks_block_float,
            self.copies_l2bm,
        )
        return Plan(table, records, facts, l2bm=facts.l2bm)
