"""Distances between statements: follows the writes of the last steps (SDM 3.6.3)."""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from mnc.mncore_backend.assembly.accesses import ALL_CYCLES, Access, accesses, fixed_entry_cycles
from mnc.mncore_backend.assembly.hazards import Distance, required_distance, reuse_distance
from mnc.mncore_backend.assembly.records import Expression, MaskSetting, Memory
from mnc.mncore_backend.checker.findings import Report, Severity
from mnc.mncore_backend.checker.step_rules import masked_memories
from mnc.mncore_backend.target import WRITABLE_MASKS, chip

if TYPE_CHECKING:
    from mnc.mncore_backend.checker.profiles import Known

_Writes = dict[Memory, list[Access]]
DELAYED = frozenset(
    (
        Memory.LM0,
        Memory.LM1,
        Memory.GRF0,
        Memory.GRF1,
        Memory.T,
        Memory.BAR0,
        Memory.BAR1,
        Memory.L1BM,
        Memory.L2BM,
        Memory.TURNAROUND,
    )
)

_GRAVITY: tuple[Severity | None, ...] = tuple(Severity)


class _Producer(NamedTuple):
    """A step that wrote something. Its writes are looked at only where its profile does not tell enough."""

    step: int
    line: int
    expressions: tuple[Expression, ...]
    writes: _Writes | None = None
    known: "Known | None" = None


class HazardTracker:
    """Keeps the writes of the steps that a hazard can reach back to."""

    def __init__(self) -> None:
        self._recent: deque[_Producer] = deque(maxlen=chip().longest_hazard_steps - 1)

    def step(
        self,
        expressions: tuple[Expression, ...],
        step: int,
        line: int,
        default_masks: MaskSetting | None,
        known: "Known | None" = None,
    ) -> list[Report]:
        """Reports about a step with this number, and remembers its writes."""
        recent = self._recent
        while recent and step - recent[0].step >= chip().longest_hazard_steps:
            recent.popleft()
        found: list[Report] = []
        writes: _Writes = {}
        for index, expression in enumerate(expressions):
            for access in accesses(expression):
                if access.memory not in DELAYED:
                    continue
                if access.write:
                    writes.setdefault(access.memory, []).append(access)
                elif recent:
                    self._read(access, step, index, found)
        if writes:
            if default_masks is not None:
                writes = _with_default_masks(writes, expressions, default_masks)
            found += _within(expressions, writes)
            recent.append(_Producer(step, line, expressions, writes, known))
        return found

    def is_free(self, known: "Known", step: int) -> bool:
        """Is there certainly no report about a step?"""
        profile, addresses = known
        for producer in reversed(self._recent):
            distance = step - producer.step
            if distance >= chip().longest_hazard_steps:
                break
            if producer.known is None:
                return False
            producing, written = producer.known
            overlaps = profile.traffic.behind(producing.traffic, distance)
            if overlaps is None:
                return False
            for anchor, first, end, read_anchor, read_first, read_end in overlaps:
                place, read_place = written[anchor], addresses[read_anchor]
                if place + first < read_place + read_end and read_place + read_first < place + end:
                    return False
        return True

    def remember(self, known: "Known", expressions: tuple[Expression, ...], step: int, line: int) -> None:
        """Remember the writes of a step that `is_free` let through."""
        self._recent.append(_Producer(step, line, expressions, None, known))

    def transfer(self, reads: list[Access], step: int) -> list[Report]:
        """Reports about an MV that stands before the step with this number."""
        found: list[Report] = []
        for access in reads:
            self._read(access, step, -1, found)
        return found

    def _read(self, access: Access, step: int, index: int, found: list[Report]) -> None:
        memory = access.memory
        for producer in reversed(self._recent):
            distance = step - producer.step
            if distance >= chip().longest_hazard_steps:
                break
            writes = producer.writes if producer.writes is not None else _writes(producer.expressions)
            candidates = writes.get(memory, ())
            if memory is Memory.L1BM:
                candidates = (*candidates, *writes.get(Memory.TURNAROUND, ()))
            for write in candidates:
                required = required_distance(write, access)
                if required is not None and distance < required.emit:
                    _keep_gravest(_report(required, distance, producer.line, memory, index), found)


