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

// A difference from what a reduction accumulates is a sum of negated values.
// CHECK-LABEL: func.func @negated_sum
// CHECK: %[[N:.*]] = arith.negf
// CHECK: arith.addf %{{.*}}, %[[N]]
// CHECK-NOT: arith.subf
// CHECK: return
func.func @negated_sum(%x: tensor<6xf32>, %z: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<6xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.subf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @negated_integers
// CHECK: %[[Z:.*]] = arith.constant 0 : i32
// CHECK: %[[N:.*]] = arith.subi %[[Z]]
// CHECK: arith.addi %{{.*}}, %[[N]]
// CHECK: return
func.func @negated_integers(%x: tensor<6xi32>, %z: tensor<i32>) -> tensor<i32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<6xi32>) outs(%z : tensor<i32>) {
  ^bb0(%a: i32, %o: i32):
    %s = arith.subi %o, %a : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  return %r : tensor<i32>
}
