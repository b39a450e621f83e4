"""Packed sequences in a form whose shapes depend on no lengths: all steps of all sequences, with masks."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from mnc.core.diagnostics import CompileError
from mnc.torch.operators.hints import NO_DROPOUT

Cell = Callable[[torch.Tensor, tuple[torch.Tensor, ...], Sequence[torch.Tensor]], tuple[torch.Tensor, ...]]
"""(what the inputs give to the gates, state, weights of the state) -> next state, whose first part is the output."""

_VF: Any = torch._VF


class PackedSequences:
    """The packed sequences of one trace, known by their batch sizes.

    A trace packs [steps, batch, ...] as [steps * batch, ...]: as if all sequences were as long as the input. Recurrent
    networks keep their state where a sequence has ended.
    """

    def __init__(self) -> None:
        self._lengths: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.functions: dict[Any, Callable[..., Any]] = {
            _VF._pack_padded_sequence: self._pack,
            _VF._pad_packed_sequence: self._pad,
            torch.Tensor.__getitem__: self._item,
            _VF.lstm: self._network(_VF.lstm, _lstm),
            _VF.gru: self._network(_VF.gru, _gru),
            _VF.rnn_tanh: self._network(_VF.rnn_tanh, _rnn(torch.tanh)),
            _VF.rnn_relu: self._network(_VF.rnn_relu, _rnn(torch.relu)),
        }

    def _lengths_of(self, batch_sizes: Any) -> torch.Tensor | None:
        return next((lengths for known, lengths in self._lengths if known is batch_sizes), None)

    def _pack(self, input: torch.Tensor, lengths: torch.Tensor, batch_first: bool) -> tuple[torch.Tensor, torch.Tensor]:
        steps_first = input.transpose(0, 1) if batch_first else input
        batch_sizes = torch.full((steps_first.shape[0],), steps_first.shape[1], dtype=torch.int64)
        self._lengths.append((batch_sizes, lengths))
        return steps_first.flatten(0, 1), batch_sizes

    def _pad(
        self, data: torch.Tensor, batch_sizes: torch.Tensor, batch_first: bool, value: float, total: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = self._lengths_of(batch_sizes)
        if lengths is None:
            return _VF._pad_packed_sequence(data, batch_sizes, batch_first, value, total)
        steps = batch_sizes.shape[0]
        padded = data.unflatten(0, (steps, lengths.shape[0]))
        running = _running(lengths, steps).reshape(*padded.shape[:2], *(1,) * (padded.dim() - 2))
        padded = torch.where(running, padded, value)
        if total > steps:
            padded = torch.cat([padded, padded.new_full((total - steps, *padded.shape[1:]), value)])
        return (padded.transpose(0, 1) if batch_first else padded), lengths

    def _item(self, tensor: torch.Tensor, place: Any) -> Any:
        """The batch size of a step is a plain number."""
        lengths = self._lengths_of(tensor)
        return tensor[place] if lengths is None or not isinstance(place, int) else lengths.shape[0]

    def _network(self, original: Callable[..., Any], cell: Cell) -> Callable[..., Any]:
        def run(input: torch.Tensor, second: Any, *rest: Any) -> Any:
            lengths = self._lengths_of(second)
            if lengths is None:
                return original(input, second, *rest)
            hidden, weights, has_biases, layers, dropout, training, both_ways = rest
            if dropout and training and layers > 1:
                message = f"a recurrent network drops out between its layers, with probability {dropout}"
                raise CompileError(message, hint=NO_DROPOUT)
            hidden = hidden if isinstance(hidden, tuple | list) else (hidden,)
            steps = input.unflatten(0, (second.shape[0], lengths.shape[0]))
            running = _running(lengths, second.shape[0]).unsqueeze(-1)
            count = len(weights) // (layers * (1 + both_ways))
            parts = [weights[i : i + count] for i in range(0, len(weights), count)]
            outputs, states = _layers(cell, steps, running, hidden, [_named(p, has_biases) for p in parts], both_ways)
            return (outputs.flatten(0, 1), *states)

        return run


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
