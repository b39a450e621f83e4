// RUN: mnc-opt %s --pass-pipeline='builtin.module(drop-empty)' | FileCheck %s

// A sum over nothing is what it starts from.
// CHECK-LABEL: func.func @sum_of_nothing
// CHECK: %[[ZERO:.*]] = linalg.fill
// CHECK-NOT: linalg.generic
// CHECK: return %[[ZERO]]
func.func @sum_of_nothing(%x: tensor<4x0xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x0xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Pieces without elements leave a concatenation.
// CHECK-LABEL: func.func @pieces
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>
// CHECK-NOT: tensor.concat
// CHECK: return %[[X]]
func.func @pieces(%x: tensor<3xf32>, %y: tensor<0xf32>) -> tensor<3xf32> {
  %r = tensor.concat dim(0) %x, %y : (tensor<3xf32>, tensor<0xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// A view of what nobody has written yet has its shape only.
// CHECK-LABEL: func.func @unwritten
// CHECK: %[[E:.*]] = tensor.empty() : tensor<2x2xf32>
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.fill {{.*}} outs(%[[E]]
func.func @unwritten() -> tensor<2x2xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %v = tensor.expand_shape %e [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %f = linalg.fill ins(%z : f32) outs(%v : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %f : tensor<2x2xf32>
}
