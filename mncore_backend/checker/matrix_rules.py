"""Matrix banks have no precision of their own: reading one with another word length than it was written with is
undefined (SDM 3.6.10.3)."""

from typing import NamedTuple

from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Expression, Memory
from mnc.mncore_backend.checker.findings import Report

_BANKS = (Memory.MATRIX_X, Memory.MATRIX_Y)


class _Written(NamedTuple):
    element_bits: int
    opcode: str
    line: int


class BankTracker:
    """The last write of each bank."""

    def __init__(self) -> None:
        self._written: dict[Memory, _Written] = {}

    def step(self, expressions: tuple[Expression, ...], line: int) -> list[Report]:
        """Reports about the matrix-vector operations and transposed reads of a step; then its matrix write."""
        found: list[Report] = []
        writes: list[tuple[Memory, _Written]] = []
        for index, expression in enumerate(expressions):
            info = OPCODES[expression.opcode]
            if info.unit is Unit.MWRITE:
                bank = expression.destinations[0].memory
                writes.append((bank, _Written(info.element_bits, info.mnemonic, line)))
            elif info.unit in (Unit.MAU, Unit.MREAD) and expression.sources[0].memory in _BANKS:
                found += self._read(expression.sources[0].memory, info.element_bits, info.mnemonic, index)
        self._written.update(writes)
        return found

    def fits(self, bank: Memory, element_bits: int) -> bool:
        """May a bank be read with this element length?"""
        written = self._written.get(bank)
        return written is None or written.element_bits == element_bits

    def write(self, bank: Memory, element_bits: int, opcode: str, line: int) -> None:
        """Note a matrix write."""
        self._written[bank] = _Written(element_bits, opcode, line)

    def _read(self, bank: Memory, element_bits: int, mnemonic: str, index: int) -> list[Report]:
        if self.fits(bank, element_bits):
            return []
        written = self._written[bank]
        message = f"{mnemonic} reads bank {bank.value} that {written.opcode} wrote in line {written.line}"
        hint = f"the elements differ in length: write the bank with {mnemonic[0]}mwrite"
        return [Report("matrix-precision", message, hint, index, written.line)]
