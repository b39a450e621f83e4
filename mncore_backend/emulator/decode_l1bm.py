"""L1BM expressions (SDM 3.6.8): PEs <-> L1BM, the turnaround register, reductions over MABs.

Long word h of the operand of PE (m, p) in cycle c lies, relative to the L1BM address, at

    l1bmp   c + 4 h                l1bmm, l1bmr    4 c + p           8 c + 4 h + p
    l1bmd   64 c + 4 m + p         l1bmm4, l1bmr4  16 c + 4 q + p    32 c + 8 q + 4 h + p      (q = m >> 2)

with the one-long form first and the 2-long form second, for 16 MABs. The turnaround register keeps the same layout,
unshifted.
"""

from dataclasses import dataclass, replace

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand
from mnc.mncore_backend.emulator import kernels, transfer_kernels
from mnc.mncore_backend.emulator.arena import CYCLES, Arena, Rows, arena_layout, row_bytes
from mnc.mncore_backend.emulator.constants import Constants, KnownUpper
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.operands import StaticError, rows_of_longs
from mnc.mncore_backend.emulator.plan import UpperAccess, Value
from mnc.mncore_backend.emulator.reductions import Reduction, split_reduction
from mnc.mncore_backend.emulator.step import StepDecoder
from mnc.mncore_backend.target import chip


def turnaround_longs() -> int:
    """Of the turnaround register of an L1B."""
    return CYCLES * geometry().pes



@dataclass(frozen=True, slots=True)
class Port:
    """How one family uses the L1BM side: long words per cycle, the offset of h, and the required alignment."""

    family: str  # "p", "m", "m4" or "d"
    two_long: bool

    @property
    def kind(self) -> str:
        """Equal kinds may be chained through the turnaround register."""
        return self.family + ("2" if self.two_long else "")

    @property
    def pace(self) -> int:
        """Long words of L1BM per cycle, as addresses advance."""
        base = chip().l1bm_families[self.family].rate
        return base * 2 if self.two_long and self.family != "p" else base

    @property
    def alignment(self) -> int:
        """Long words the L1BM address must be a multiple of (OPEN-43)."""
        return 1 if self.family == "p" else self.pace

    def offsets(self, address: int, h: int) -> list[int]:
        """First long word of each cycle for long word h of the operand."""
        return [address + self.pace * cycle + 4 * h for cycle in range(CYCLES)]


def _linear(arena: Arena, region: str, first: int, size: int, longs: list[int]) -> Rows:
    base = arena.base + arena_layout().regions[region][0] * row_bytes() + 8 * first
    return rows_of_longs(base, [long % size for long in longs], arena_layout().block_bytes)


def _side(
    step: StepDecoder, port: Port, operand: Operand, turnaround: int | None, h: int, *, write: bool = False
) -> Rows:
    """Rows at the L1BM side: L1BM itself, or one of the two turnaround buffers."""
    if turnaround is not None:
        first = turnaround * turnaround_longs()
        return _linear(step.builder.arena, "lbi", first, turnaround_longs(), port.offsets(0, h))
    return _upper(step, port, operand, write=write).rows[h]


def _check_address(port: Port, operand: Operand, strict: bool) -> None:
    if operand.address % port.alignment:
        raise StaticError(f"L1BM address {operand.address} is not a multiple of {port.alignment}")
    last = operand.address + (port.pace * CYCLES if port.family != "p" else CYCLES * (2 if port.two_long else 1))
    if strict and last > geometry().l1bm_longs:
        message = f"L1BM address {operand.address} makes the transfer wrap around at {geometry().l1bm_longs}"
        raise StaticError(message, "wrap-around")


def _shift(modifier: str) -> int:
    """MAB shift of ``l1bmd+n``/``l1bmd-n``."""
    return int(modifier) % geometry().mabs if modifier else 0


def decode_l1bm(step: StepDecoder, expression: Expression) -> None:
    """Add an L1BM expression to the step; the operand order gives the direction."""
    if expression.sources and expression.sources[0].memory in (Memory.L1BM, Memory.TURNAROUND):
        _down(step, expression)
    else:
        _up(step, expression)


