"""Merges of dimensions move behind reductions and broadcasts: the split in common, and the numbers stay."""

import math

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnc
from mnc.passes.graph.tensors.merges import find_merge
from mnc.reference import compare, random_inputs
from mnc.report import report


def merged(shape: list[int], ends: list[bool]) -> tuple[int, ...]:
    """Neighbours multiplied up to each end."""
    result, product = [], 1
    for extent, end in zip(shape, ends, strict=True):
        product *= extent
        if end:
            result.append(product)
            product = 1
    return (*result, product)


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 5, 13]), st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_the_split_is_one_of_both_shapes(drawn: list[tuple[int, bool, bool]]) -> None:
    fine = [extent for extent, _, _ in drawn]
    source, target = merged(fine, [first for _, first, _ in drawn]), merged(fine, [second for _, _, second in drawn])
    found = find_merge(source, target)
    if found is None:
        return
    assert math.prod(found.shape) == math.prod(fine) and all(extent > 1 for extent in found.shape)
    assert [i for group in found.groups for i in group] == list(range(len(found.shape)))
    assert tuple(math.prod(found.shape[i] for i in group) for group in found.groups) == target
    assert any(len(group) > 1 for group in found.groups)
    assert find_merge(source, found.shape) is None, "the split merges nothing"


@pytest.mark.parametrize(("source", "target"), [((6, 4), (8, 3)), ((0, 4), (0,)), ((24,), (2, 3, 4)), ((1, 7), (7,))])
def test_nothing_to_merge(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    assert find_merge(source, target) is None


NORM = """<ir_version: 9, opset_import: ["" : 18]>
g (float[2,6,5,7] x, float[6,1,1] s, float[6,6,1,1] w) => (float[2,6,5,7] y)
<int64[3] groups = {2, 3, -1}, int64[4] shape = {2, 6, 5, 7}, float[3] one = {1, 1, 1}, float[3] zero = {0, 0, 0}> {
    c = Conv (x, w)
    r = Reshape (c, groups)
    n = InstanceNormalization (r, one, zero)
    m = Reshape (n, shape)
    y = Mul (m, s)
}"""
"""How PyTorch exports a group normalisation."""


def test_a_group_normalisation_moves_nothing() -> None:
    model = onnx.parser.parse_model(NORM)
    program = mnc.compile(model, mnc.Options(precision="single"))
    inputs = random_inputs(model, {}, 0)
    assert all(row.passed for row in compare(model, program.run(inputs), inputs, "single"))
    plain = mnc.compile(
        onnx.parser.parse_model(NORM.replace("int64[3] groups = {2, 3, -1}", "int64[5] groups = {2, 3, 2, 5, 7}"))
    )
    assert np.isclose(report(program)["total"]["cycles"], report(plain)["total"]["cycles"], rtol=0.1)
