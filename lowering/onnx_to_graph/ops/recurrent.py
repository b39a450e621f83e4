"""RNN, GRU and LSTM, unrolled over their sequence, whose length is part of the shape.

Gates are a dimension of their own, the first: the parts of a product that belong to them can be taken without moving
anything then, while a part of a dimension that is spread over the chip has to be brought to all of it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.dialects.graph.shape import concat_tree
from mnc.lowering.onnx_to_graph.gate_functions import GateFunction, gate_functions
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of

Cell = Callable[[Any, list[Any]], list[Any]]
"""(projected input [gates, batch, hidden] of a step, state) -> new state; the first part of the state is what the node
gives."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Affine": lambda x, alpha, beta: _add(_mul(x, _number(alpha, x)), _number(beta, x)),
    "Elu": lambda x, alpha: graph.Elu.build(x, alpha=alpha).result,
    "HardSigmoid": lambda x, alpha, beta: graph.HardSigmoid.build(x, alpha=alpha, beta=beta).result,
    "LeakyRelu": lambda x, alpha: graph.LeakyRelu.build(x, alpha=alpha).result,
    "Relu": lambda x: graph.Relu.build(x).result,
    "ScaledTanh": lambda x, alpha, beta: _mul(graph.Tanh.build(_mul(x, _number(beta, x))).result, _number(alpha, x)),
    "Sigmoid": lambda x: graph.Sigmoid.build(x).result,
    "Softplus": lambda x: graph.Softplus.build(x).result,
    "Softsign": lambda x: graph.Div.build(x, _add(_number(1, x), graph.Abs.build(x).result)).result,
    "Tanh": lambda x: graph.Tanh.build(x).result,
    "ThresholdedRelu": lambda x, alpha: graph.Where.build(
        graph.Less.build(_number(alpha, x), x).result, x, _number(0, x)
    ).result,
}
"""Functions of the gates, of a value and the numbers that they have."""


def _number(value: float, like: Any) -> Any:
    return constant(value, like=like)


def _add(*values: Any) -> Any:
    total = values[0]
    for value in values[1:]:
        total = graph.Add.build(total, value).result
    return total


def _mul(a: Any, b: Any) -> Any:
    return graph.Mul.build(a, b).result


def _one_minus(a: Any) -> Any:
    return graph.Sub.build(constant(1, like=a), a).result


def _part(value: Any, axis: int, start: int, end: int) -> Any:
    shape = shape_of(value)
    starts, limits = [0] * len(shape), list(shape)
    starts[axis], limits[axis] = start, end
    return graph.Slice.build(value, starts=starts, limits=limits, steps=[1] * len(shape)).result


class _Directions:
    """Weights and functions of the directions of the node that run together: a dimension behind the gates where they
    are two."""

    def __init__(self, node: Node, chosen: Sequence[int], gates: int, functions: Sequence[GateFunction]) -> None:
        self.node = node
        self.hidden = shape_of(node.operand(2))[2]
        self.gates = gates
        self.chosen = chosen
        self.together = [len(chosen)] if len(chosen) > 1 else []
        self.x_weight = self._by_gates(self.own(1))
        self.h_weight = self._by_gates(self.own(2))
        self.x_bias, self.h_bias = self._biases() if node.has(3) else (None, None)
        self.peepholes = None
        if node.op_type == "LSTM" and node.has(7):
            every = reshape(self.own(7), [*self.together, 1, 3 * self.hidden])
            self.peepholes = [_part(every, -1, i * self.hidden, (i + 1) * self.hidden) for i in range(3)]
        self.functions = functions
        self.clip = node.attribute("clip")

    def own(self, operand: int, axis: int = 0) -> Any:
        """The part of an operand that belongs to these directions."""
        value = self.node.operand(operand)
        part = _part(value, axis, self.chosen[0], self.chosen[-1] + 1)
        return part if self.together else reshape(part, [n for i, n in enumerate(shape_of(part)) if i != axis])

    def _by_gates(self, weight: Any) -> Any:
        """[gates * hidden, inputs] -> [gates, inputs, hidden], with the directions in front -> behind the gates."""
        inputs = shape_of(weight)[-1]
        apart = reshape(weight, [*self.together, self.gates, self.hidden, inputs])
        permutation = [1, 0, 3, 2] if self.together else [0, 2, 1]
        return graph.Transpose.build(apart, permutation=permutation).result

    def _biases(self) -> tuple[Any, Any | None]:
        """What is added to the input's part of all gates, for all steps at once, and to the state's part in every step:
        nothing, unless a reset gate scales that. Both are [gates, directions, 1, hidden]."""
        apart = reshape(self.own(3), [*self.together, 2 * self.gates, 1, self.hidden])
        both = graph.Transpose.build(apart, permutation=[1, 0, 2, 3]).result if self.together else apart
        of_input, of_state = (_part(both, 0, start, start + self.gates) for start in (0, self.gates))
        if self.node.attribute("linear_before_reset", 0):
            return of_input, of_state
        return _add(of_input, of_state), None

    def gate(self, value: Any, index: int) -> Any:
        """One gate of [gates, directions, batch, hidden]."""
        return reshape(_part(value, 0, index, index + 1), shape_of(value)[1:])

    def activate(self, which: int, value: Any) -> Any:
        """Function number `which`, after clipping."""
        if self.clip:
            value = graph.Clip.build(value, min=-float(self.clip), max=float(self.clip)).result
        function = self.functions[which]
        return _FUNCTIONS[function.name](value, *function.floats)

    def project(self, x: Any) -> Any:
        """The input's part of all gates, for all steps at once: [length, gates, directions, batch, hidden]."""
        if self.together:
            x = graph.Transpose.build(x, permutation=[1, 0, 2, 3]).result
        length, *others, batch, inputs = shape_of(x)
        product = graph.MatMul.build(reshape(x, [length, 1, *others, batch, inputs]), self.x_weight).result
        return product if self.x_bias is None else _add(product, self.x_bias)

    def recur(self, h: Any, gates: slice) -> Any:
        """The state's part of some gates: [gates, directions, batch, hidden]."""
        start, end = gates.start, gates.stop
        product = graph.MatMul.build(h, _part(self.h_weight, 0, start, end)).result
        return product if self.h_bias is None else _add(product, _part(self.h_bias, 0, start, end))

    def recur_alone(self, h: Any, index: int) -> Any:
        """The state's part of one gate: [directions, batch, hidden]."""
        return self.gate(self.recur(h, slice(index, index + 1)), 0)


