"""Operations of a kernel whose operands have a memory."""

from dataclasses import dataclass, field

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.math.micro import Instruction


@dataclass(frozen=True, slots=True)
class Place:
    """Where one operand is: kind ``register`` (in `memory`), ``constant`` (in `memory`), ``input``, ``output``,
    ``latch`` (`memory` is the latch) or ``sign``."""

    kind: str
    number: int = 0
    memory: Memory | None = None
    negated: bool = False


@dataclass(slots=True)
class Placed:
    """One machine operation: instruction with operands placed."""

    instruction: Instruction
    sources: tuple[Place, ...]
    destinations: list[Place] = field(default_factory=list)


Unit = list[Placed]
"""Operations that belong in consecutive steps."""
