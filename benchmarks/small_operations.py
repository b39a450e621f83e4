"""Small operations whose extents fill nothing evenly, beside those of powers of two: steps, cycles, transfers.

    python -m benchmarks.small_operations [NAME ...] [--no-run]
    python -m benchmarks.small_operations --random 60 [--seed 0]

Each is compiled and run on the strict emulator, and its result is compared with the reference. Results go to
benchmarks/results/small_operations.json; `python -m benchmarks.compare OLD NEW` shows two of them side by side.
"""

import random
from collections.abc import Iterable
from typing import Any

import click
import onnx
import onnx.parser

import mnc
from benchmarks.results import write_results
from mnc.core.diagnostics import CompileError
from mnc.reference import compare, random_inputs
from mnc.report import report

PRECISION = "pseudo-single"


def model(inputs: str, *nodes: str) -> onnx.ModelProto:
    """A model of nodes as `onnx.parser` writes them; the last one makes the output y. `inputs`: "name[extents]"s."""
    entries = ", ".join(f"float[{part.partition('[')[2]} {part.partition('[')[0]}" for part in inputs.split())
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({entries}) => (float y) {{ {" ".join(nodes)} }}'
    proto = onnx.parser.parse_model(text)
    proto.graph.output[0].type.tensor_type.Clear()  # the parser reads "float" as a scalar
    return onnx.shape_inference.infer_shapes(proto, strict_mode=True)


def cell(batch: int, size: int, steps: int) -> onnx.ModelProto:
    """Steps of a recurrent cell with four gates, as exporters write it out: three sigmoids and a hyperbolic tangent of
    parts of one product."""
    nodes = ["c0 = Identity(c)", "h0 = Identity(h)"]
    for i in range(steps):
        nodes += [
            f"p{i} = MatMul(h{i}, w)",
            f"z{i} = Add(p{i}, x)",
            f"i{i}, f{i}, g{i}, o{i} = Split<axis=1>(z{i})",
            *(f"{gate}s{i} = Sigmoid({gate}{i})" for gate in "ifo"),
            f"gs{i} = Tanh(g{i})",
            f"a{i} = Mul(fs{i}, c{i})",
            f"b{i} = Mul(is{i}, gs{i})",
            f"c{i + 1} = Add(a{i}, b{i})",
            f"t{i} = Tanh(c{i + 1})",
            f"h{i + 1} = Mul(os{i}, t{i})",
        ]
    inputs = f"x[{batch},{4 * size}] c[{batch},{size}] h[{batch},{size}] w[{size},{4 * size}]"
    return model(inputs, *nodes, f"y = Identity(h{steps})")


def attention(tokens: int, heads: int, size: int) -> onnx.ModelProto:
    """Attention of `heads` heads of `size` over `tokens` tokens, from queries, keys and values by token."""
    split = f"[1,{tokens},{heads},{size}]"
    return model(
        f"q{split} k{split} v{split}",
        "a = Transpose<perm=[0,2,1,3]>(q)",
        "b = Transpose<perm=[0,2,3,1]>(k)",
        "c = Transpose<perm=[0,2,1,3]>(v)",
        "d = MatMul(a, b)",
        "e = Softmax<axis=-1>(d)",
        "f = MatMul(e, c)",
        "y = Transpose<perm=[0,2,1,3]>(f)",
    )


def depthwise(channels: int, extent: int, kernel: int) -> onnx.ModelProto:
    """A depthwise convolution that keeps the extents."""
    pad, shape = kernel // 2, f"[{kernel},{kernel}]"
    attributes = f"group={channels}, kernel_shape={shape}, pads=[{pad},{pad},{pad},{pad}]"
    inputs = f"x[1,{channels},{extent},{extent}] w[{channels},1,{kernel},{kernel}]"
    return model(inputs, f"y = Conv<{attributes}>(x, w)")


def convolution(channels: int, out: int, extent: int, kernel: int) -> onnx.ModelProto:
    """A convolution that keeps the extents."""
    pad = kernel // 2
    attributes = f"kernel_shape=[{kernel},{kernel}], pads=[{pad},{pad},{pad},{pad}]"
    inputs = f"x[1,{channels},{extent},{extent}] w[{out},{channels},{kernel},{kernel}]"
    return model(inputs, f"y = Conv<{attributes}>(x, w)")


def pooling(channels: int, extent: int, kind: str = "MaxPool") -> onnx.ModelProto:
    """Pooling 3x3 with stride 2."""
    attributes = "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]"
    return model(f"x[1,{channels},{extent},{extent}]", f"y = {kind}<{attributes}>(x)")


def product(left: str, right: str) -> onnx.ModelProto:
    """A matrix product; shapes as "[..]"."""
    return model(f"a{left} b{right}", "y = MatMul(a, b)")


