"""Packed sequences: as torch packs them where a module writes the lengths down.

Where lengths are inputs, in a form whose shapes depend on none of them: all steps of all sequences, with masks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from mnc.core.diagnostics import CompileError
from mnc.torch.known_numbers import KnownNumbers
from mnc.torch.operators.hints import NO_DROPOUT

Cell = Callable[[torch.Tensor, tuple[torch.Tensor, ...], Sequence[torch.Tensor]], tuple[torch.Tensor, ...]]
"""(what the inputs give to the gates, state, weights of the state) -> next state, whose first part is the output."""

_VF: Any = torch._VF


class PackedSequences:
    """The packed sequences of one trace, known by their batch sizes.

    Where lengths are not known, [steps, batch, ...] are packed as [steps * batch, ...]: as if all sequences were as
    long as the input. Recurrent networks keep their state where a sequence has ended.

    Attributes:
        has_open_lengths: whether lengths were not known, so that rows are packed that torch leaves out.
    """

    def __init__(self) -> None:
        self.numbers = KnownNumbers()
        self.has_open_lengths = False
        self._packed: list[_Packed] = []
        self._padded: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.functions: dict[Any, Callable[..., Any]] = {
            _VF._pack_padded_sequence: self._pack,
            _VF._pad_packed_sequence: self._pad,
            torch.Tensor.__getitem__: self._item,
            _VF.lstm: self._network(_VF.lstm, _lstm),
            _VF.gru: self._network(_VF.gru, _gru),
            _VF.rnn_tanh: self._network(_VF.rnn_tanh, _rnn(torch.tanh)),
            _VF.rnn_relu: self._network(_VF.rnn_relu, _rnn(torch.relu)),
        }

    def _of(self, batch_sizes: Any) -> "_Packed | None":
        return next((packed for packed in self._packed if packed.batch_sizes is batch_sizes), None)

    def _pack(self, input: torch.Tensor, lengths: torch.Tensor, batch_first: bool) -> tuple[torch.Tensor, torch.Tensor]:
        steps_first = input.transpose(0, 1) if batch_first else input
        steps, batch = steps_first.shape[:2]
        known = self.numbers.of(lengths)
        if known is None:
            sizes, self.has_open_lengths = [batch] * steps, True
        else:
            sizes = [sum(length > step for length in known) for step in range(max(known))]
        packed = _Packed(torch.tensor(sizes), lengths, sizes, batch)
        self._packed.append(packed)
        return self._kept(packed, steps_first[: len(sizes)]), packed.batch_sizes

    def _kept(self, packed: "_Packed", padded: torch.Tensor) -> torch.Tensor:
        """The rows of [steps, batch, ...], which are known to come from there."""
        data = packed.rows_of(padded)
        self._padded.append((data, padded))
        return data

    def _steps_of(self, packed: "_Packed", data: torch.Tensor) -> torch.Tensor:
        """Rows as [steps, batch, ...]: where they come from, if nothing else has read them."""
        found = next((padded for own, padded in self._padded if own is data), None)
        return packed.steps_of(data) if found is None else found

    def note(self, function: Any, arguments: Any, options: Any, found: Any) -> None:
        """Keep what a call tells of lengths. Where the rows come from that another function gets is not known any more:
        it may have written into them, or into a part of them."""
        self.numbers.note(function, arguments, options, found)
        if function not in self.functions and any(isinstance(value, torch.Tensor) for value in tree_leaves(found)):
            read = {id(value) for value in arguments}
            self._padded = [pair for pair in self._padded if id(pair[0]) not in read]

    def _pad(
        self, data: torch.Tensor, batch_sizes: torch.Tensor, batch_first: bool, value: float, total: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        packed = self._of(batch_sizes)
        if packed is None:
            return _VF._pad_packed_sequence(data, batch_sizes, batch_first, value, total)
        lengths, steps = packed.lengths, len(packed.sizes)
        padded = self._steps_of(packed, data)
        running = _running(lengths, steps).reshape(*padded.shape[:2], *(1,) * (padded.dim() - 2))
        padded = torch.where(running, padded, value)
        if total > steps:
            padded = torch.cat([padded, padded.new_full((total - steps, *padded.shape[1:]), value)])
        return (padded.transpose(0, 1) if batch_first else padded), lengths

    def _item(self, tensor: torch.Tensor, place: Any) -> Any:
        """The batch size of a step is a plain number."""
        packed = self._of(tensor)
        return tensor[place] if packed is None or not isinstance(place, int) else packed.sizes[place]

    def _network(self, original: Callable[..., Any], cell: Cell) -> Callable[..., Any]:
        def run(input: torch.Tensor, second: Any, *rest: Any) -> Any:
            packed = self._of(second)
            if packed is None:
                return original(input, second, *rest)
            hidden, weights, has_biases, layers, dropout, training, both_ways = rest
            if dropout and training and layers > 1:
                message = f"a recurrent network drops out between its layers, with probability {dropout}"
                raise CompileError(message, hint=NO_DROPOUT)
            hidden = hidden if isinstance(hidden, tuple | list) else (hidden,)
            steps = self._steps_of(packed, input)
            running = _running(packed.lengths, len(packed.sizes)).unsqueeze(-1)
            count = len(weights) // (layers * (1 + both_ways))
            parts = [weights[i : i + count] for i in range(0, len(weights), count)]
            outputs, states = _layers(cell, steps, running, hidden, [_named(p, has_biases) for p in parts], both_ways)
            return (self._kept(packed, outputs), *states)

        return run


@dataclass(frozen=True)
class _Packed:
    """How sequences are packed.

    Attributes:
        batch_sizes: what torch knows them by, int64 [steps].
        lengths: of the sequences, [batch].
        sizes: rows of each step.
        batch: how many sequences there are.
    """

    batch_sizes: torch.Tensor
    lengths: torch.Tensor
    sizes: list[int]
    batch: int

    @property
    def is_full(self) -> bool:
        """Whether every step has a row of every sequence."""
        return all(size == self.batch for size in self.sizes)

    def rows_of(self, padded: torch.Tensor) -> torch.Tensor:
        """[steps, batch, ...] as [rows, ...]."""
        if self.is_full:
            return padded.flatten(0, 1)
        return torch.cat([padded[step, :size] for step, size in enumerate(self.sizes)])

    def steps_of(self, data: torch.Tensor) -> torch.Tensor:
        """[rows, ...] as [steps, batch, ...], with zeros where a sequence has ended."""
        if self.is_full:
            return data.unflatten(0, (len(self.sizes), self.batch))
        steps = []
        for rows in data.split(self.sizes):
            zeros = rows.new_zeros((self.batch - rows.shape[0], *rows.shape[1:]))
            steps.append(torch.cat([rows, zeros]) if zeros.shape[0] else rows)
        return torch.stack(steps)


def _running(lengths: torch.Tensor, steps: int) -> torch.Tensor:
    """Which sequences have not ended, [steps, batch]."""
    return torch.arange(steps).unsqueeze(1) < lengths


def _named(weights: Sequence[torch.Tensor], has_biases: bool) -> tuple[torch.Tensor | None, ...]:
    """Of one layer and direction: weights and biases of input and state, and the weight of a projection."""
    biases = weights[2:4] if has_biases else (None, None)
    projection = weights[4:5] if has_biases else weights[2:3]
    return (weights[0], biases[0], weights[1], biases[1], *projection)


def _layers(
    cell: Cell, steps: torch.Tensor, running: torch.Tensor, hidden: Sequence[torch.Tensor], weights: Sequence[Any],
    both_ways: bool,
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Outputs [steps, batch, ...] of the last layer, and the last states of all, stacked."""
    last: list[tuple[torch.Tensor, ...]] = []
    directions = 1 + both_ways
    for first in range(0, len(weights), directions):
        outputs = []
        for direction in range(directions):
            state = tuple(part[first + direction] for part in hidden)
            found, state = _direction(cell, steps, running, state, weights[first + direction], bool(direction))
            outputs.append(found)
            last.append(state)
        steps = torch.cat(outputs, -1) if both_ways else outputs[0]
    return steps, [torch.stack(parts) for parts in zip(*last, strict=True)]


