"""RNN, GRU and LSTM, unrolled over their sequence, whose length is part of the shape.

Gates are a dimension of their own, the first: the parts of a product that belong to them can be taken without moving
anything then, while a part of a dimension that is spread over the chip has to be brought to all of it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.gate_functions import GateFunction, gate_functions
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.shape import concat_tree

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


class _Direction:
    """Weights and functions of one direction of the node."""

    def __init__(self, node: Node, index: int, gates: int, functions: Sequence[GateFunction]) -> None:
        self.node = node
        self.hidden = shape_of(node.operand(2))[2]
        self.gates = gates
        self.x_weight = self._by_gates(self._own(1, index))
        self.h_weight = self._by_gates(self._own(2, index))
        both = reshape(self._own(3, index), [2 * gates, 1, self.hidden]) if node.has(3) else None
        self.x_bias = None if both is None else _part(both, 0, 0, gates)
        self.h_bias = None if both is None else _part(both, 0, gates, 2 * gates)
        peepholes = self._own(7, index) if node.op_type == "LSTM" and node.has(7) else None
        self.peepholes = (
            None
            if peepholes is None
            else [_part(peepholes, 0, i * self.hidden, (i + 1) * self.hidden) for i in range(3)]
        )
        self.functions = functions
        self.clip = node.attribute("clip")

    def _own(self, operand: int, index: int) -> Any:
        value = self.node.operand(operand)
        shape = shape_of(value)
        return reshape(_part(value, 0, index, index + 1), shape[1:])

    def _by_gates(self, weight: Any) -> Any:
        """[gates * hidden, inputs] -> [gates, inputs, hidden]."""
        apart = reshape(weight, [self.gates, self.hidden, shape_of(weight)[1]])
        return graph.Transpose.build(apart, permutation=[0, 2, 1]).result

    def gate(self, value: Any, index: int) -> Any:
        """[batch, hidden] of one gate of [gates, batch, hidden]."""
        return reshape(_part(value, 0, index, index + 1), shape_of(value)[1:])

    def activate(self, which: int, value: Any) -> Any:
        """Function number `which` of this direction, after clipping."""
        if self.clip:
            value = graph.Clip.build(value, min=-float(self.clip), max=float(self.clip)).result
        function = self.functions[which]
        return _FUNCTIONS[function.name](value, *function.floats)

    def project(self, x: Any) -> Any:
        """The input's part of all gates, for all steps at once: [gates, length * batch, hidden]."""
        length, batch, inputs = shape_of(x)
        product = graph.MatMul.build(reshape(x, [length * batch, inputs]), self.x_weight).result
        return product if self.x_bias is None else _add(product, self.x_bias)

    def recur(self, h: Any, gates: slice) -> Any:
        """The state's part of some gates: [gates, batch, hidden]."""
        start, end = gates.start, gates.stop
        product = graph.MatMul.build(h, _part(self.h_weight, 0, start, end)).result
        return product if self.h_bias is None else _add(product, _part(self.h_bias, 0, start, end))

    def recur_alone(self, h: Any, index: int) -> Any:
        """The state's part of one gate: [batch, hidden]."""
        return self.gate(self.recur(h, slice(index, index + 1)), 0)


def _rnn_cell(d: _Direction) -> Cell:
    return lambda x, state: [d.activate(0, _add(d.gate(x, 0), d.recur_alone(state[0], 0)))]


def _gru_cell(d: _Direction) -> Cell:
    before_reset = d.node.attribute("linear_before_reset", 0)

    def step(x: Any, state: list[Any]) -> list[Any]:
        (h,) = state
        both = d.activate(0, _add(_part(x, 0, 0, 2), d.recur(h, slice(0, 2))))
        z, r = (d.gate(both, i) for i in range(2))
        inner = _mul(r, d.recur_alone(h, 2)) if before_reset else d.recur_alone(_mul(r, h), 2)
        candidate = d.activate(1, _add(d.gate(x, 2), inner))
        return [_add(_mul(_one_minus(z), candidate), _mul(z, h))]

    return step


def _lstm_cell(d: _Direction) -> Cell:
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


_CELLS: dict[str, tuple[Callable[[_Direction], Cell], int, tuple[str, ...]]] = {
    "RNN": (_rnn_cell, 1, ("Tanh",)),
    "GRU": (_gru_cell, 3, ("Sigmoid", "Tanh")),
    "LSTM": (_lstm_cell, 4, ("Sigmoid", "Tanh", "Tanh")),
}
"""Operator -> its cell, how many gates it has, and its functions unless the node names others."""
_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def _states(node: Node, index: int, batch: int, hidden: int, like: Any) -> list[Any]:
    """Initial state of a direction: given, or zero."""
    found = []
    for operand in (5, 6) if node.op_type == "LSTM" else (5,):
        if node.has(operand):
            value = node.operand(operand)
            axis = 1 if node.attribute("layout", 0) else 0
            found.append(reshape(_part(value, axis, index, index + 1), [batch, hidden]))
        else:
            found.append(constant(np.zeros((batch, hidden)), like=like))
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


def _run(
    node: Node, x: Any, index: int, backward: bool, functions: Sequence[GateFunction]
) -> tuple[list[Any], list[Any]]:
    """One direction: what it gives at every step, and its last state."""
    cell, gates, _ = _CELLS[node.op_type]
    length, batch, _ = shape_of(x)
    direction = _Direction(node, index, gates, functions)
    step = cell(direction)
    projected = direction.project(x)
    state = _states(node, index, batch, direction.hidden, x)
    lengths = node.operand(4) if node.has(4) else None
    results: list[Any] = [None] * length
    for t in reversed(range(length)) if backward else range(length):
        new = step(_part(projected, 1, t * batch, (t + 1) * batch), state)
        results[t] = new[0]
        if lengths is not None:  # behind the end of a sequence nothing is given and the state stays
            runs = reshape(graph.Less.build(constant(t, like=lengths), lengths).result, [batch, 1])
            results[t] = graph.Where.build(runs, new[0], constant(0, like=x)).result
            new = [graph.Where.build(runs, n, old).result for n, old in zip(new, state, strict=True)]
        state = new
    return results, state


def recurrent(node: Node) -> list[Any]:
    """RNN, GRU, LSTM: the results of all steps, and the last states."""
    batch_first = node.attribute("layout", 0)
    x = node.operand(0)
    if batch_first:
        x = graph.Transpose.build(x, permutation=[1, 0, 2]).result
    length, batch, _ = shape_of(x)
    hidden = shape_of(node.operand(2))[2]
    kind = node.attribute("direction", "forward")
    functions = _functions(node, len(_DIRECTIONS[kind]))
    runs = [_run(node, x, index, backward, functions[index]) for index, backward in enumerate(_DIRECTIONS[kind])]
    count = len(runs)
    steps = [reshape(runs[k][0][t], [1, 1, batch, hidden]) for t in range(length) for k in range(count)]
    y = reshape(concat_tree(steps, 0), [length, count, batch, hidden])
    last = [
        concat_tree([reshape(state[i], [1, batch, hidden]) for _, state in runs], 0) for i in range(len(runs[0][1]))
    ]
    if batch_first:
        y = graph.Transpose.build(y, permutation=[2, 0, 1, 3]).result
        last = [graph.Transpose.build(value, permutation=[1, 0, 2]).result for value in last]
    return [y, *last]