def _keep_gravest(report: Report, found: list[Report]) -> None:
    """One report per row and expression is enough. The nearest step may only deserve a warning where one before it is
    an error, so the gravest stays."""
    for place, other in enumerate(found):
        if other.rule == report.rule and other.expression == report.expression:
            if _GRAVITY.index(report.severity) < _GRAVITY.index(other.severity):
                found[place] = report
            return
    found.append(report)


def _writes(expressions: tuple[Expression, ...]) -> _Writes:
    """What a step writes that later ones may read too early, without default masks."""
    found: _Writes = {}
    for expression in expressions:
        for access in accesses(expression):
            if access.write and access.memory in DELAYED:
                found.setdefault(access.memory, []).append(access)
    return found


def within_step(expressions: tuple[Expression, ...]) -> list[Report]:
    """Reports about reads and writes of one step, without default masks."""
    return _within(expressions, _writes(expressions))


def _within(expressions: tuple[Expression, ...], writes: _Writes) -> list[Report]:
    """Reads of words that another expression writes in an earlier cycle of the step. An expression that reads what it
    writes itself is known to see what was there before (``linc $lr0 $lr0`` adds one, not four)."""
    found: list[Report] = []
    if len(expressions) == 1:
        return found
    writer = {a.memory: index for index, e in enumerate(expressions) for a in accesses(e) if a.write}
    for index, expression in enumerate(expressions):
        for access in accesses(expression):
            for write in () if access.write else writes.get(access.memory, ()):
                if writer[access.memory] == index or write.conditional or not reuse_distance(access, write):
                    continue
                name = access.memory.name
                message = f"{expression.opcode} reads words of {name} that an earlier cycle of the same step writes"
                hint = f"row 9b goes by cycles: write {name} in another step, or other words of it"
                found.append(Report("same-step-read", message, hint, index))
    return list(dict.fromkeys(found))


def _with_default_masks(writes: _Writes, expressions: tuple[Expression, ...], setting: MaskSetting) -> _Writes:
    """Cycles that a constant default mask silences do not count, and a run-time mask makes a write conditional; a
    suffix in the step suspends the default."""
    active, conditional = fixed_entry_cycles(setting.entry), setting.entry in WRITABLE_MASKS
    open_mask = active == ALL_CYCLES and not conditional
    if open_mask or any(d.mask is not None for e in expressions for d in e.destinations):
        return writes
    masked = masked_memories(setting)
    return {
        m: [w._replace(active=w.active & active, conditional=conditional) for w in ws] if m in masked else ws
        for m, ws in writes.items()
    }


def _report(required: Distance, distance: int, line: int, memory: Memory, index: int) -> Report:
    hazard = chip().hazards[required.row]
    if distance < required.reject:
        severity, wanted, point = Severity.ERROR, required.reject, None
    elif distance < required.warn:
        severity, wanted, point = Severity.WARNING, required.warn, "OPEN-47"
    else:
        severity = Severity.REMARK if hazard.remark else Severity.SILENT
        wanted, point = required.emit, "OPEN-47"
    place = "" if memory is Memory.TURNAROUND else f" of {memory.name}"
    noun = "statement" if distance == 1 else "statements"
    message = (
        f"read{place} {distance} {noun} after line {line} ({hazard.producer} => {hazard.consumer}, {hazard.cause}); "
        f"{wanted} needed"
    )
    missing = wanted - distance
    hint = f"put {missing} more {'step' if missing == 1 else 'steps'} between (nop/{missing} at worst)"
    return Report(f"hazard-{required.row}", message, hint, index, line, severity, point)