def _direction(
    cell: Cell, steps: torch.Tensor, running: torch.Tensor, state: tuple[torch.Tensor, ...], weights: Any, back: bool
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    gates = torch.nn.functional.linear(steps, weights[0], weights[1])
    outputs: list[torch.Tensor] = []
    order = range(steps.shape[0])
    for step in reversed(order) if back else order:
        new = cell(gates[step], state, weights[2:])
        runs = running[step]
        outputs.append(torch.where(runs, new[0], 0.0))
        state = tuple(torch.where(runs, a, b) for a, b in zip(new, state, strict=True))
    return torch.stack(outputs[::-1] if back else outputs), state


def _lstm(
    gates: torch.Tensor, state: tuple[torch.Tensor, ...], weights: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    hidden, memory = state
    found = (gates + torch.nn.functional.linear(hidden, weights[0], weights[1])).chunk(4, -1)
    memory = found[1].sigmoid() * memory + found[0].sigmoid() * found[2].tanh()
    hidden = found[3].sigmoid() * memory.tanh()
    return (torch.nn.functional.linear(hidden, weights[2]) if len(weights) > 2 else hidden), memory


def _gru(
    gates: torch.Tensor, state: tuple[torch.Tensor, ...], weights: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    given = gates.chunk(3, -1)
    own = torch.nn.functional.linear(state[0], weights[0], weights[1]).chunk(3, -1)
    reset, update = (given[0] + own[0]).sigmoid(), (given[1] + own[1]).sigmoid()
    new = (given[2] + reset * own[2]).tanh()
    return (new + update * (state[0] - new),)


def _rnn(activation: Callable[[torch.Tensor], torch.Tensor]) -> Cell:
    def cell(
        gates: torch.Tensor, state: tuple[torch.Tensor, ...], weights: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, ...]:
        return (activation(gates + torch.nn.functional.linear(state[0], weights[0], weights[1])),)

    return cell
