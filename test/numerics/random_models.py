"""Random ONNX models over a wide set of operators: a few nodes with odd, prime and unit extents for every seed.

``python test/numerics/random_models.py FIRST COUNT`` compiles models, runs each in strict mode on random inputs,
compares it with the reference and with its sequential form; it prints the seeds that fail.
"""

import math
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.core.diagnostics import CompileError
from mnc.reference import compare, random_inputs

EXTENTS = (1, 1, 2, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17)
LARGEST = 1500
UNARY = ("Abs", "Exp", "Neg", "Relu", "Sigmoid", "Tanh", "Sqrt", "Floor", "Softplus", "HardSigmoid", "LeakyRelu",
         "Erf", "Elu", "Sign", "Ceil", "Round", "Reciprocal", "Sin", "Identity", "HardSwish", "Selu", "Celu",
         "Softsign")  # fmt: skip
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum")
REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
              "ReduceLogSumExp", "ReduceProd")  # fmt: skip
_POSITIVE = ("Sqrt", "Reciprocal", "Div")


class Builder:
    """One model in the making: values with their shapes, all floats."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.inputs: dict[str, list[int]] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.shapes: dict[str, list[int]] = {}
        self.values = np.random.default_rng(seed)

    def shape(self, rank: int) -> list[int]:
        """Random extents, of at most `LARGEST` elements."""
        while True:
            shape = [self.rng.choice(EXTENTS) for _ in range(rank)]
            if math.prod(shape) <= LARGEST:
                return shape

    def fresh(self, shape: list[int]) -> str:
        """A new input or weight."""
        name = f"v{len(self.inputs) + len(self.weights)}"
        if self.rng.random() < 0.3:
            self.weights[name] = self.values.standard_normal(shape).astype(np.float32)
        else:
            self.inputs[name] = shape
        self.shapes[name] = shape
        return name

    def constant(self, value: Any) -> str:
        """Integers that decide structure."""
        name = f"c{len(self.weights)}"
        self.weights[name] = np.array(value, np.int64)
        return name

    def pick(self, least: int = 0, rank: int | None = None) -> str:
        """A value of at least `least` dimensions, or of exactly `rank`; a new one if there is none."""
        fits = [n for n, s in self.shapes.items() if len(s) >= least and rank in (None, len(s))]
        if fits and self.rng.random() < 0.85:
            return self.rng.choice(fits[-3:])
        return self.fresh(self.shape(self.rng.randint(max(least, 1), 4) if rank is None else rank))

    def add(self, op_type: str, inputs: list[str], shape: list[int], outputs: int = 1, **attributes: Any) -> str:
        """Append a node whose first output has this shape."""
        names = [f"t{len(self.nodes)}", f"u{len(self.nodes)}"][:outputs]
        self.nodes.append(helper.make_node(op_type, inputs, names, name=f"n{len(self.nodes)}", **attributes))
        self.shapes[names[0]] = list(shape)
        return names[0]

    def positive(self, name: str) -> str:
        """At least 1 where an operator is not defined everywhere."""
        shape = self.shapes[name]
        one = f"one{len(self.weights)}"
        self.weights[one] = np.ones((), np.float32)
        return self.add("Add", [self.add("Abs", [name], shape), one], shape)


def _unary(b: Builder) -> None:
    x, op_type = b.pick(), b.rng.choice(UNARY)
    x = b.positive(x) if op_type in _POSITIVE else x
    b.add(op_type, [b.add("Tanh", [x], b.shapes[x]) if op_type == "Exp" else x], b.shapes[x])


def _binary(b: Builder) -> None:
    x, op_type = b.pick(), b.rng.choice(BINARY)
    shape = b.shapes[x]
    other = [extent if b.rng.random() < 0.7 else 1 for extent in shape][b.rng.randint(0, len(shape)) :]
    y = b.fresh(other) if b.rng.random() < 0.7 else x
    y = b.positive(y) if op_type == "Div" else y
    b.add(op_type, [x, y] if b.rng.random() < 0.5 or op_type == "Div" else [y, x], shape)


def _matmul(b: Builder) -> None:
    x = b.pick(least=2)
    *outer, depth = b.shapes[x]
    columns = b.rng.choice(EXTENTS)
    b.add("MatMul", [x, b.fresh([depth, columns])], [*outer, columns])


def _gemm(b: Builder) -> None:
    x = b.pick(rank=2)
    left, right = b.rng.randint(0, 1), b.rng.randint(0, 1)
    rows, depth = b.shapes[x][::-1] if left else b.shapes[x]
    columns = b.rng.choice(EXTENTS)
    w = b.fresh([columns, depth] if right else [depth, columns])
    bias = b.fresh(b.rng.choice([[1], [columns], [rows, 1], [1, columns]]))
    b.add("Gemm", [x, w, bias], [rows, columns], transA=left, transB=right)


def _reduce(b: Builder) -> None:
    x, keep = b.pick(least=1), b.rng.randint(0, 1)
    shape = b.shapes[x]
    axes = sorted(b.rng.sample(range(len(shape)), b.rng.randint(1, len(shape))))
    result = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
    b.add(b.rng.choice(REDUCTIONS), [x, b.constant(axes)], result, keepdims=keep)


def _along_axis(b: Builder) -> None:
    x = b.pick(least=1)
    shape, axis = b.shapes[x], b.rng.randrange(len(b.shapes[x]))
    op_type = b.rng.choice(["Softmax", "LogSoftmax", "LpNormalization", "CumSum", "Hardmax"])
    if op_type == "CumSum":
        b.add(op_type, [x, b.constant(axis)], shape, exclusive=b.rng.randint(0, 1), reverse=b.rng.randint(0, 1))
    elif op_type == "LpNormalization":
        b.add(op_type, [x], shape, axis=axis, p=b.rng.randint(1, 2))
    else:
        b.add(op_type, [x], shape, axis=axis)


def _transpose(b: Builder) -> None:
    x = b.pick(least=2)
    order = b.rng.sample(range(len(b.shapes[x])), len(b.shapes[x]))
    b.add("Transpose", [x], [b.shapes[x][i] for i in order], perm=order)


def _reshape(b: Builder) -> None:
    x = b.pick(least=1)
    shape = b.shapes[x]
    cut = b.rng.randint(0, len(shape))
    matrix = [math.prod(shape[:cut]), math.prod(shape[cut:])]
    target = b.rng.choice([[math.prod(shape)], matrix, [*shape, 1], shape[::-1]])
    b.add("Reshape", [x, b.constant(target)], target)


def _concat(b: Builder) -> None:
    x = b.pick(least=1)
    shape, axis = b.shapes[x], b.rng.randrange(len(b.shapes[x]))
    other = [b.rng.choice(EXTENTS) if i == axis else n for i, n in enumerate(shape)]
    y = b.fresh(other) if b.rng.random() < 0.6 else x
    result = [n + b.shapes[y][axis] if i == axis else n for i, n in enumerate(shape)]
    b.add("Concat", [x, y], result, axis=axis)


def _slice(b: Builder) -> None:
    x = b.pick(least=1)
    shape, axis = b.shapes[x], b.rng.randrange(len(b.shapes[x]))
    step = b.rng.choice([1, 1, 2, -1])
    chosen = range(shape[axis])[b.rng.randrange(shape[axis]) :: step]
    end = chosen[-1] + (1 if step > 0 else -1)
    names = [b.constant([n]) for n in (chosen[0], end if end >= 0 else -shape[axis] - 1, axis, step)]
    b.add("Slice", [x, *names], [len(chosen) if i == axis else n for i, n in enumerate(shape)])


def _pad(b: Builder) -> None:
    x = b.pick(least=1)
    shape = b.shapes[x]
    low = [b.rng.choice([0, 0, 1, 2, -1 if n > 2 else 0]) for n in shape]
    high = [b.rng.choice([0, 0, 1, -1 if n > 2 else 0]) for n in shape]
    b.add("Pad", [x, b.constant([*low, *high])], [n + a + c for n, a, c in zip(shape, low, high, strict=True)])


def _gather(b: Builder) -> None:
    x = b.pick(least=1)
    shape, axis = b.shapes[x], b.rng.randrange(len(b.shapes[x]))
    indices = [b.rng.randrange(-shape[axis], shape[axis]) for _ in range(b.rng.choice(EXTENTS))]
    b.add("Gather", [x, b.constant(indices)], [*shape[:axis], len(indices), *shape[axis + 1 :]], axis=axis)


def _top_k(b: Builder) -> None:
    x = b.pick(least=1)
    shape, axis = b.shapes[x], b.rng.randrange(len(b.shapes[x]))
    count = b.rng.randint(1, shape[axis])
    result = [count if i == axis else n for i, n in enumerate(shape)]
    b.add("TopK", [x, b.constant([count])], result, outputs=2, axis=axis, largest=b.rng.randint(0, 1))


def _window(b: Builder) -> None:
    spatial = b.rng.randint(1, 2)
    x = b.pick(rank=2 + spatial)
    batch, channels, *extents = b.shapes[x]
    kernel = [b.rng.randint(1, min(3, n)) for n in extents]
    strides = [b.rng.randint(1, 2) for _ in extents]
    pads = [b.rng.randrange(k) for k in kernel * 2]
    out = [(n + pads[i] + pads[spatial + i] - kernel[i]) // strides[i] + 1 for i, n in enumerate(extents)]
    op_type = b.rng.choice(["Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"])
    if op_type.startswith("Global"):
        b.add(op_type, [x], [batch, channels, *[1] * spatial])
    elif op_type == "Conv":
        filters = b.rng.choice((1, 2, 3, 5))
        b.add(op_type, [x, b.fresh([filters, channels, *kernel])], [batch, filters, *out], strides=strides, pads=pads)
    else:
        more = {"count_include_pad": b.rng.randint(0, 1)} if op_type == "AveragePool" else {}
        b.add(op_type, [x], [batch, channels, *out], kernel_shape=kernel, strides=strides, pads=pads, **more)


def _where(b: Builder) -> None:
    x = b.pick()
    shape, y = b.shapes[x], b.fresh(b.shapes[x])
    flag = b.add(b.rng.choice(["Greater", "Less", "GreaterOrEqual"]), [x, y], shape)
    del b.shapes[flag]  # no float
    b.add("Where", [flag, x, y], shape)


def _spread(b: Builder) -> None:
    x = b.pick(least=1)
    shape = b.shapes[x]
    if b.rng.random() < 0.5:
        times = [b.rng.choice([1, 1, 2, 3]) for _ in shape]
        b.add("Tile", [x, b.constant(times)], [n * t for n, t in zip(shape, times, strict=True)])
    else:
        wide = [b.rng.choice(EXTENTS) if n == 1 else n for n in shape]
        b.add("Expand", [x, b.constant(wide)], wide)


STEPS: tuple[Callable[[Builder], None], ...] = (
    _unary, _unary, _binary, _binary, _matmul, _gemm, _reduce, _along_axis, _transpose, _reshape, _concat, _slice, _pad,
    _gather, _top_k, _window, _where, _spread,
)  # fmt: skip


def random_model(seed: int) -> onnx.ModelProto:
    """The model of a seed; its outputs are the values that no node reads."""
    b = Builder(seed)
    b.fresh(b.shape(b.rng.randint(1, 4)))
    for _ in range(b.rng.randint(1, 5)):
        b.rng.choice(STEPS)(b)
        if any(math.prod(shape) > 4 * LARGEST for shape in b.shapes.values()):
            break
    read = {name for node in b.nodes for name in node.input}
    made = [name for node in b.nodes for name in node.output[:1] if name in b.shapes]
    entries = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in b.inputs.items()]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, b.shapes[n]) for n in made if n not in read]
    weights = [numpy_helper.from_array(value, name) for name, value in b.weights.items()]
    graph = helper.make_graph(b.nodes, f"seed{seed}", entries, ends, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def failure_of(seed: int, options: mnc.Options | None = None) -> str | None:
    """`failure_of_model` for the model of a seed."""
    return failure_of_model(random_model(seed), seed, options)


def failure_of_model(model: onnx.ModelProto, seed: int, options: mnc.Options | None = None) -> str | None:
    """What is wrong with the compiled program of a model, run in strict mode on random inputs; None if nothing is."""
    try:
        program = mnc.compile(model, options)
        inputs = random_inputs(model, {}, seed)
        outputs = program.run({name: value for name, value in inputs.items() if name not in program.unread})
        rows = compare(model, outputs, inputs, (options or mnc.Options()).precision)
    except CompileError as error:
        return f"refused: {error.message}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    wrong = [row for row in rows if not row.passed]
    return f"wrong: {wrong[0].name} is off by {wrong[0].error}, {wrong[0].bound} is allowed" if wrong else None


def main() -> None:
    """Try seeds FIRST to FIRST + COUNT."""
    from sequential_form import comparing  # pyright: ignore[reportMissingImports]  # beside this script

    first, count = map(int, sys.argv[1:3])
    failed = 0
    for seed in range(first, first + count):
        with comparing():
            failure = failure_of(seed, mnc.Options(prefer=()))
        if failure is not None:
            failed += 1
            operators = " ".join(node.op_type for node in random_model(seed).graph.node)
            print(f"{seed}: {failure.splitlines()[0]} [{operators}]", flush=True)
    print(f"{failed} of {count} failed")


if __name__ == "__main__":
    main()
