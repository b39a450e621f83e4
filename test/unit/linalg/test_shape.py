"""graph-to-linalg, data movement: elements equal the ONNX reference for random shapes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.dialects import graph as g
from mnc.lowering.graph_to_linalg.reassociation import common_groups

from .harness import Program, normal

FEW = settings(max_examples=6, deadline=None)
SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def _regroup(data: st.DataObject, count: int) -> list[int]:
    """A random shape of `count` elements."""
    shape = []
    while count > 1:
        factor = data.draw(st.sampled_from([f for f in range(2, count + 1) if count % f == 0]))
        shape.append(factor)
        count //= factor
    for _ in range(data.draw(st.integers(0, 2))):
        shape.insert(data.draw(st.integers(0, len(shape))), 1)
    return shape


@settings(max_examples=200, deadline=None)
@given(count=st.integers(1, 360), data=st.data())
def test_common_groups_multiply_equally(count: int, data: st.DataObject) -> None:
    shape, target = _regroup(data, count), _regroup(data, count)
    groups = common_groups(shape, target)
    if shape and target:
        assert [i for before, _ in groups for i in before] == list(range(len(shape)))
        assert [i for _, after in groups for i in after] == list(range(len(target)))
    for before, after in groups:
        assert before and after
        assert math.prod(shape[i] for i in before) == math.prod(target[i] for i in after)


@FEW
@given(count=st.sampled_from([1, 12, 30, 36, 64]), data=st.data())
def test_reshape(count: int, data: st.DataObject) -> None:
    program = Program({"x": normal(1, *_regroup(data, count))})
    for _ in range(4):
        target = _regroup(data, count)
        program.add(
            lambda v, t=target: g.Reshape.build(v, result_type=g.tensor(t, ir.F32Type.get())),
            "Reshape", ["x"], [np.array(target, np.int64)],
        )  # fmt: skip
    program.check()


@FEW
@given(shape=SHAPES, data=st.data())
def test_transpose_broadcast_concat(shape: tuple[int, ...], data: st.DataObject) -> None:
    program = Program({"x": normal(1, *shape), "y": normal(2, *shape)})
    permutation = data.draw(st.permutations(range(len(shape))))
    program.add(lambda v: g.Transpose.build(v, permutation=permutation), "Transpose", ["x"], perm=permutation)
    wide = [2, *(3 if extent == 1 else extent for extent in shape)]
    program.add(
        lambda v: g.BroadcastTo.build(v, result_type=g.tensor(wide, ir.F32Type.get())),
        "Expand", ["x"], [np.array(wide)],
    )  # fmt: skip
    axis = data.draw(st.integers(0, len(shape) - 1))
    program.add(
        lambda a, b, c: g.Concat.build(g.Concat.build(a, b, axis=axis), c, axis=axis),
        "Concat",
        ["x", "y", "x"],
        axis=axis,
    )
    program.check()


@FEW
@given(shape=SHAPES, data=st.data())
def test_slice(shape: tuple[int, ...], data: st.DataObject) -> None:
    program = Program({"x": normal(1, *shape)})
    for _ in range(4):
        starts, limits, steps = [], [], []
        for extent in shape:
            step = data.draw(st.sampled_from([-2, -1, 1, 2, 3]))
            start = data.draw(st.integers(0, extent - 1))
            starts.append(start)
            limits.append(data.draw(st.integers(start + 1, extent) if step > 0 else st.integers(-1, start - 1)))
            steps.append(step)
        ends = [limit if limit >= 0 else -extent - 1 for limit, extent in zip(limits, shape, strict=True)]
        program.add(
            lambda v, a=starts, b=limits, c=steps: g.Slice.build(v, starts=a, limits=b, steps=c),
            "Slice", ["x"], [np.array(part) for part in (starts, ends, list(range(len(shape))), steps)],
        )  # fmt: skip
    program.check()


@settings(max_examples=3, deadline=None)
@given(shape=SHAPES, data=st.data())
def test_pad(shape: tuple[int, ...], data: st.DataObject) -> None:
    program = Program({"x": normal(1, *shape)})
    for mode in ("constant", "reflect", "edge", "wrap"):
        most = {"reflect": lambda e: e - 1, "wrap": lambda e: 2 * e + 1}.get(mode, lambda e: 3)
        low, high = ([data.draw(st.integers(0, most(extent))) for extent in shape] for _ in range(2))
        expected_mode = mode

        def build(v: ir.Value, lo: list[int] = low, hi: list[int] = high, m: str = mode) -> ir.OpView:
            return g.Pad.build(v, low=lo, high=hi, value=2.5, mode=m)

        constants = [np.array(low + high), np.array(2.5, np.float32)]
        program.add(build, "Pad", ["x"], constants, mode=expected_mode)
    program.check()


@FEW
@given(shape=SHAPES, indices=st.lists(st.integers(1, 3), max_size=2), data=st.data())
def test_gather(shape: tuple[int, ...], indices: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    which = np.random.default_rng(4).integers(-shape[axis], shape[axis], indices)
    program = Program({"x": normal(1, *shape), "i": which, "j": which.astype(np.int32)})
    for name in ("i", "j"):
        program.add(lambda *v: g.Gather.build(*v, axis=axis), "Gather", ["x", name], axis=axis)
    program.check()


@FEW
@given(shape=SHAPES, count=st.integers(1, 4), data=st.data())
def test_batch_gather(shape: tuple[int, ...], count: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    which = np.random.default_rng(4).integers(-shape[axis], shape[axis], (*shape[:axis], count, 1))
    program = Program({"x": normal(1, *shape), "i": which})

    def build(x: ir.Value, indices: ir.Value) -> ir.OpView:
        lines = ir.RankedTensorType.get([*shape[:axis], count], ir.RankedTensorType(indices.type).element_type)
        places = g.Reshape.build(indices, result_type=lines)
        return g.BatchGather.build(x, places, axis=axis, batch_dims=axis)

    program.add(build, "GatherND", ["x", "i"], batch_dims=axis)
    program.check()


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_constant(dtype: str) -> None:
    array = (np.arange(6).reshape(2, 3) * 40).astype(dtype)
    program = Program({"x": array})
    program.add(g.Concat.build, "Concat", ["x", "x"], axis=0)
    program.builders[0] = lambda values: g.Concat.build(values["x"], g.Constant.build(value=array), axis=0)
    program.check()
