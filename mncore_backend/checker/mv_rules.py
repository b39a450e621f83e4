"""MV transfers in flight: tags, waits, and who may touch their memory before they have finished (summary 7.9)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnc.mncore_backend.assembly.accesses import Access, accesses
from mnc.mncore_backend.assembly.hazards import overlap
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.records import Expression, Memory, Transfer
from mnc.mncore_backend.checker.findings import Report, Severity

if TYPE_CHECKING:
    from mnc.mncore_backend.checker.profiles import Known

_FOLLOWED = 256  # transfers without a wait that are followed at a time
_REMEMBERED = 1 << 14  # expressions known to touch none of them
SHARED = (Memory.L2BM, Memory.DAR)

_Span = tuple[Memory, bool, int, int]
"""Memory, whether written, and the words between which an access lies, whatever the instance."""


def bounds(access: Access) -> tuple[int, int]:
    """First address of an access, and the one behind the last."""
    words = [word for cycle in access.cycles for word in cycle]
    return min(words)[0], max([end for _, end in words])


def _span(access: Access) -> _Span:
    return access.memory, access.write, *bounds(access)


def _may_meet(a: _Span, b: _Span) -> bool:
    return a[0] is b[0] and (a[1] or b[1]) and a[2] < b[3] and b[2] < a[3]


@dataclass(eq=False, slots=True)
class _Running:
    transfer: Transfer
    accesses: tuple[Access, ...]
    shared: tuple[Access, ...]  # those to memories that PE statements use, too
    spans: tuple[_Span, ...]  # of the accesses
    assumed: bool = False  # a later transfer of the same path has been waited for

    def shares_path(self, other: "_Running") -> bool:
        """Whether both are of one path: the same kinds of memory, and an instance of one of them in common."""
        ends = [(a.memory, a.write, a.instances) for a in self.accesses if a.memory is not Memory.DAR]
        others = [(b.memory, b.write, b.instances) for b in other.accesses if b.memory is not Memory.DAR]
        pairs = list(zip(ends, others, strict=False))
        return all(a[:2] == b[:2] for a, b in pairs) and any(a[2] & b[2] for a, b in pairs)


class TransferTracker:
    """Transfers that no wait has finished yet."""

    def __init__(self, *, vendor: bool) -> None:
        self._running: list[_Running] = []
        self._apart: set[Expression] = set()  # expressions that touch nothing of the transfers in flight
        self._apart_spans: set[_Span] = set()  # what PE statements use, far from all transfers in flight
        self._tags: dict[int, int] = {}  # tag -> line of the MV that will assert it
        self._vendor = vendor

    def transfer(self, transfer: Transfer) -> list[Report]:
        """Reports about an MV against those in flight, and remembers it."""
        found: list[Report] = []
        touched = transfer_accesses(transfer)
        tag = transfer.tag
        if tag is not None:
            if tag in self._tags:
                message = f"tag {tag:02x} of line {self._tags[tag]} is asserted again without a wait between"
                hint = f"wait i{tag:02x} first, or use another tag"
                found.append(Report("mv-tag-reuse", message, hint, -1, self._tags[tag]))
            self._tags[tag] = transfer.line
        spans = tuple(map(_span, touched))
        for other in reversed(self._running):
            if not any(_may_meet(a, b) for a in spans for b in other.spans):
                continue
            memory = _conflict(touched, other.accesses)
            if memory is not None:
                message = (
                    f"this MV and that of line {other.transfer.line}, not waited for, use the same long words of "
                    f"{memory.name}"
                )
                line, severity = other.transfer.line, Severity.SILENT if self._vendor else None
                found.append(Report("mv-conflict", message, _wait_hint(other.transfer), -1, line, severity))
                break
        if touched:
            if len(self._running) >= _FOLLOWED:
                self._running.pop(0)
            shared = tuple(a for a in touched if a.memory in SHARED)
            self._running.append(_Running(transfer, touched, shared, spans))
            self._apart_spans.clear()
            if shared:
                self._apart.clear()
        return found

    def step(self, expressions: tuple[Expression, ...], known: "Known | None" = None) -> list[Report]:
        """Waits of a step, then its use of L2BM and DAR against the transfers in flight."""
        found: list[Report] = []
        if not self._running and not self._tags:
            return [_unknown(e, i) for i, e in enumerate(expressions) if e.opcode == "wait"]
        for index, expression in enumerate(expressions):
            if expression.opcode == "wait":
                found += self._wait(expression, index)
        if known is not None and self._is_apart(known):
            return found
        for index, expression in enumerate(expressions):
            if OPCODES[expression.opcode].unit in (Unit.L2BM, Unit.L2BMDARW):
                found += self._use(expression, index)
        return found

    def _wait(self, expression: Expression, index: int) -> list[Report]:
        tag = expression.tag or 0
        if self._tags.pop(tag, None) is None:
            return [_unknown(expression, index)]
        finished = next((r for r in self._running if r.transfer.tag == tag), None)
        if finished is None:
            return []
        done = [finished]
        for earlier in reversed(self._running[: self._running.index(finished)]):
            if any(earlier.shares_path(later) for later in done):
                earlier.assumed = True
                done.append(earlier)
        self._running.remove(finished)
        return []

    def _is_apart(self, known: "Known") -> bool:
        """Does a step certainly touch nothing of the transfers in flight?"""
        profile, addresses = known
        for access, anchor, first, end in profile.shared:
            base = addresses[anchor]
            span = (access.memory, access.write, base + first, base + end)
            if span in self._apart_spans:
                continue
            if any(_may_meet(span, other) for running in self._running for other in running.spans):
                return False
            if len(self._apart_spans) >= _REMEMBERED:
                self._apart_spans.clear()
            self._apart_spans.add(span)
        return True

    def _use(self, expression: Expression, index: int) -> list[Report]:
        if expression in self._apart:
            return []
        met = [
            (running.assumed, access, running)
            for access in accesses(expression)
            if access.memory in SHARED
            for running in reversed(self._running)
            if any((access.write or a.write) and overlap(access, a) for a in running.shared)
        ]
        if met:  # one that certainly may still run says more than one that is taken as finished
            _, access, running = min(met, key=lambda one: one[0])
            return [self._unwaited(expression, index, access, running)]
        if len(self._apart) >= _REMEMBERED:
            self._apart.clear()
        self._apart.add(expression)
        return []

    def _unwaited(self, expression: Expression, index: int, access: Access, running: _Running) -> Report:
        line, memory = running.transfer.line, access.memory.name
        verb = "writes" if access.write else "reads"
        if running.assumed:
            message = f"{expression.opcode} {verb} {memory} of the MV in line {line}; only a later MV was waited for"
            severity = Severity.SILENT if self._vendor else None
            return Report("mv-untagged", message, _wait_hint(running.transfer), index, line, severity)
        message = f"{expression.opcode} {verb} {memory} while the MV of line {line} may still run"
        severity = Severity.WARNING if self._vendor else None
        return Report("mv-unwaited", message, _wait_hint(running.transfer), index, line, severity)


def _unknown(expression: Expression, index: int) -> Report:
    message = f"no MV of this program asserts tag {expression.tag or 0:02x} before this wait"
    return Report("wait-unknown", message, "leave out the wait if no host transfer asserts the tag", index)


def _wait_hint(transfer: Transfer) -> str:
    if transfer.tag is None:
        return f"give the MV of line {transfer.line} a tag (i01 to i3f) and wait for it before"
    return f"wait i{transfer.tag:02x} before"


def _conflict(first: tuple[Access, ...], second: tuple[Access, ...]) -> Memory | None:
    """Memory of which one writes long words that the other reads or writes. Sharing an instance is no conflict."""
    for a in first:
        for b in second:
            if (a.write or b.write) and overlap(a, b):
                return a.memory
    return None
