"""The error every failed check of a run raises."""

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.emulator.geometry import geometry

Coordinates = tuple[int, ...]


def coordinates_text(group: int, l2b: int | None = None, l1b: int | None = None, pe: int | None = None) -> str:
    """``n0c1b2m3p0`` from a group, an L2B of the group, an L1B of the L2B and a PE (4 * MAB + p) of the L1B."""
    text = f"n{group}"
    if l2b is not None:
        text += f"c{l2b}"
    if l1b is not None:
        text += f"b{l1b}"
    if pe is not None:
        text += f"m{pe >> 2}p{pe & 3}"
    return text


def block_text(block: int, pe: int | None = None) -> str:
    """Coordinates of a block (L1B) and optionally a PE of it (0..63)."""
    return coordinates_text(*geometry().place_of(block), pe)


class HostAccessError(CompileError, ValueError):
    """The host asked a machine for what it does not have, or handed over what are no bits."""


class EmulationError(CompileError):
    """A program did something the machine does not define, or something this emulator refuses.

    Args:
        message: what happened, in one sentence.
        line: line of the statement, 0 if it has none.
        file_name: file of the program.
        where: coordinates such as ``n0c0b0m0p0``, empty if every unit is concerned.
        rule: short name of the broken rule, such as ``uninitialised-read``.
        hint: what would be legal.
    """

    def __init__(
        self,
        message: str,
        line: int = 0,
        file_name: str = "<program>",
        where: str = "",
        rule: str = "",
        hint: str | None = None,
    ) -> None:
        text = f"{message} (at {where})" if where else message
        super().__init__(f"{text} [{rule}]" if rule else text, hint=hint, location=f"{file_name}:{line}")
        self.line = line
        self.file_name = file_name
        self.where = where
        self.rule = rule
