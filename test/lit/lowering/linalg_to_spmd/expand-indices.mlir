// RUN: mnc-opt %s --pass-pipeline='builtin.module(expand-indices)' | FileCheck %s

// A loop index becomes an operand that holds 0, 1, 2, ... along its dimension.
// CHECK-LABEL: func.func @positions
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6xf32>
// CHECK: %[[I:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi64>
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[I]] : tensor<6xf32>, tensor<6xi64>)
// CHECK-NOT: linalg.index
// CHECK: return
func.func @positions(%x: tensor<6xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %s = arith.addf %a, %f : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}
