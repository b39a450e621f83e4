"""Facts about the machine that are known while decoding: they change with the statements but not with the data."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.arena import CYCLES
from mnc.mncore_backend.emulator.plan import Plan, PlanBuilder, Value

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.template import Template

UNITS = ("mau", "alu", "l1bm", "mread")
LATCH_OF = {Memory.MAUF: "mau", Memory.ALUF: "alu", Memory.LBF: "l1bm", Memory.MREADF: "mread"}


class Transition:
    """What steps of one shape are in a situation: their template, None if there is none (yet), and the number of the
    situation behind them, None where it is not known or depends on more."""

    __slots__ = ("following", "template")

    def __init__(self) -> None:
        self.template: Template | None = None
        self.following: int | None = None


class Situation:
    """One content of the static state that decoding depends on, and what is known of steps in it.

    steps   plans by identity of their expressions, which are kept, with their transitions
    shapes  transitions by the number of the shape
    """

    __slots__ = ("buffers", "is_plain", "latches", "shapes", "steps", "turnaround")

    def __init__(self, context: "Context") -> None:
        self.latches = context.latches
        self.buffers = context.buffers
        self.turnaround = context.turnaround
        self.is_plain = not context.masks and context.bars == [0, 0]
        self.steps: dict[int, tuple[object, Plan, Transition]] = {}
        self.shapes: dict[int, Transition] = {}


@dataclass(slots=True)
class Context:
    """Static machine state. `latches` and `buffers` are shared with situations: a step replaces them. `situation` is
    None after changes that no step made.

    latches      value held per unit, None when the unit was idle in the last counted step (SDM 3.6.1.18)
    buffers      buffer (0, 1) that holds the latch of each unit
    turnaround   buffer number (0, 1) and kind of the last PE -> L1BM transfer
    masks        default write mask (entry, 2-long) per memory letter, from the last mask statement
    bars         base register of LM0 and LM1 where all PEs agree, else None
    banks        per bank the precision class of each of its 16 rows ("" unwritten)
    decoded      per bank the precision its decoded copy is valid for
    """

    latches: dict[str, Value | None] = field(default_factory=lambda: dict.fromkeys(UNITS))
    buffers: dict[str, int] = field(default_factory=lambda: dict.fromkeys(UNITS, 1))
    turnaround: tuple[int, str] | None = None
    masks: dict[str, tuple[int, bool]] = field(default_factory=dict)
    bars: list[int | None] = field(default_factory=lambda: [0, 0])
    banks: dict[str, list[str]] = field(default_factory=lambda: {"x": [""] * 16, "y": [""] * 16})
    decoded: dict[str, str] = field(default_factory=lambda: {"x": "", "y": ""})
    situation: Situation | None = None

    def set_masks(self, masks: dict[str, tuple[int, bool]]) -> None:
        """Replace the default write masks."""
        self.masks = masks
        self.situation = None

    def enter(self, situation: Situation) -> None:
        """Take over latches, buffers and turnaround register of a situation with the same masks and base registers."""
        self.latches, self.buffers, self.turnaround = situation.latches, situation.buffers, situation.turnaround
        self.situation = situation

    def key(self) -> tuple[object, ...]:
        """Everything the decoding of a step depends on."""
        return (
            *self.latches.values(),
            *self.buffers.values(),
            self.turnaround,
            *self.bars,
            *self.masks.items(),
        )

    def result_rows(self, builder: PlanBuilder, unit: str, two_long: bool) -> Value:
        """The buffer of a unit that does not hold its current latch."""
        first = (UNITS.index(unit) * 2 + (1 - self.buffers[unit])) * 2 * CYCLES
        msb = builder.rows("latch", (first, first + 1, first + 2, first + 3))
        lsb = builder.rows("latch", (first + 4, first + 5, first + 6, first + 7)) if two_long else builder.zero
        return Value(msb, lsb)