def _down_port(expression: Expression) -> Port:
    port = Port(expression.opcode.removeprefix("l1bm"), expression.sources[0].width == 4)
    if port.family not in ("p", "m", "m4", "d") or (port.family == "d" and port.two_long):
        raise StaticError(f"{expression.opcode} has no such form")
    return port


def _up_port(expression: Expression) -> tuple[Port, Reduction | None]:
    opcode = expression.opcode
    reduction = split_reduction(opcode, "l1bmr") if opcode.startswith("l1bmr") else None
    family = {"": "m", "4": "m4"}[reduction.fan] if reduction else opcode.removeprefix("l1bm")
    port = Port(family, expression.destinations[0].width == 4)
    if port.family not in ("m", "m4", "d") or (port.family == "d" and port.two_long):
        raise StaticError(f"{opcode} has no such form")
    return port, reduction


def _known_upper(
    constants: Constants, arena: Arena, port: Port, operand: Operand, *, write: bool, strict: bool
) -> KnownUpper:
    key = (port.family, port.two_long, operand.address, write)
    if key not in constants.uppers:
        _check_address(port, operand, strict)
        size = geometry().l1bm_longs
        first, second = (_linear(arena, "lb", 0, size, port.offsets(operand.address, h)) for h in range(2))
        count = port.pace if port.family != "p" else 1
        halves = range(2 if port.family == "p" and port.two_long and not write else 1)
        accesses = tuple(UpperAccess(tuple(port.offsets(operand.address, h)), count, write) for h in halves)
        constants.uppers[key] = KnownUpper((first, second), accesses)
    return constants.uppers[key]


def _upper(step: StepDecoder, port: Port, operand: Operand, *, write: bool) -> KnownUpper:
    return _known_upper(step.constants, step.builder.arena, port, operand, write=write, strict=step.strict)


def known_upper(constants: Constants, arena: Arena, expression: Expression, strict: bool) -> KnownUpper:
    """The L1BM side of an expression that reads or writes L1BM. Raises StaticError where it cannot be executed."""
    if expression.sources and expression.sources[0].memory is Memory.L1BM:
        source = expression.sources[0]
        return _known_upper(constants, arena, _down_port(expression), source, write=False, strict=strict)
    port, target = _up_port(expression)[0], expression.destinations[0]
    return _known_upper(constants, arena, port, target, write=True, strict=strict)


def _down(step: StepDecoder, expression: Expression) -> None:
    """L1BM (or turnaround register) -> PE."""
    source, port = expression.sources[0], _down_port(expression)
    turnaround = None
    if source.memory is Memory.TURNAROUND:
        held = step.context.turnaround
        if held is None or held[1] != port.kind:
            if step.strict:
                message = "the turnaround register holds no data of this kind"  # OPEN-20
                raise StaticError(message, "turnaround-kind" if held else "turnaround-empty")
            step.deliver("l1bm", expression, Value(step.builder.zero, step.builder.zero), None)
            return
        turnaround = held[0]
    else:
        step.builder.upper += _upper(step, port, source, write=False).accesses
    out = step.result_rows("l1bm", port.two_long)
    for h, rows in enumerate((out.msb, out.lsb) if port.two_long else (out.msb,)):
        _deliver_long(step, port, rows, _side(step, port, source, turnaround, h), _shift(expression.modifier))
    step.deliver("l1bm", expression, out, None)


def _deliver_long(step: StepDecoder, port: Port, out: Rows, x: Rows, shift: int) -> None:
    if port.family == "d":
        if shift:
            step.builder.call(transfer_kernels.rotate_mabs(), out=out, x=x, shift=(shift,) * CYCLES)
        else:
            step.builder.call(kernels.copy(), out=out, x=x)
        return
    kernel = {
        "p": transfer_kernels.broadcast_one,
        "m": transfer_kernels.broadcast_four,
        "m4": lambda: transfer_kernels.broadcast_quads(8 if port.two_long else 4),
    }[port.family]()
    step.builder.call(kernel, out=out, x=x)


