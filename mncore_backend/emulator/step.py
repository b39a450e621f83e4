"""State of decoding one PE statement: operands in, results out."""

from mnc.mncore_backend.assembly.records import Expression
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.arena import Arena, Rows
from mnc.mncore_backend.emulator.block_float_check import check_kernel
from mnc.mncore_backend.emulator.constants import Constants
from mnc.mncore_backend.emulator.context import Context
from mnc.mncore_backend.emulator.destinations import Writer
from mnc.mncore_backend.emulator.masks import ResolvedMask, resolve
from mnc.mncore_backend.emulator.operands import Reader
from mnc.mncore_backend.emulator.plan import PlanBuilder, Value


class StepDecoder:
    """What the decoders of the units share: builder, reader, writer and delivery of results."""

    def __init__(self, arena: Arena, context: Context, constants: Constants, strict: bool, suspended: bool) -> None:
        self.builder = PlanBuilder(arena, constants.zero)
        self.context = context
        self.constants = constants
        self.strict = strict
        self.keeps_turnaround = False  # the step needs the old contents of the turnaround register, too
        self.reader = Reader(self.builder, context, constants, strict)
        self.writer = Writer(self.builder, context, constants, strict, suspended)

    def result_rows(self, unit: str, two_long: bool) -> Value:
        """Rows for the result of a unit."""
        return self.context.result_rows(self.builder, unit, two_long)

    def deliver(self, unit: str, expression: Expression, value: Value, flags: Rows | None) -> None:
        """Flush zeros, keep the result for forwarding (SDM 3.6.1.18) and store it to every destination."""
        if expression.zero_flush is not None:
            mask = resolve(expression.zero_flush)
            if not mask.is_open:
                value = self._flush(unit, value, mask)
        self.builder.results[unit] = value
        for destination in expression.destinations:
            self.writer.store(destination, value, flags)

    def _flush(self, unit: str, value: Value, mask: ResolvedMask) -> Value:
        """Zero what the mask bits at 0 govern (SDM 3.6.2.1); the LSB long only under a 2-long mask."""
        rows = self.writer.mask_rows(mask) if mask.entry is not None else self.constants.cycle_mask(mask.cycles)
        kind = "ll" if mask.two_long else "long"
        flushes_lsb = mask.two_long and value.lsb != self.builder.zero
        out = self.result_rows(unit, flushes_lsb)
        self.builder.call(kernels.zero_flush("long", kind), out=out.msb, x=value.msb, mask=rows)
        if not flushes_lsb:
            return Value(out.msb, value.lsb)
        self.builder.call(kernels.zero_flush("lsb", kind), out=out.lsb, x=value.lsb, mask=rows)
        return out

    def check_block_float(self, precision: str, x: Rows) -> None:
        """In strict mode, look at run time for a vector whose elements do not share an exponent."""
        if self.strict:
            fault = self.builder.rows("fault", (0, 0, 0, 0))
            self.builder.call(check_kernel(precision), fault=fault, x=x)
            self.builder.checks_block_float = True
