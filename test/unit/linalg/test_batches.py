"""Which dimensions are batches of products: through products, element-wise work and reshapes, in both directions."""

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.lowering.linalg_to_spmd.batches import Batches
from mnc.lowering.linalg_to_spmd.reading import read_generic
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.placement.candidates import Contraction, Operand
from mnc.mncore_backend.placement.candidates.candidates import general_plans
from mnc.mncore_backend.placement.candidates.pointwise import possible_iterations
from mnc.mncore_backend.placement.candidates.space import default_digits

TEXT = """
#x = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#w = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#y = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#same = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#q = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0, d1, d4)>
#k = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4)>
#s = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
func.func @main(%x: tensor<6x5x8xf32>, %w: tensor<8x8xf32>) -> tensor<5x2x6x6xf32> {
  %empty = tensor.empty() : tensor<6x5x8xf32>
  %scaled = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<6x5x8xf32>) outs(%empty : tensor<6x5x8xf32>) {
    ^bb0(%i: f32, %j: f32):
      %m = arith.mulf %i, %i : f32
      linalg.yield %m : f32
  } -> tensor<6x5x8xf32>
  %projected = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%scaled, %w : tensor<6x5x8xf32>, tensor<8x8xf32>) outs(%empty : tensor<6x5x8xf32>) {
    ^bb0(%i: f32, %j: f32, %k: f32):
      %m = arith.mulf %i, %j : f32
      %s = arith.addf %k, %m : f32
      linalg.yield %s : f32
  } -> tensor<6x5x8xf32>
  %heads = tensor.expand_shape %projected [[0], [1], [2, 3]] output_shape [6, 5, 2, 4]
      : tensor<6x5x8xf32> into tensor<6x5x2x4xf32>
  %scores = tensor.empty() : tensor<5x2x6x6xf32>
  %product = linalg.generic {indexing_maps = [#q, #k, #s],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%heads, %heads : tensor<6x5x2x4xf32>, tensor<6x5x2x4xf32>) outs(%scores : tensor<5x2x6x6xf32>) {
    ^bb0(%i: f32, %j: f32, %k: f32):
      %m = arith.mulf %i, %j : f32
      %s = arith.addf %k, %m : f32
      linalg.yield %s : f32
  } -> tensor<5x2x6x6xf32>
  return %product : tensor<5x2x6x6xf32>
}
"""
"""Scores of attention of sequences of batches."""


def test_a_batch_is_one_before_and_after_the_product() -> None:
    with make_context() as context:
        module = ir.Module.parse(TEXT, context)
        operations = [op.operation for op in module.body.operations[0].regions[0].blocks[0].operations]
        batches = Batches(operations)
        found = [batches.of_result(read_generic(op.opview)) for op in operations if op.name == "linalg.generic"]
    assert found == [{1}, {1}, {0, 1}], "the second dimension of what is projected; batches and heads of the scores"


def first_over_groups(digits: dict[int, tuple]) -> list[int]:
    """The iteration dimensions over L2Bs."""
    return [d for d, own in digits.items() if any(digit.axis is Axis.L2B for digit in own)]


def test_rows_of_a_product_may_begin_with_the_batch() -> None:
    rows = Contraction((128, 8, 256, 256), Operand((0, 1, 3)), Operand((3, 2)), (0, 1, 2))
    with_batch = Contraction((128, 8, 256, 256), Operand((0, 1, 3)), Operand((3, 2)), (0, 1, 2), batches=frozenset({1}))
    assert not any(first_over_groups(plan.digits) == [1] for plan, _ in general_plans(rows))
    assert any(first_over_groups(plan.digits) == [1] for plan, _ in general_plans(with_batch))
    same = Contraction((8, 128, 256, 256), Operand((0, 1, 3)), Operand((3, 2)), (0, 1, 2), batches=frozenset({0}))
    assert len(general_plans(same)) == len(general_plans(rows)), "a batch that comes first adds nothing"


def test_loops_may_begin_with_the_batch() -> None:
    extents, operands = (128, 8, 256), [(None, (0, 1, 2))]
    default, by_batch = possible_iterations(extents, operands, batches=(1,))
    assert default == default_digits(extents)
    assert any(digit.axis is Axis.L2B for digit in by_batch[1])
    assert possible_iterations(extents, operands, batches=(0,)) == [default]
