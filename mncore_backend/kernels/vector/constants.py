"""Constants in processing-element memory, written once with ``imm``."""

from mnc.mncore_backend.assembly.records import Literal, Memory
from mnc.mncore_backend.program import REGISTER_FILE, Buffer, BufferOperand, Builder, local


class ConstantPool:
    """One long word per (pattern, memory), holding the 32-bit pattern twice. A pool may serve several kernels of one
    program; the constants then stay alive from the first to the last of them. ``imm`` cannot write LM0, so
    constants for it pass through a register."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._buffers: dict[tuple[int, Memory], Buffer] = {}

    def operand(self, bits: int, memory: Memory) -> BufferOperand:
        """The constant as an operand (the same long word in all four cycles)."""
        key = (bits, memory)
        if key not in self._buffers:
            buffer = self._builder.temporary(1, (memory,), f"constant_{bits:08x}", alignment=1)
            target = buffer
            if memory == Memory.LM0:
                target = self._builder.temporary(1, REGISTER_FILE, "immediate", alignment=1)
            literal = Literal("ui", f"0x{bits:08x}")
            self._builder.emit("imm", (), (local(target, (0,)),), literal=literal)
            if target is not buffer:
                self._builder.emit("lpassa", (local(target, (0,)),), (local(buffer, (0,)),))
            self._buffers[key] = buffer
        return local(self._buffers[key], (0,))