def softmax(shape: str, axis: int) -> onnx.ModelProto:
    """A softmax along an axis."""
    return model(f"x{shape}", f"y = Softmax<axis={axis}>(x)")


def layer_norm(rows: int, columns: int) -> onnx.ModelProto:
    """A layer normalization of the last axis."""
    inputs = f"x[{rows},{columns}] s[{columns}] b[{columns}]"
    return model(inputs, "y = LayerNormalization<axis=-1>(x, s, b)")


def concatenation(left: str, right: str, axis: int) -> onnx.ModelProto:
    """Two tensors behind each other, added to themselves so that the result is made on the chip."""
    return model(f"a{left} b{right}", f"c = Concat<axis={axis}>(a, b)", "y = Add(c, c)")


def transposition(shape: str, order: str) -> onnx.ModelProto:
    """A softmax along the last axis on either side of a transposition: no layout suits both."""
    return model(f"x{shape}", "a = Softmax<axis=-1>(x)", f"b = Transpose<perm={order}>(a)", "y = Softmax<axis=-1>(b)")


def bert_layer(tokens: int, width: int = 128, heads: int = 4) -> onnx.ModelProto:
    """An encoder layer with all weights as inputs, products by token."""
    size, hidden = width // heads, 4 * width
    square, split = f"[{width},{width}]", f"[1,{tokens},{heads},{size}]"
    inputs = f"x[1,{tokens},{width}] wq{square} wk{square} wv{square} wo{square} "
    inputs += f"w1[{width},{hidden}] b1[{hidden}] w2[{hidden},{width}] b2[{width}] s[{width}] t[{width}]"
    shapes = f"shape = Constant<value_ints={split}>()", f"flat = Constant<value_ints=[1,{tokens},{width}]>()"
    heads_of = [
        line
        for name, order in (("q", "[0,2,1,3]"), ("k", "[0,2,3,1]"), ("v", "[0,2,1,3]"))
        for line in (
            f"{name}0 = MatMul(x, w{name})",
            f"{name}1 = Reshape({name}0, shape)",
            f"{name} = Transpose<perm={order}>({name}1)",
        )
    ]
    return model(
        inputs,
        *shapes,
        *heads_of,
        "scores = MatMul(q, k)",
        "p = Softmax<axis=-1>(scores)",
        "o0 = MatMul(p, v)",
        "o1 = Transpose<perm=[0,2,1,3]>(o0)",
        "o2 = Reshape(o1, flat)",
        "o = MatMul(o2, wo)",
        "r = Add(x, o)",
        "n = LayerNormalization<axis=-1>(r, s, t)",
        "h0 = MatMul(n, w1)",
        "h1 = Add(h0, b1)",
        "h = Relu(h1)",
        "f0 = MatMul(h, w2)",
        "f1 = Add(f0, b2)",
        "f = Add(n, f1)",
        "y = LayerNormalization<axis=-1>(f, s, t)",
    )


def table() -> dict[str, onnx.ModelProto]:
    """The operations by name."""
    return {
        "matmul 1x4x65x65 . 1x4x65x32": product("[1,4,65,65]", "[1,4,65,32]"),
        "matmul 1x4x64x64 . 1x4x64x32": product("[1,4,64,64]", "[1,4,64,32]"),
        "matmul 16x65 . 65x16": product("[16,65]", "[65,16]"),
        "matmul 16x64 . 64x16": product("[16,64]", "[64,16]"),
        "matmul 1x4x42x42 . 1x4x42x4": product("[1,4,42,42]", "[1,4,42,4]"),
        "matmul 13x37 . 37x11": product("[13,37]", "[37,11]"),
        "softmax 1x8x65x16 axis 2": softmax("[1,8,65,16]", 2),
        "softmax 1x8x64x16 axis 2": softmax("[1,8,64,16]", 2),
        "softmax 1x4x65x65 axis 3": softmax("[1,4,65,65]", 3),
        "depthwise 5x5 1x144x14x14": depthwise(144, 14, 5),
        "depthwise 5x5 1x24x16x16": depthwise(24, 16, 5),
        "depthwise 7x7 1x24x16x16": depthwise(24, 16, 7),
        "depthwise 3x3 1x96x13x13": depthwise(96, 13, 3),
        "conv 3x3 1x17x13x13": convolution(17, 17, 13, 3),
        "conv 3x3 1x16x16x16": convolution(16, 16, 16, 3),
        "maxpool 3x3/2 1x19x27x27": pooling(19, 27),
        "averagepool 3x3/2 1x64x13x13": pooling(64, 13, "AveragePool"),
        "layernorm 65x128": layer_norm(65, 128),
        "layernorm 64x128": layer_norm(64, 128),
        "concat 1x1x65,1x64x65 axis 1": concatenation("[1,1,65]", "[1,64,65]", 1),
        "concat 7x13,7x29 axis 1": concatenation("[7,13]", "[7,29]", 1),
        "transpose 65x33": transposition("[65,33]", "[1,0]"),
        "transpose 5x13x21": transposition("[5,13,21]", "[2,0,1]"),
        "attention 65 tokens, 4 heads of 32": attention(65, 4, 32),
        "attention 64 tokens, 4 heads of 32": attention(64, 4, 32),
        "bert layer 65 tokens": bert_layer(65),
        "bert layer 64 tokens": bert_layer(64),
    }


