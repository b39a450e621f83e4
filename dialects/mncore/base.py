"""The dialect object, its base operation class and the verifier wrapper."""

from collections.abc import Callable
from typing import Any

from mnc.core.bindings import ext, ir
from mnc.dialects.counts import check_counts


class Mncore(ext.Dialect, name="mncore"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """MN-Core 2: placed buffers, transfers, kernels over whole per-PE shares, machine instructions."""


def verifier(check: Callable[[Any], None]) -> Callable[[Any], bool]:
    """Turn `check(op)`, which raises ValueError with the reason, into ``verify_invariants``.

    The native verifier calls it before the declared constraints are checked, so attributes may be missing and operand
    counts wrong; everything is reported as a diagnostic of the operation.
    """

    def verify_invariants(self: Any) -> bool:
        try:
            check_counts(self)
            check(self)
        except (KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
            self.operation.location.emit_error(f"'{self.operation.name}' op {error}")
            return False
        return True

    return verify_invariants


def attach_memory_effects(op_class: Any, reads: tuple[int, ...], writes: tuple[int, ...]) -> None:
    """State which memref operands (by position) an operation reads and writes, so that upstream passes keep it."""

    class Effects(ir.MemoryEffectsOpInterface):
        @staticmethod
        def get_effects(op: Any, effects: Any) -> None:
            operands = op.op_operands
            for position in reads:
                if position < len(operands):
                    effects.append(ir.MemoryEffect.Read, operands[position])
            for position in writes:
                effects.append(ir.MemoryEffect.Write, operands[position])

    Effects.attach(op_class.OPERATION_NAME)