def _rnn_cell(d: _Directions) -> Cell:
    return lambda x, state: [d.activate(0, _add(d.gate(x, 0), d.recur_alone(state[0], 0)))]


def _gru_cell(d: _Directions) -> Cell:
    before_reset = d.node.attribute("linear_before_reset", 0)

    def step(x: Any, state: list[Any]) -> list[Any]:
        (h,) = state
        products = d.recur(h, slice(0, 3 if before_reset else 2))
        both = d.activate(0, _add(_part(x, 0, 0, 2), _part(products, 0, 0, 2)))
        z, r = (d.gate(both, i) for i in range(2))
        inner = _mul(r, d.gate(products, 2)) if before_reset else d.recur_alone(_mul(r, h), 2)
        candidate = d.activate(1, _add(d.gate(x, 2), inner))
        return [_add(_mul(_one_minus(z), candidate), _mul(z, h))]

    return step


def _lstm_cell(d: _Directions) -> Cell:
    def step(x: Any, state: list[Any]) -> list[Any]:
        h, c = state
        every = _add(x, d.recur(h, slice(0, 4)))
        if d.peepholes is None:
            i, o, f = (d.gate(d.activate(0, _part(every, 0, 0, 3)), gate) for gate in range(3))
        else:
            into, out, forget = (d.gate(every, gate) for gate in range(3))
            i, f = (
                d.activate(0, _add(gate, _mul(d.peepholes[own], c))) for gate, own in ((into, 0), (forget, 2))
            )
        if d.node.attribute("input_forget", 0):
            f = _one_minus(i)
        cell = _add(_mul(f, c), _mul(i, d.activate(1, d.gate(every, 3))))
        if d.peepholes is not None:
            o = d.activate(0, _add(out, _mul(d.peepholes[1], cell)))
        return [_mul(o, d.activate(2, cell)), cell]

    return step


_CELLS: dict[str, tuple[Callable[[_Directions], Cell], int, tuple[str, ...]]] = {
    "RNN": (_rnn_cell, 1, ("Tanh",)),
    "GRU": (_gru_cell, 3, ("Sigmoid", "Tanh")),
    "LSTM": (_lstm_cell, 4, ("Sigmoid", "Tanh", "Tanh")),
}
"""Operator -> its cell, how many gates it has, and its functions unless the node names others."""
_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def _states(d: _Directions, batch: int, like: Any) -> list[Any]:
    """Initial state of the directions: given, or zero."""
    found, node = [], d.node
    shape = [*d.together, batch, d.hidden]
    for operand in (5, 6) if node.op_type == "LSTM" else (5,):
        if not node.has(operand):
            found.append(constant(np.zeros(shape), like=like))
            continue
        by_batch = bool(node.attribute("layout", 0))
        value = d.own(operand, 1 if by_batch else 0)
        turned = by_batch and d.together
        found.append(graph.Transpose.build(value, permutation=[1, 0, 2]).result if turned else value)
    return found


