"""Sequences and optional values of a model, as a note on the module.

``mnc.sequences = [{elements = ["y[0]", "y[1]"], name = "y", role = "output"}]``: the results ``y[0]`` and ``y[1]`` are
the sequence ``y`` of the model. Without `elements`: an optional value that is not there.
"""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.sequences import HostSequence

SEQUENCES = "mnc.sequences"
"""Attribute of the module."""


def note_sequences(module: Any, sequences: Sequence[HostSequence]) -> None:
    """Write the sequences, if there are any."""
    if not sequences:
        return
    with module.context:
        module.operation.attributes[SEQUENCES] = ir.ArrayAttr.get([_entry(sequence) for sequence in sequences])


def _entry(sequence: HostSequence) -> ir.Attribute:
    entry: dict[str, ir.Attribute] = {
        "name": ir.StringAttr.get(sequence.name),
        "role": ir.StringAttr.get(sequence.role),
    }
    if sequence.elements is not None:
        entry["elements"] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in sequence.elements])
    return ir.DictAttr.get(entry)


def noted_sequences(module: Any) -> tuple[HostSequence, ...]:
    """Read them. Raises CompileError for a note of another form."""
    if SEQUENCES not in module.operation.attributes:
        return ()
    noted = module.operation.attributes[SEQUENCES]
    try:
        return tuple(_sequence(ir.DictAttr(entry)) for entry in ir.ArrayAttr(noted))
    except (KeyError, ValueError):
        hint = 'write [{elements = ["y[0]", "y[1]"], name = "y", role = "output"}]'
        raise error_at(module.operation, f"has the attribute {SEQUENCES} = {str(noted)[:60]}", hint=hint) from None


def _sequence(entry: Any) -> HostSequence:
    name, role = (ir.StringAttr(entry[key]).value for key in ("name", "role"))
    if role not in ("input", "output"):
        raise ValueError(f"there is no role {role}")
    if "elements" not in entry:
        return HostSequence(name, role, None)
    return HostSequence(name, role, tuple(ir.StringAttr(own).value for own in ir.ArrayAttr(entry["elements"])))