def _up(step: StepDecoder, expression: Expression) -> None:
    """PE -> turnaround register, and to L1BM unless ``$lbi`` is the destination."""
    destination = expression.destinations[0]
    source = expression.sources[0]
    port, reduction = _up_port(expression)
    held = step.context.turnaround
    buffer = 1 - held[0] if held is not None and step.keeps_turnaround else 0
    shift = 0
    if reduction:
        _reduce(step, port, reduction, source, buffer, reduces="r" in expression.modifier)
    else:
        value = step.reader.source(source, "hf" if source.suffix == "e" else "l")
        if port.family == "d":
            shift = _shift(expression.modifier)
            step.builder.call(kernels.copy(), out=_side(step, port, destination, buffer, 0), x=value.msb)
        else:
            _select(step, port, value, _position(port, expression.modifier), destination, buffer)
    step.builder.turnaround = (buffer, port.kind)
    if destination.memory is Memory.L1BM:
        _write_back(step, port, destination, buffer, shift)


def _position(port: Port, modifier: str) -> int:
    """k of ``l1bmm@k`` (0..15 on MN-Core 2) or ``l1bmm4@k`` (0..3, OPEN-44)."""
    if not modifier.startswith("@"):
        raise StaticError("a transfer to L1BM needs the number of a MAB: l1bmm@<k>")
    position, limit = int(modifier[1:]), geometry().mabs if port.family == "m" else 4
    if not 0 <= position < limit:
        raise StaticError(f"MAB {position} is outside 0..{limit - 1}")
    return position


def _select(step: StepDecoder, port: Port, value: Value, position: int, operand: Operand, buffer: int) -> None:
    for h, rows in enumerate((value.msb, value.lsb) if port.two_long else (value.msb,)):
        shifted = (*(address + 32 * position for address in rows[:CYCLES]), rows[4])
        out = _side(step, port, operand, buffer, h)
        if port.family == "m":
            step.builder.call(transfer_kernels.copy_run(4), out=out, x=shifted)
        else:
            step.builder.call(transfer_kernels.copy_quads(16, 8 if port.two_long else 4), out=out, x=shifted)


def _reduce(
    step: StepDecoder, port: Port, reduction: Reduction, source: Operand, buffer: int, *, reduces: bool
) -> None:
    """``l1bmr``/``l1bmr4``; half sums run as single sums with ``e`` and ``r`` (SDM 3.6.8.20)."""
    precision, operation, quads = reduction.precision, reduction.operation, port.family == "m4"
    if (precision, operation) == ("h", "fadd"):
        source = replace(source, suffix="e")
        precision, reduces = "f", True
    value = step.reader.source(source, "hf" if source.suffix == "e" else precision)
    if reduces:
        parts = []
        for rows in value:
            parts.append(step.builder.scratch())
            step.builder.call(kernels.rrn_mabs(operation, precision, quads=quads, reduce=True), out=parts[-1], x=rows)
        join = transfer_kernels.join_half_quads() if quads else transfer_kernels.join_halves()
        out = _side(step, Port(port.family, False), source, buffer, 0)
        step.builder.call(join, out=out, x=parts[0], y=parts[1])
        return
    kernel = kernels.rrn_mabs(operation, precision, quads=quads)
    for h, rows in enumerate((value.msb, value.lsb) if port.two_long else (value.msb,)):
        out = _side(step, port, source, buffer, h)
        if not (quads and port.two_long):
            step.builder.call(kernel, out=out, x=rows)
            continue
        scratch = step.builder.scratch()
        step.builder.call(kernel, out=scratch, x=rows)
        step.builder.call(transfer_kernels.copy_quads(4, 8), out=out, x=scratch)


def _write_back(step: StepDecoder, port: Port, destination: Operand, buffer: int, shift: int) -> None:
    """Turnaround register -> L1BM; only this side is shifted."""
    step.builder.upper += _upper(step, port, destination, write=True).accesses
    x = _side(step, port, destination, buffer, 0)
    out = _side(step, port, destination, None, 0, write=True)
    if port.family != "d":
        step.builder.store(transfer_kernels.copy_run(port.pace), out=out, x=x)
    elif shift:
        step.builder.store(transfer_kernels.rotate_mabs(), out=out, x=x, shift=(shift,) * CYCLES)
    else:
        step.builder.store(kernels.copy(), out=out, x=x)