def random_operation(rng: random.Random) -> tuple[str, onnx.ModelProto]:
    """A small operation with random extents, mostly odd."""

    def extent(most: int) -> int:
        return rng.choice([n for n in range(2, most + 1) if n % 2 or rng.random() < 0.2])

    kind = rng.choice(["matmul", "batched", "softmax", "depthwise", "conv", "pool", "norm", "concat", "transpose"])
    a, b, c, d = extent(80), extent(80), extent(40), extent(9)
    if kind == "matmul":
        return f"matmul {a}x{b} . {b}x{c}", product(f"[{a},{b}]", f"[{b},{c}]")
    if kind == "batched":
        return f"matmul {d}x{a}x{b} . {d}x{b}x{c}", product(f"[{d},{a},{b}]", f"[{d},{b},{c}]")
    if kind == "softmax":
        axis = rng.choice([1, 2])
        return f"softmax {d}x{a}x{c} axis {axis}", softmax(f"[{d},{a},{c}]", axis)
    if kind == "depthwise":
        kernel, size = rng.choice([3, 5, 7]), rng.randint(7, 20)
        return f"depthwise {kernel}x{kernel} {b}x{size}x{size}", depthwise(b, size, kernel)
    if kind == "conv":
        kernel, size = rng.choice([1, 3, 5]), rng.randint(7, 20)
        return f"conv {kernel}x{kernel} {c}x{size}x{size} to {d}", convolution(c, d, size, kernel)
    if kind == "pool":
        size = rng.randint(7, 30)
        return f"maxpool {c}x{size}x{size}", pooling(c, size)
    if kind == "norm":
        return f"layernorm {a}x{b}", layer_norm(a, b)
    if kind == "concat":
        return f"concat {a}x{c}, {b}x{c}", concatenation(f"[{a},{c}]", f"[{b},{c}]", 0)
    return f"transpose {d}x{c}x{a}", transposition(f"[{d},{c},{a}]", rng.choice(["[2,0,1]", "[1,2,0]", "[0,2,1]"]))


def measure(proto: onnx.ModelProto, *, run: bool = True) -> dict[str, Any]:
    """Figures of one operation; with `run` also its error over the bound of what rounding explains."""
    executable = mnc.compile(proto)
    costs = report(executable)
    figures = {key: costs["total"][key] for key in ("steps", "idle_steps", "cycles", "mv_transfers")}
    figures |= {"ideal_cycles": costs["ideal"]["cycles"], "of_ideal": costs["of_ideal"]}
    if run:
        inputs = random_inputs(proto, {}, 0)
        compared = compare(proto, executable.run(inputs), inputs, PRECISION)
        figures["error_of_bound"] = max(each.error / each.bound if each.bound else each.error for each in compared)
    return figures


def _rows(chosen: Iterable[tuple[str, onnx.ModelProto]], run: bool) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, proto in chosen:
        try:
            results[name] = figures = measure(proto, run=run)
        except CompileError as error:
            results[name] = figures = {"failed": str(error).partition("\n")[0]}
        cells = " ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items()
        )
        print(f"{name:36} {cells}", flush=True)
    return results


@click.command()
@click.argument("names", nargs=-1)
@click.option("--run/--no-run", default=True, help="Run on the emulator and compare with the reference.")
@click.option("--random", "count", default=0, help="So many random operations in place of the table.")
@click.option("--seed", default=0, show_default=True, help="Of the random operations.")
def main(names: tuple[str, ...], run: bool, count: int, seed: int) -> None:
    """Measure the operations whose names contain one of NAMES; all, and the results kept, without."""
    rng = random.Random(seed)
    chosen = dict(random_operation(rng) for _ in range(count)) if count else table()
    picked = [(name, proto) for name, proto in chosen.items() if not names or any(part in name for part in names)]
    results = _rows(picked, run)
    print("steps in all:", sum(figures.get("steps", 0) for figures in results.values()))
    if not names:
        print(write_results("random_operations" if count else "small_operations", results))


if __name__ == "__main__":
    main()
