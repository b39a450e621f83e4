"""Machine instructions: first over buffers without addresses, then as scheduled statements.

Their attributes are plain strings and integers, and they have no verifiers of their own: programs hold tens of
thousands of them, and ``verify-schedule`` checks the text as a whole.
"""

from mnc.core.bindings import ext, ir
from mnc.dialects.mncore.base import Mncore


class Buffer(Mncore.Operation, name="buffer"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """A run of `size` long words named `sym_name` in one of `choices`; allocation adds ``memory`` and ``base``."""

    sym_name: ir.StringAttr
    size: ir.IntegerAttr
    choices: ir.StringAttr
    alignment: ir.IntegerAttr


class Instruction(Mncore.Operation, name="instruction"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """One expression or MV transfer, before scheduling. `text` is its assembly with buffers in place of addresses."""

    text: ir.StringAttr


class Statement(Mncore.Operation, name="statement"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """One line of the program: a step of the PEs or the start of an MV transfer."""

    text: ir.StringAttr


class Image(Mncore.Operation, name="image"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """What the host puts into DRAM or reads from it: a tensor, its role and its arrangement."""

    sym_name: ir.StringAttr
    role: ir.StringAttr  # input, constant or output
    buffer: ir.StringAttr


class Kept(Mncore.Operation, name="kept"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """A buffer whose content outlives a run of the program; `type` and the other attributes are those of the
    ``mncore.resident`` it was."""

    buffer: ir.StringAttr
    type: ir.TypeAttr


OPERATIONS: tuple[type[ext.Operation], ...] = (Buffer, Instruction, Statement, Image, Kept)
