"""Sequences and optional values among the inputs and outputs of a model: lists of tensors, and tensors that may be
missing. A program knows tensors only, so element i of the sequence ``s`` is the tensor ``s[i]`` of its own."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mnc.core.diagnostics import CompileError

Shapes = Mapping[str, tuple[int, ...] | None]
"""Shapes by names of inputs and of elements, lengths of sequences by their names, single extents by theirs; None for an
optional input without a value."""


@dataclass(frozen=True)
class HostSequence:
    """What a model calls `name`, and the tensors that a program has for it.

    elements: their names in order; None: an optional value that is not there.
    """

    name: str
    role: Literal["input", "output"]
    elements: tuple[str, ...] | None


def read_sequences(entries: Iterable[Mapping[str, Any]]) -> tuple[HostSequence, ...]:
    """From what JSON makes of them. Raises KeyError or TypeError for what is none."""
    return tuple(
        HostSequence(entry["name"], entry["role"], None if entry["elements"] is None else tuple(entry["elements"]))
        for entry in entries
    )


def element_name(name: str, index: int) -> str:
    """What element `index` of the sequence `name` is called."""
    return f"{name}[{index}]"


def element_index(name: str, sequence: str) -> int | None:
    """The place of the element `name` in `sequence`; None for what is none of its elements."""
    found = re.fullmatch(r"\[(0|[1-9][0-9]*)\]", name.removeprefix(sequence)) if name.startswith(sequence) else None
    return int(found[1]) if found else None


def shapes_of(values: Mapping[str, Any]) -> dict[str, tuple[int, ...] | None]:
    """What values of inputs say about shapes: arrays, lists of arrays for sequences, None for what is missing."""
    found: dict[str, tuple[int, ...] | None] = {}
    for name, value in values.items():
        if isinstance(value, list):
            found[name] = (len(value),)
            found |= {element_name(name, i): np.shape(element) for i, element in enumerate(value)}
        else:
            found[name] = None if value is None else np.shape(value)
    return found


def tensors_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors among values: elements of lists by their own names, and nothing for what is None."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, list):
            found |= {element_name(name, i): element for i, element in enumerate(value)}
        elif value is not None:
            found[name] = value
    return found


def given_tensors(values: Mapping[str, Any], sequences: Sequence[HostSequence]) -> dict[str, Any]:
    """Values of a run by the names of tensors. Lists of `sequences` may be given whole, or element by element.

    Raises:
        CompileError: something else than a list for a sequence, a list of another length, an element that is given
            twice, or a value where the program was compiled without one.
    """
    found = {name: value for name, value in values.items() if value is not None}
    for sequence in sequences:
        if sequence.role == "input" and sequence.name in found:
            value = found.pop(sequence.name)
            elements = _elements(sequence, value)
            if twice := [name for name in elements if name in found]:
                message = f"input '{twice[0]}' is given twice, in '{sequence.name}' and by itself"
                raise CompileError(message, hint="leave one of them out")
            found |= zip(elements, value, strict=True)
    return found


def _elements(sequence: HostSequence, value: Any) -> tuple[str, ...]:
    """Names for the elements of a value."""
    name, elements = sequence.name, sequence.elements
    if elements is None:
        hint = f"leave it out, or give the shape of '{name}' when compiling"
        raise CompileError(f"the program was compiled without a value for input '{name}'", hint=hint)
    wanted = f"a list of {_counted(len(elements), 'array')}"
    if not isinstance(value, list | tuple):
        message = f"input '{name}' is a sequence, and a value of type {type(value).__name__} was given"
        raise CompileError(message, hint=f"give {wanted}")
    if len(value) != len(elements):
        message = f"input '{name}' has {_counted(len(value), 'element')}, the program takes {len(elements)}"
        raise CompileError(message, hint=f"give {wanted}, or compile the model for the other length")
    return elements


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def missing_hint(missing: str, sequences: Sequence[HostSequence]) -> str | None:
    """How to give the sequence that has the element `missing`; None for a tensor by itself."""
    for sequence in sequences:
        if sequence.role == "input" and missing in (sequence.elements or ()):
            return f"give '{sequence.name}' as a list of {_counted(len(sequence.elements or ()), 'array')}"
    return None


def as_lists(tensors: Mapping[str, Any], sequences: Sequence[HostSequence], role: str) -> dict[str, Any]:
    """Tensors by name, those of sequences of a `role` as lists, where their first element was; None for optional values
    that are not there."""
    own = [sequence for sequence in sequences if sequence.role == role]
    listed = {name: sequence.name for sequence in own for name in sequence.elements or ()}
    lists = {sequence.name: [tensors[name] for name in sequence.elements] for sequence in own if sequence.elements}
    found: dict[str, Any] = {}
    for name, value in tensors.items():
        found[listed.get(name, name)] = lists[listed[name]] if name in listed else value
    empty = {sequence.name: None if sequence.elements is None else [] for sequence in own if not sequence.elements}
    return {**found, **empty}
