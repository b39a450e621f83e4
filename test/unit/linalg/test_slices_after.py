"""Which dimensions slices are taken of, of a product or of what is made of it, and of which none are."""

import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.lowering.linalg_to_spmd.reading import read_generic
from mnc.lowering.linalg_to_spmd.strides import sliced_of_result

TEXT = """
#all = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#weights = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#made = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#same = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#bias = affine_map<(d0, d1, d2) -> (d2)>
func.func @main(%x: tensor<6x4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>, %states: tensor<5xf32>)
    -> (tensor<1x4x16xf32>, tensor<6x4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x4x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x4x16xf32>) -> tensor<6x4x16xf32>
  %product = linalg.generic {indexing_maps = [#all, #weights, #made],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<6x4x8xf32>, tensor<8x16xf32>) outs(%start : tensor<6x4x16xf32>) {
    ^bb0(%i: f32, %j: f32, %k: f32):
      %m = arith.mulf %i, %j : f32
      %s = arith.addf %k, %m : f32
      linalg.yield %s : f32
  } -> tensor<6x4x16xf32>
  %sum = linalg.generic {indexing_maps = [#same, #bias, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%product, %b : tensor<6x4x16xf32>, tensor<16xf32>) outs(%empty : tensor<6x4x16xf32>) {
    ^bb0(%i: f32, %j: f32, %k: f32):
      %s = arith.addf %i, %j : f32
      linalg.yield %s : f32
  } -> tensor<6x4x16xf32>
  SLICE
}
"""
STEP = """%step = tensor.extract_slice %sum[2, 0, 0] [1, 4, 16] [1, 1, 1] : tensor<6x4x16xf32> to tensor<1x4x16xf32>
  return %step, %sum : tensor<1x4x16xf32>, tensor<6x4x16xf32>"""
OUTER = """%steps = tensor.expand_shape %sum [[0, 1], [2], [3]] output_shape [6, 1, 4, 16]
      : tensor<6x4x16xf32> into tensor<6x1x4x16xf32>
  %wide = tensor.empty() : tensor<6x5x4x16xf32>
  %outer = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>,
      affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%steps, %states : tensor<6x1x4x16xf32>, tensor<5xf32>) outs(%wide : tensor<6x5x4x16xf32>) {
    ^bb0(%i: f32, %j: f32, %k: f32):
      %s = arith.mulf %i, %j : f32
      linalg.yield %s : f32
  } -> tensor<6x5x4x16xf32>
  %part = tensor.extract_slice %outer[0, 0, 0, 0] [1, DIM1, 4, 8] [1, 1, 1, 1]
      : tensor<6x5x4x16xf32> to tensor<1xDIM1x4x8xf32>
  %other = tensor.empty() : tensor<1x4x16xf32>
  return %other, %sum : tensor<1x4x16xf32>, tensor<6x4x16xf32>"""
NO_STEP = """%other = tensor.empty() : tensor<1x4x16xf32>
  return %other, %sum : tensor<1x4x16xf32>, tensor<6x4x16xf32>"""


def sliced(end: str) -> frozenset[int]:
    with make_context() as context:
        module = ir.Module.parse(TEXT.replace("SLICE", end), context)
        block = module.body.operations[0].regions[0].blocks[0]
        product = next(op for op in block.operations if op.operation.name == "linalg.generic")
        return sliced_of_result(read_generic(product), product.operation.results[0])


def test_the_steps_of_a_sequence_behind_a_bias() -> None:
    assert sliced(STEP) == {0}


def test_no_slices() -> None:
    assert sliced(NO_STEP) == frozenset()


@pytest.mark.parametrize("states", [1, 5])
def test_behind_a_reshape_and_what_repeats_it(states: int) -> None:
    """Dimensions that the product does not have are no dimensions of it."""
    assert sliced(OUTER.replace("DIM1", str(states))) == {0, 2}
