"""RNN, GRU and LSTM for the reference evaluator, by the definition: one sequence after the other, in double precision.

The evaluator of ONNX leaves out the lengths of sequences, clipping, coupled gates, and most functions of the gates.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from mnc.lowering.onnx_to_graph.gate_functions import GateFunction, gate_functions

_FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "Affine": lambda x, alpha, beta: alpha * x + beta,
    "Elu": lambda x, alpha: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
    "HardSigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "LeakyRelu": lambda x, alpha: np.where(x < 0, alpha * x, x),
    "Relu": lambda x: np.maximum(x, 0),
    "ScaledTanh": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.logaddexp(0, x),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Tanh": np.tanh,
    "ThresholdedRelu": lambda x, alpha: np.where(x > alpha, x, 0),
}


class Direction:
    """One direction of a node: its weights, the functions of its gates, and its clipping."""

    def __init__(self, weights: Sequence[np.ndarray], functions: Sequence[GateFunction], clip: float | None) -> None:
        self.w, self.r, self.bias, self.peepholes = weights
        self.functions, self.clip = functions, clip

    def apply(self, which: int, x: np.ndarray) -> np.ndarray:
        function = self.functions[which]
        x = np.clip(x, -self.clip, self.clip) if self.clip else x
        return _FUNCTIONS[function.name](x, *function.floats)


class Recurrent(OpRun):
    """What the three have in common."""

    gates: int
    default: tuple[str, ...]

    def cell(self, own: Direction, x: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
        """The state after an input of shape (inputs,); the first part of it is the result."""
        raise NotImplementedError

    def _run(self, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None,
             peepholes: Any = None, **attributes: Any) -> Any:  # fmt: skip
        swapped = bool(attributes.get("layout"))
        x, h, c = (v.swapaxes(0, 1) if swapped and v is not None else v for v in (x, h, c))
        (length, batch, _), (directions, _, hidden) = x.shape, r.shape
        zeros = np.zeros((directions, batch, hidden))
        start = [zeros if v is None else v for v in ((h, c) if self.gates == len("iofc") else (h,))]
        lengths = [length] * batch if lengths is None else lengths
        b = np.zeros((directions, 2 * self.gates * hidden)) if b is None else b
        peepholes = np.zeros((directions, 3 * hidden)) if peepholes is None else peepholes
        functions = gate_functions(attributes, self.default, directions)
        y, last = np.zeros((length, directions, batch, hidden)), [np.zeros_like(zeros) for _ in start]
        for d in range(directions):
            weights = [v[d].astype(np.float64) for v in (w, r, b, peepholes)]
            own = Direction(weights, functions[d], attributes.get("clip"))
            backward = d == 1 or attributes.get("direction") == "reverse"
            for i in range(batch):
                state = [v[d, i].astype(np.float64) for v in start]
                for t in range(int(lengths[i]))[:: -1 if backward else 1]:
                    state = self.cell(own, x[t, i].astype(np.float64), state)
                    y[t, d, i] = state[0]
                for whole, part in zip(last, state, strict=True):
                    whole[d, i] = part
        if swapped:
            y, last = y.transpose(2, 0, 1, 3), [v.swapaxes(0, 1) for v in last]
        return tuple(v.astype(x.dtype) for v in [y, *last][: len(self.onnx_node.output)])


class RNN(Recurrent):
    gates, default = 1, ("Tanh",)

    def cell(self, own: Direction, x: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
        return [own.apply(0, own.w @ x + own.r @ state[0] + sum(np.split(own.bias, 2)))]


class GRU(Recurrent):
    gates, default = 3, ("Sigmoid", "Tanh")

    def cell(self, own: Direction, x: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
        (h,) = state
        from_x, from_h = np.split(own.bias, 2)
        (xz, xr, xn), (bz, br, bn) = np.split(own.w @ x + from_x, 3), np.split(from_h, 3)
        rz, rr, rn = np.split(own.r, 3)
        z, reset = own.apply(0, xz + rz @ h + bz), own.apply(0, xr + rr @ h + br)
        before = getattr(self, "linear_before_reset", 0)
        inner = reset * (rn @ h + bn) if before else rn @ (reset * h) + bn
        return [(1 - z) * own.apply(1, xn + inner) + z * h]


class LSTM(Recurrent):
    gates, default = 4, ("Sigmoid", "Tanh", "Tanh")

    def cell(self, own: Direction, x: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
        h, c = state
        i, o, f, g = np.split(own.w @ x + own.r @ h + sum(np.split(own.bias, 2)), 4)
        into, out, forget = np.split(own.peepholes, 3)
        i = own.apply(0, i + into * c)
        f = 1 - i if getattr(self, "input_forget", 0) else own.apply(0, f + forget * c)
        c = f * c + i * own.apply(1, g)
        return [own.apply(0, o + out * c) * own.apply(2, c), c]
