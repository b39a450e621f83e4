"""Cycles of small programs that may not rise: `python -m benchmarks.ratchet [--write]`.

The programs are those whose figures depend most on decisions made one by one: small operations, products, convolutions
and training steps that compile within seconds. `test/numerics/test_cycles.py` compiles them again and fails where one
takes more cycles than benchmarks/results/ratchet.json says. After a change that is worth its price, `--write` keeps
the new figures, and the changelog says why they rose.
"""

import json
from collections.abc import Callable

import click

import mnc
from benchmarks import matrix_products, small_operations
from benchmarks.results import DIRECTORY, write_results
from mnc.executable import Executable
from mnc.report import report
from mnc.training.models import perceptron
from mnc.training.step import training_step

ALLOWED = 1.02
"""Cycles over those that are kept, at most."""
SLOW = "bert layer"
"""Operations of the table that take too long to compile for a test."""
Program = Callable[[], Executable]


def _training(widths: list[int], batch: int) -> Program:
    return lambda: training_step(perceptron(widths), batch=batch).compile()


def _product(sizes: tuple[int, int, int], *, constant: bool) -> Program:
    return lambda: mnc.compile(matrix_products.model(sizes, constant=constant))


def _node(inputs: str, *nodes: str) -> Program:
    return lambda: mnc.compile(small_operations.model(inputs, *nodes))


def programs() -> dict[str, Program]:
    """What compiles each program, by its name."""
    table = {name: lambda proto=proto: mnc.compile(proto) for name, proto in small_operations.table().items()}
    small = {name: program for name, program in table.items() if not name.startswith(SLOW)}
    return small | {
        "convolution 3x3 1x64x28x28": lambda: mnc.compile(small_operations.convolution(64, 64, 28, 3)),
        "convolution 1x1 1x256x14x14 to 64": lambda: mnc.compile(small_operations.convolution(256, 64, 14, 1)),
        "argmax 3x1000": _node("x[3,1000]", "y = ArgMax<axis=1>(x)"),
        "topk 3x1000, first 17": _node("x[3,1000]", "k = Constant<value_ints=[17]>()", "y, i = TopK(x, k)"),
        "transposed convolution 3x3 1x17x13x13": _node(
            "x[1,17,13,13] w[17,17,3,3]", "y = ConvTranspose<pads=[1,1,1,1]>(x, w)"
        ),
        "transposed depthwise convolution 4x4/2 1x16x16x16": _node(
            "x[1,16,16,16] w[16,1,4,4]", "y = ConvTranspose<pads=[1,1,1,1], strides=[2,2], group=16>(x, w)"
        ),
        "nearest neighbours of 1x31x5x13, twice as many": _node(
            "x[1,31,5,13]",
            "e = Exp(x)",
            "s = Constant<value_floats=[1.0,1.0,2.0,2.0]>()",
            'y = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(e, , s)',
        ),
        "convolution behind nearest neighbours, 1x64x8x8 twice as many": _node(
            "x[1,64,8,8] v[64,64,3,3] w[64,64,3,3]",
            "h = Conv<pads=[1,1,1,1]>(x, v)",
            "s = Constant<value_floats=[1.0,1.0,2.0,2.0]>()",
            'e = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(h, , s)',
            "y = Conv<pads=[1,1,1,1]>(e, w)",
        ),
        "softmax 128x9x17 axis 0": lambda: mnc.compile(small_operations.softmax("[128,9,17]", 0)),
        "log-softmax 2x129x42x3 axis 0": _node("x[2,129,42,3]", "y = LogSoftmax<axis=0>(x)"),
        "running sum of 17x100": _node("x[17,100]", "a = Constant<value_int=1>()", "y = CumSum(x, a)"),
        "four steps of a cell with gates, 2x37": lambda: mnc.compile(small_operations.cell(2, 37, 4)),
        "convolution 3x3 1x1x28x28 to 32": _node("x[1,1,28,28] w[32,1,3,3]", "y = Conv<pads=[1,1,1,1]>(x, w)"),
        "convolution 5x5 1x1x28x28 to 6": _node("x[1,1,28,28] w[6,1,5,5]", "y = Conv<pads=[2,2,2,2]>(x, w)"),
        "two depthwise convolutions with the same weights": _node(
            "x[2,12,20,20] z[2,12,20,20] w[12,1,3,3]",
            "y = Conv<pads=[1,1,1,1], group=12>(x, w)",
            "y1 = Conv<pads=[1,1,1,1], group=12>(z, w)",
        ),
        "two results of each of 16 channels, 3x3 4x16x28x28": _node(
            "x[4,16,28,28] w[32,1,3,3]", "y = Conv<pads=[1,1,1,1], group=16>(x, w)"
        ),
        "average of 18x18, 1x16x40x40": _node("x[1,16,40,40]", "y = AveragePool<kernel_shape=[18,18]>(x)"),
        "transposed convolution 3x3/2 8x64x8x8 to 32": _node(
            "x[8,64,8,8] w[64,32,3,3]",
            "r = Relu(x)",
            "y = ConvTranspose<pads=[1,1,1,1], strides=[2,2], output_padding=[1,1]>(r, w)",
        ),
        "gradient of 3x3 weights, 16x24x14x14 to 32": _node(
            "x[16,24,14,14] g[16,32,14,14]",
            "r = Relu(x)",
            "a = Transpose<perm=[1,0,2,3]>(r)",
            "b = Transpose<perm=[1,0,2,3]>(g)",
            "y = Conv<pads=[1,1,1,1]>(a, b)",
        ),
        "product 256x256x256": _product((256, 256, 256), constant=False),
        "product 300x200x100, constant factor": _product((300, 200, 100), constant=True),
        "training step 64-32-10 batch 360": _training([64, 32, 10], 360),
        "training step 1024-16-16 batch 256": _training([1024, 16, 16], 256),
    }


def kept() -> dict[str, int]:
    """The cycles that each program may take, by its name."""
    return json.loads((DIRECTORY / "ratchet.json").read_text())["results"]


@click.command()
@click.option("--write/--no-write", default=False, help="Keep these figures from now on.")
def main(write: bool) -> None:
    """Compile all programs; print their cycles beside those that are kept."""
    before = kept() if (DIRECTORY / "ratchet.json").exists() else {}
    cycles: dict[str, int] = {}
    for name, program in programs().items():
        cycles[name] = report(program())["total"]["cycles"]
        old = before.get(name)
        print(f"{name:40} {cycles[name]:9,}", f"{old:9,} {cycles[name] / old:7.3f}" if old else "", flush=True)
    if write:
        print(write_results("ratchet", cycles))


if __name__ == "__main__":
    main()