def _functions(node: Node, directions: int) -> list[list[GateFunction]]:
    """Functions of every direction; refused are unknown ones, and too few."""
    default = _CELLS[node.op_type][2]
    names = "activations", "activation_alpha", "activation_beta"
    found = gate_functions({name: node.attribute(name) for name in names}, default, directions)
    for function in (function for own in found for function in own):
        if function.name not in _FUNCTIONS:
            raise node.error(f"activation '{function.name}' is not supported", f"use one of {', '.join(_FUNCTIONS)}")
    if any(len(own) < len(default) for own in found):
        needed = directions * len(default)
        raise node.error(f"{sum(map(len, found))} activations are given, {needed} are needed", "name all, or none")
    return found


def _backward_too(x: Any) -> Any:
    """[length, batch, inputs] -> the same, and from the last step to the first: [2, length, batch, inputs]."""
    length, batch, inputs = shape_of(x)
    limits, steps = [-1, batch, inputs], [-1, 1, 1]
    backward = graph.Slice.build(x, starts=[length - 1, 0, 0], limits=limits, steps=steps).result
    both = [reshape(own, [1, length, batch, inputs]) for own in (x, backward)]
    return concat_tree(both, 0)


def _runs(d: _Directions, places: Sequence[int], lengths: Any) -> Any:
    """Where a sequence of the batch has not ended at the place of each direction: [directions, batch, 1]."""
    times = np.array(places)
    numbers = constant(times[:, None] if d.together else times, like=lengths)
    return reshape(graph.Less.build(numbers, lengths).result, [*d.together, *shape_of(lengths), 1])


def _run(d: _Directions, x: Any, backward: Sequence[bool]) -> tuple[list[list[Any]], list[list[Any]]]:
    """What each of the directions gives at every step, and its last state, all [1, batch, hidden]."""
    length, batch, _ = shape_of(x)
    step = _CELLS[d.node.op_type][0](d)
    projected = d.project(_backward_too(x) if d.together else x)
    state = _states(d, batch, x)
    lengths = d.node.operand(4) if d.node.has(4) else None
    results: list[list[Any]] = [[None] * length for _ in backward]
    for number in range(length):
        places = [length - 1 - number if turned else number for turned in backward]
        t = places[0]  # of a second direction the input has been turned
        new = step(reshape(_part(projected, 0, t, t + 1), shape_of(projected)[1:]), state)
        given = new[0]
        if lengths is not None:  # behind the end of a sequence nothing is given and the state stays
            runs = _runs(d, places, lengths)
            given = graph.Where.build(runs, new[0], constant(0, like=x)).result
            new = [graph.Where.build(runs, n, old).result for n, old in zip(new, state, strict=True)]
        state = new
        for own, place, value in zip(results, places, _apart(d, given), strict=True):
            own[place] = value
    return results, [list(own) for own in zip(*(_apart(d, value) for value in state), strict=True)]


def _apart(d: _Directions, value: Any) -> list[Any]:
    """What belongs to each direction: [1, batch, hidden]."""
    if not d.together:
        return [reshape(value, [1, *shape_of(value)])]
    return [_part(value, 0, k, k + 1) for k in range(len(d.chosen))]


def recurrent(node: Node) -> list[Any]:
    """RNN, GRU, LSTM: the results of all steps, and the last states. Directions with the same functions take their
    steps together: each waits for the one before, and the chip has room for both."""
    batch_first = node.attribute("layout", 0)
    x = node.operand(0)
    if batch_first:
        x = graph.Transpose.build(x, permutation=[1, 0, 2]).result
    length, batch, _ = shape_of(x)
    kind = _DIRECTIONS[node.attribute("direction", "forward")]
    functions = _functions(node, len(kind))
    alike = all(own == functions[0] for own in functions)
    groups = [list(range(len(kind)))] if alike else [[k] for k in range(len(kind))]
    results: list[list[Any]] = []
    states: list[list[Any]] = []
    for chosen in groups:
        d = _Directions(node, chosen, _CELLS[node.op_type][1], functions[chosen[0]])
        given, state = _run(d, x, [kind[k] for k in chosen])
        results += given
        states += state
    steps = [reshape(own[t], [1, 1, batch, d.hidden]) for t in range(length) for own in results]
    y = reshape(concat_tree(steps, 0), [length, len(kind), batch, d.hidden])
    last = [concat_tree(list(own), 0) for own in zip(*states, strict=True)]
    if batch_first:
        y = graph.Transpose.build(y, permutation=[2, 0, 1, 3]).result
        last = [graph.Transpose.build(value, permutation=[1, 0, 2]).result for value in last]
    return [y, *last]
