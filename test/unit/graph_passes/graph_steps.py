"""Families of steps of random graphs: what one of them appends, given numbers to decide by."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.dialects.graph import shapes
from mnc.dialects.graph.reduction import REDUCE_KINDS
from mnc.passes.graph.matching import shape_of

from .graph_builder import Builder, broadcasts, is_small, kind_of

EXTENTS = (1, 2, 3, 5)
SCALARS = (0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, -2.0, 0.25, 10.0)
FACTORS = (0.5, -0.5, 3.0)
"""Few, so that multiples of multiples meet."""
SMOOTH = ("neg", "exp", "sigmoid", "tanh", "softplus", "mish", "sin", "cos", "erf", "selu", "elu", "gelu")
UNARY = (*SMOOTH, "abs", "sign", "log", "sqrt", "reciprocal", "floor", "ceil", "round", "relu", "hard_swish",
         "leaky_relu", "hard_sigmoid", "clip")  # fmt: skip
ATTRIBUTES: dict[str, Any] = {
    "leaky_relu": {"alpha": 0.25}, "elu": {"alpha": 0.5}, "selu": {"alpha": 1.5, "gamma": 1.25},
    "hard_sigmoid": {"alpha": 0.5, "beta": 0.25}, "gelu": {"approximate": "none"},
}  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "max", "min", "pow", "mod", "add", "sub", "mul")
INTEGER_BINARY = ("add", "sub", "mul", "max", "min", "div", "mod", "bitwise_and", "bitwise_or", "bitwise_xor")
COMPARISONS = ("equal", "greater", "less", "greater_or_equal", "less_or_equal")


def _unary(b: Builder) -> None:
    name = b.pick(UNARY)
    bounds = {"min": b.pick((None, -1.0, 0.0, 0.5)), "max": b.pick((None, 0.5, 1.0, 0.0))} if name == "clip" else {}
    b.add(name, b.of("f"), **ATTRIBUTES.get(name, bounds))


def _smooth(b: Builder) -> None:
    name = b.pick(SMOOTH)
    b.add(name, b.of("f"), **ATTRIBUTES.get(name, {}))


def _operands(b: Builder, kind: str) -> list[ir.Value]:
    """Two operands, one value twice among them; as often as not one of them is a number or a tensor of numbers."""
    x = b.of(kind)
    what = b.take(5)
    if what < 2:
        return [x, b.partner(x)]
    if what == 2:
        return [x, x]
    number = b.pick((1, 2, 3, -1)) if kind == "i" else b.pick(SCALARS)
    shape = b.pick(((), (), shape_of(x), shape_of(x)[-1:]))
    array = np.full(shape, number)
    if b.take(3) == 0 and array.size > 1:
        array[..., 0] = 1
    c = b.constant(array, kind)
    b.values += [c] if b.take(3) == 0 else []
    return [x, c] if what == 3 else [c, x]


def _binary(b: Builder) -> None:
    name = b.pick(BINARY)
    b.add(name, *_operands(b, "f"), **({"fmod": True} if name == "mod" else {}))


def _linear(b: Builder) -> None:
    b.add(b.pick(("add", "sub", "mul")), *_operands(b, "f"))


def _scale(b: Builder) -> None:
    b.add("mul", b.of("f"), b.constant(b.pick(FACTORS)))


def _integer(b: Builder) -> None:
    name = b.pick(("neg", "abs", "sign", "binary", "binary", "binary"))
    if name != "binary":
        return b.add(name, b.of("i"))
    name = b.pick(INTEGER_BINARY)
    lhs, rhs = _operands(b, "i")
    if name in ("div", "mod"):
        rhs = b.constant(b.pick((1, 2, 3, -1, -2)), "i")
    return b.add(name, lhs, rhs, **({"fmod": bool(b.take(2))} if name == "mod" else {}))


def _compare(b: Builder) -> None:
    b.add(b.pick(COMPARISONS), *_operands(b, b.pick("ffi")))


def _logic(b: Builder) -> None:
    name = b.pick(("and", "or", "xor", "not", "is_nan"))
    x = b.of("f" if name == "is_nan" else "b")
    if name in ("not", "is_nan"):
        return b.add(name, x)
    return b.add(name, x, b.pick((b.partner(x), b.constant(b.take(2), "b"))))


def _where(b: Builder) -> None:
    condition, kind = b.of("b"), b.pick("fffib")
    near = lambda *given: lambda shape: broadcasts(shape, shape_of(condition), *given)  # noqa: E731
    x = b.of(kind, fits=near())
    y = b.pick((b.constant(b.take(2), kind), b.of(kind, fits=near(shape_of(x)))))
    b.add("where", condition, *((x, y) if b.take(2) else (y, x)))


def _cast(b: Builder) -> None:
    x = b.of(b.pick("fib"))
    target = {"f": b.dtype, "i": "int64", "b": "bool"}[b.pick([k for k in "fib" if k != kind_of(x)])]
    b.add("cast", x, result_type=graph.tensor(list(shape_of(x)), graph.element_type(target)))


def _reduce(b: Builder) -> None:
    kind = b.pick("fffi")
    x, how = b.of(kind), b.pick(REDUCE_KINDS if kind == "f" else ("sum", "max", "min", "prod"))
    b.add("reduce", x, kind=how, axes=b.axes(len(shape_of(x))), keepdims=bool(b.take(2)))


def _sum(b: Builder) -> None:
    x = b.of("f")
    b.add("reduce", x, kind=b.pick(("sum", "mean")), axes=b.axes(len(shape_of(x))), keepdims=bool(b.take(2)))


def _along(b: Builder) -> None:
    name = b.pick(("softmax", "log_softmax", "cum_sum", "arg_reduce"))
    x = b.of("f", rank=1)
    flags = [bool(b.take(2)), bool(b.take(2))]
    more = {"cum_sum": dict(zip(("exclusive", "reverse"), flags, strict=True)),
            "arg_reduce": {"kind": b.pick(("max", "min")), "keepdims": flags[0], "select_last": flags[1]}}  # fmt: skip
    b.add(name, x, axis=b.take(len(shape_of(x))), **more.get(name, {}))


def _norm(b: Builder) -> None:
    x = b.of("f", rank=1)
    shape = shape_of(x)
    if b.take(3) and len(shape) > 1:
        numbers = [b.constant(np.full(shape[1], v)) for v in (2.0, 4.0)]  # finite, as trained ones are
        parameters = [b.pick(numbers) for _ in range(3)]
        return b.add("batch_norm", x, *parameters, numbers[1], epsilon=0.0)
    axis = b.take(len(shape))
    scales = [b.of("f", fits=lambda s: shapes.broadcast(s, shape[axis:]) == shape[axis:] if broadcasts(s, shape[axis:])
                   else False) for _ in range(1 + b.take(2))]  # fmt: skip
    return b.add("layer_norm", x, *scales, axis=axis, epsilon=0.25)


def _transpose(b: Builder) -> None:
    x = b.of(b.pick("ffib"), rank=1)
    order = list(range(len(shape_of(x))))
    b.add("transpose", x, permutation=[order.pop(b.take(len(order))) for _ in range(len(order))])


def _reshape(b: Builder) -> None:
    x = b.of(b.pick("ffib"))
    shape = shape_of(x)
    count = int(np.prod(shape))
    options = [[count], [1, *shape], [*shape, 1], shape[::-1], [e for e in shape if e != 1]]
    options += [[e, count // e] for e in EXTENTS if count % e == 0] + [[*shape[:-2], int(np.prod(shape[-2:]))]]
    target = [list(o) for o in options if is_small(o)]
    b.add("reshape", x, result_type=b.typed(b.pick(target), x))


def _broadcast(b: Builder) -> None:
    x = b.of(b.pick("ffib"))
    wide = b.of(b.pick("ffib"), fits=lambda s: broadcasts(s, shape_of(x)))
    b.add("broadcast_to", x, result_type=b.typed(shapes.broadcast(shape_of(x), shape_of(wide)), x))


def _slice(b: Builder) -> None:
    x = b.of(b.pick("ffib"), rank=1)
    triples = []
    for extent in shape_of(x):
        step = b.pick((1, 1, 1, 2, -1, -2))
        start = b.take(extent)
        limit = start + 1 + b.take(extent - start) if step > 0 else start - 1 - b.take(start + 1)
        triples.append((start, limit, step) if b.take(3) else (0, extent, 1))
    b.add(
        "slice",
        x,
        **{n: list(v) for n, v in zip(("starts", "limits", "steps"), zip(*triples, strict=True), strict=True)},
    )


def _concat(b: Builder) -> None:
    x = b.of(b.pick("ffib"), rank=1)
    axis, shape = b.take(len(shape_of(x))), shape_of(x)
    rest = lambda s: (*s[:axis], *s[axis + 1 :])  # noqa: E731
    other = b.of(kind_of(x), fits=lambda s: len(s) == len(shape) and rest(s) == rest(shape))
    b.add("concat", *b.pick(([x, other], [other, x], [x, x])), axis=axis)


def _pad(b: Builder) -> None:
    x = b.of(b.pick("ffi"), rank=1)
    mode = b.pick(("constant", "constant", "edge", "wrap", "reflect"))
    most = [0 if mode == "reflect" and extent == 1 else 1 for extent in shape_of(x)]
    low, high = ([b.take(m + 1) for m in most] for _ in range(2))
    b.add("pad", x, low=low, high=high, value=b.pick((0.0, 1.0, -2.0)), mode=mode)


def _gather(b: Builder) -> None:
    x = b.of(b.pick("ffib"), rank=1)
    axis = b.take(len(shape_of(x)))
    extent = shape_of(x)[axis]
    indices = np.array([b.take(2 * extent) - extent for _ in range(1 + b.take(3))])
    indices = indices if b.take(3) else indices[0]
    given = b.constant(indices, "i")
    if b.take(3) == 0:
        limit = graph.Mod.build(b.of("i"), b.constant(extent, "i"), fmod=False)
        given = limit.operation.results[0]
    b.add("gather", x, given, axis=axis)


def _matmul(b: Builder) -> None:
    x = b.of("f", rank=1)
    fits = lambda s: _product_fits(shape_of(x), s)  # noqa: E731
    y = b.constant(np.arange(-1, 2 * shape_of(x)[-1] - 1).reshape(-1, 2)) if b.take(4) == 0 else b.of("f", 1, fits)
    b.add("matmul", x, y)


def _product_fits(lhs: Sequence[int], rhs: Sequence[int]) -> bool:
    try:
        return is_small(shapes.matmul(lhs, rhs))
    except ValueError:
        return False


def _gemm(b: Builder) -> None:
    turned = [bool(b.take(2)), bool(b.take(2))]
    x = b.of("f", fits=lambda s: len(s) == 2)
    inner = shape_of(x)[0 if turned[0] else 1]
    y = b.of("f", fits=lambda s: len(s) == 2 and s[1 if turned[1] else 0] == inner)
    rows, columns = shape_of(x)[1 if turned[0] else 0], shape_of(y)[0 if turned[1] else 1]
    fits = lambda s: broadcasts(s, (rows, columns)) and shapes.broadcast(s, (rows, columns)) == (rows, columns)  # noqa: E731
    addend = [b.of("f", fits=fits)] if b.take(2) else []
    factors = {"alpha": b.pick((1.0, 0.5, -1.0)), "beta": b.pick((1.0, 2.0, 0.0))}
    b.add("gemm", x, y, *addend, **factors, transA=turned[0], transB=turned[1])


def _image(b: Builder) -> ir.Value:
    """A value of two spatial dimensions; another one becomes one row of one channel."""
    x = b.of("f", rank=1)
    shape = shape_of(x)
    if len(shape) == 4:
        return x
    target = [1] * (4 - len(shape)) + list(shape)
    return graph.Reshape.build(x, result_type=b.typed(target, x)).operation.results[0]


def _window(b: Builder, kernel: Sequence[int]) -> dict[str, Any]:
    pads = [min(b.take(2), extent - 1) for extent in (*kernel, *kernel)]
    return {"strides": [1 + b.take(2), 1 + b.take(2)], "pads": pads, "dilations": [1, 1]}


def _convolution(b: Builder) -> None:
    x, name = _image(b), b.pick(("conv", "conv", "conv_transpose"))
    channels = shape_of(x)[1]
    kernel = [1 + b.take(2), 1 + b.take(2)]
    group, outputs = b.pick(((1, 2), (channels, channels)))
    shape = [outputs, channels // group] if name == "conv" else [channels, outputs // group]
    count = int(np.prod([*shape, *kernel]))
    weight = b.constant((np.arange(count) % 5 - 2.0).reshape(*shape, *kernel))
    if b.take(3) == 0:
        weight = b.of("f", 4, lambda s: list(s) == [*shape, *kernel])
    bias = [b.of("f", fits=lambda s: s == (outputs,))] if b.take(3) == 0 else []
    bias = [b.constant(np.arange(outputs) - 1)] if b.take(3) == 0 else bias
    more = {"output_padding": [0, 0]} if name == "conv_transpose" else {}
    b.add(name, x, weight, *bias, **_window(b, kernel), group=group, **more)


def _pool(b: Builder) -> None:
    x, kernel = _image(b), [1 + b.take(2), 1 + b.take(3)]
    more = {"ceil_mode": bool(b.take(2)), "count_include_pad": bool(b.take(2))}
    b.add("pool", x, kind=b.pick(("max", "average")), kernel=kernel, **_window(b, kernel), **more)


FAMILIES: dict[str, Callable[[Builder], None]] = {
    "unary": _unary, "binary": _binary, "linear": _linear, "scale": _scale, "integer": _integer, "compare": _compare,
    "logic": _logic, "where": _where, "cast": _cast, "reduce": _reduce, "sum": _sum, "along": _along, "norm": _norm,
    "transpose": _transpose, "reshape": _reshape, "broadcast": _broadcast, "slice": _slice, "concat": _concat,
    "pad": _pad, "gather": _gather, "matmul": _matmul, "gemm": _gemm, "convolution": _convolution, "pool": _pool,
    "smooth": _smooth,
}  # fmt: skip
LINEAR = ("linear", "linear", "scale", "scale", "scale", "sum", "transpose", "reshape", "broadcast", "where", "matmul",
          "matmul", "matmul", "slice", "unary", "compare")  # fmt: skip
"""Families of which `hoist-scales` and the laws of scaling have most to do."""
