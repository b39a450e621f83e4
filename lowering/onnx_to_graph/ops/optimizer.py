"""Optimizers of the training domain: inputs are R, T, then groups of n tensors, outputs groups of n updated ones."""

from collections.abc import Callable
from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of


def _scaled(value: Any, factor: float) -> Any:
    return graph.Mul.build(value, constant(factor, like=value)).result


def _add(a: Any, b: Any) -> Any:
    return graph.Add.build(a, b).result


def _grouped(node: Node, groups: int, update: Callable[..., list[Any]]) -> list[Any]:
    """Call `update` with (X, G, state...) of every tensor; outputs are grouped as the inputs, without G."""
    operands = node.operands(2)
    count, rest = divmod(len(operands), groups)
    if rest or not count:
        raise node.error(f"has {len(operands)} tensors, which are not {groups} groups of equal size")
    results = [update(*operands[i::count]) for i in range(count)]
    return [result[group] for group in range(groups - 1) for result in results]


def _regularized(node: Node, x: Any, g: Any) -> Any:
    coefficient = float(node.attribute("norm_coefficient", 0.0))
    return _add(_scaled(x, coefficient), g) if coefficient else g


def _step_count(node: Node, like: Any) -> Any:
    return cast(node.operand(1), element_type_of(like))


def _is_first(count: Any) -> Any:
    """Whether no update was done before."""
    return graph.LessOrEqual.build(count, constant(0, like=count)).result


def momentum(node: Node) -> list[Any]:
    """V' = alpha V + beta G (beta counts as 1 in the first step), X' = X - R V', or with Nesterov's look ahead."""
    alpha, beta = float(node.attribute("alpha")), float(node.attribute("beta"))
    mode = node.attribute("mode")
    if mode not in ("nesterov", "standard"):
        raise node.error(f"mode '{mode}' does not exist", hint="use standard or nesterov")
    nesterov = mode == "nesterov"

    def update(x: Any, g: Any, v: Any) -> list[Any]:
        rate, count = node.operand(0), _step_count(node, x)
        g = _regularized(node, x, g)
        factor = graph.Where.build(_is_first(count), constant(1, like=x), constant(beta, like=x)).result
        velocity = _add(_scaled(v, alpha), graph.Mul.build(factor, g).result)
        step = _add(g, _scaled(velocity, alpha)) if nesterov else velocity
        return [graph.Sub.build(x, graph.Mul.build(cast(rate, element_type_of(x)), step).result).result, velocity]

    return _grouped(node, 3, update)


def adagrad(node: Node) -> list[Any]:
    """H' = H + G**2, X' = X - R / (1 + T decay) * G / (sqrt(H') + epsilon)."""
    decay, epsilon = float(node.attribute("decay_factor", 0.0)), float(node.attribute("epsilon", 1e-6))

    def update(x: Any, g: Any, h: Any) -> list[Any]:
        rate, count = cast(node.operand(0), element_type_of(x)), _step_count(node, x)
        g = _regularized(node, x, g)
        rate = graph.Div.build(rate, _add(_scaled(count, decay), constant(1, like=x))).result
        square = _add(h, graph.Mul.build(g, g).result)
        deviation = _add(graph.Sqrt.build(square).result, constant(epsilon, like=x))
        step = graph.Div.build(graph.Mul.build(rate, g).result, deviation).result
        return [graph.Sub.build(x, step).result, square]

    return _grouped(node, 3, update)


def adam(node: Node) -> list[Any]:
    """V' = alpha V + (1 - alpha) G, H' = beta H + (1 - beta) G**2, X' = X - R' V' / (sqrt(H') + epsilon)."""
    alpha, beta = float(node.attribute("alpha", 0.9)), float(node.attribute("beta", 0.999))
    epsilon, after = (float(node.attribute(n, d)) for n, d in (("epsilon", 1e-6), ("norm_coefficient_post", 0.0)))

    def update(x: Any, g: Any, v: Any, h: Any) -> list[Any]:
        g = _regularized(node, x, g)
        first = _add(_scaled(v, alpha), _scaled(g, 1 - alpha))
        second = _add(_scaled(h, beta), _scaled(graph.Mul.build(g, g).result, 1 - beta))
        deviation = _add(graph.Sqrt.build(second).result, constant(epsilon, like=x))
        rate = _unbiased_rate(node, x, alpha, beta)
        step = graph.Div.build(graph.Mul.build(rate, first).result, deviation).result
        x = graph.Sub.build(x, step).result
        return [_scaled(x, 1 - after) if after else x, first, second]

    return _grouped(node, 4, update)


def _unbiased_rate(node: Node, like: Any, alpha: float, beta: float) -> Any:
    """R sqrt(1 - beta**T) / (1 - alpha**T), or R itself in the first step (T = 0)."""
    rate, count = cast(node.operand(0), element_type_of(like)), _step_count(node, like)
    is_first, one = _is_first(count), constant(1, like=like)
    exponent = graph.Where.build(is_first, one, count).result  # any power but the zeroth: the quotient is not used then
    lacks = [
        graph.Sub.build(one, graph.Pow.build(constant(base, like=like), exponent).result).result
        for base in (alpha, beta)
    ]
    corrected = graph.Div.build(graph.Mul.build(rate, graph.Sqrt.build(lacks[1]).result).result, lacks[0]).result
    return graph.Where.build(is_first, rate, corrected).result
