"""The transfer instructions as mappings between coordinates: one table for planning and for the tests.

Every transfer moves blocks. The offset inside a block of the upper memory is a string of fields (most significant
first); each field is a coordinate of the lower side. A coordinate of the lower side that is not among the fields holds
copies after a downward transfer; an upward transfer selects one copy of it (SDM 3.5.8, 3.6.7, 3.6.8).
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from mnc.mncore_backend.target import CYCLES_PER_STEP, MABS_PER_QUAD, PES_PER_MAB, cached_per_machine, chip
from mnc.mncore_backend.target.transfers import L2BM_PORT_LONGS, L2BM_SHARE_LONGS

CYCLES = CYCLES_PER_STEP


@cached_per_machine()
def _field_sizes() -> dict[str, int]:
    """Fields of a block: name -> number of values. Lower coordinates: c cycle, h long word of a 2-long, q MAB quad, r
    MAB inside the quad, p PE, b L1B, g group, l L2B in the group; j and u are offsets kept on both sides."""
    machine = chip()
    quads, own = machine.mabs_per_l1b // MABS_PER_QUAD, MABS_PER_QUAD
    lower = {"c": CYCLES, "h": 2, "q": quads, "r": own, "p": PES_PER_MAB}
    return lower | {"b": machine.l1bs_per_l2b, "g": machine.groups, "l": machine.l2bs_per_group}


@dataclass(frozen=True)
class Form:
    """One transfer. `opcode` names the downward instruction; `up` the upward one that uses the same mapping."""

    opcode: str
    up: str | None
    fields: tuple[tuple[str, int], ...]
    two_long: bool = False

    @cached_property
    def block(self) -> int:
        """Long words of the upper memory per step."""
        return prod(size for _, size in self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fields)

    @property
    def copied(self) -> frozenset[str]:
        """Hardware coordinates of the lower side that hold copies."""
        lower = {"q", "r", "p"} if "c" in self.names and "j" not in self.names else {"b"}
        return frozenset(lower - set(self.names))


def _fields(text: str) -> tuple[tuple[str, int], ...]:
    """``c q r p`` or ``c b j8`` as fields."""
    result = []
    for part in text.split():
        size = int(part[1:]) if len(part) > 1 else _field_sizes()[part[0]]
        result.append((part[0], size))
    return tuple(result)


# The unit of the size of an MV, in long words, and its interleave granule.
MV_UNIT = 64
MV_GRANULE = 16


@dataclass(frozen=True, slots=True)
class Family:
    """L1BM <-> PE forms that differ in the length of the operand only."""

    short: Form
    long: Form | None

    @property
    def copied(self) -> frozenset[str]:
        return self.short.copied


class PeFamilies(NamedTuple):
    """L1BM <-> PE, the widest first: PEs that get different long words are those of the L1B, those of a quad's MAB, of
    a MAB, or none. Alignment of the L1BM address = the long words of one cycle (OPEN-43)."""

    distinct: Family
    quads: Family
    mabs: Family
    every: Family


@cached_per_machine()
def pe_families() -> PeFamilies:
    """The forms on this machine."""
    return PeFamilies(
        Family(Form("l1bmd", "l1bmd", _fields("c q r p")), None),
        Family(
            Form("l1bmm4", "l1bmm4@", _fields("c q p")), Form("l1bmm4", "l1bmm4@", _fields("c q h p"), two_long=True)
        ),
        Family(Form("l1bmm", "l1bmm@", _fields("c p")), Form("l1bmm", "l1bmm@", _fields("c h p"), two_long=True)),
        Family(Form("l1bmp", None, _fields("c")), Form("l1bmp", None, _fields("h c"), two_long=True)),
    )


def distinct_l1bs() -> Form:
    """L2BM <-> L1BM, of each L1B its own."""
    return Form("l2bmd", "l2bmd", _fields(f"c b j{L2BM_SHARE_LONGS}"))


def every_l1b() -> Form:
    """L2BM <-> L1BM, the same of all L1Bs down, of one of them up."""
    return Form("l2bmb", "l2bm@", _fields(f"c j{L2BM_PORT_LONGS}"))


L2BM_UNIT = CYCLES * L2BM_PORT_LONGS
"""Long words of L2BM and of L1BM that l2bmb, l2bm@ and l2bmr move."""
SHARE_UNIT = CYCLES * L2BM_SHARE_LONGS
"""Long words of each L1BM that l2bmd moves."""


@cached_per_machine()
def distinct_unit() -> int:
    """Long words of L2BM that l2bmd moves: a multiple of `MV_UNIT`."""
    return SHARE_UNIT * chip().l1bs_per_l2b


@cached_per_machine()
def alignment() -> int:
    """Long words: the largest block of an L1BM or L2BM instruction."""
    return max(pe_families().distinct.short.block, distinct_unit(), L2BM_UNIT)


@dataclass(frozen=True, slots=True)
class PeStep:
    """One L1BM <-> PE instruction: `longs[c]` is the long-word offset in PE memory of cycle c (the first of two for a
    2-long form); cycles from `valid` on repeat the last address and carry nothing."""

    form: Form
    longs: tuple[int, ...]
    valid: int = CYCLES

    @property
    def data(self) -> int:
        """Long words of L1BM that carry data: only those of valid cycles where cycles are the outermost field."""
        return self.form.block * self.valid // CYCLES if self.form.names[0] == "c" else self.form.block


def pe_steps(addresses: list[int], family: Family, *, two_long: bool) -> list[PeStep]:
    """Cut a list of long-word addresses into steps, 2-long wherever the family and the addresses allow it.

    A step that is not full comes first where possible: what its idle cycles touch in L1BM belongs to the next step.
    """
    if family.long is None or not two_long or not _pairs(addresses):
        rest = len(addresses) % CYCLES
        return _short_steps(addresses[:rest], family.short) + _short_steps(addresses[rest:], family.short)
    rest = len(addresses) % 8
    whole = len(addresses) if rest == 6 else len(addresses) - rest
    steps = []
    for first in range(0, whole, 8):
        starts = addresses[first : min(first + 8, whole) : 2]
        steps.append(PeStep(family.long, _filled(starts), len(starts)))
    return steps + _short_steps(addresses[whole:], family.short)


def placed(steps: list[PeStep]) -> list[tuple[int, PeStep]]:
    """Steps with their long-word offset in L1BM, packed and aligned to the long words of one cycle."""
    result, at = [], 0
    for step in steps:
        alignment = step.form.block // CYCLES
        at = -(-at // alignment) * alignment
        result.append((at, step))
        at += step.data
    return result


def _pairs(addresses: list[int]) -> bool:
    return all(a % 2 == i % 2 and (i % 2 == 0 or a == addresses[i - 1] + 1) for i, a in enumerate(addresses))


def _short_steps(addresses: list[int], form: Form) -> list[PeStep]:
    parts = [addresses[i : i + CYCLES] for i in range(0, len(addresses), CYCLES)]
    return [PeStep(form, _filled(part), len(part)) for part in parts]


def _filled(part: list[int]) -> tuple[int, ...]:
    return tuple(part) + (part[-1],) * (CYCLES - len(part))
