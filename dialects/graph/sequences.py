"""Sequences and optional values of a model, as a note on the module.

``mnc.sequences = [{elements = ["y[0]", "y[1]"], name = "y", role = "output"}]``: the results ``y[0]`` and ``y[1]`` are
the sequence ``y`` of the model. Without `elements`: an optional value that is not there.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mnc.core.bindings import ir
from mnc.core.sequences import HostSequence
from mnc.dialects.graph.module_notes import read_note, write_note

SEQUENCES = "mnc.sequences"
"""Attribute of the module."""


def note_sequences(module: Any, sequences: Sequence[HostSequence]) -> None:
    """Write the sequences, if there are any."""
    entries = ({key: value for key, value in asdict(own).items() if value is not None} for own in sequences)
    write_note(module, SEQUENCES, [*entries])


def noted_sequences(module: Any) -> tuple[HostSequence, ...]:
    """Read them. Raises CompileError for a note of another form."""
    return read_note(module, SEQUENCES, _sequence, '[{elements = ["y[0]", "y[1]"], name = "y", role = "output"}]')


def _sequence(entry: Any) -> HostSequence:
    name, role = (ir.StringAttr(entry[key]).value for key in ("name", "role"))
    if role not in ("input", "output"):
        raise ValueError(f"there is no role {role}")
    if "elements" not in entry:
        return HostSequence(name, role, None)
    return HostSequence(name, role, tuple(ir.StringAttr(own).value for own in ir.ArrayAttr(entry["elements"])))
