// RUN: mnc-opt %s --pass-pipeline='builtin.module(split-elementwise{live=2})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(split-elementwise)' | FileCheck %s --check-prefix=ROOM

// Three results wait for the last additions: the one that is wanted last becomes a tensor.
// CHECK-LABEL: func.func @chain
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<8x4xf32>)
// CHECK: math.exp
// CHECK-NEXT: linalg.yield
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<8x4xf32>)
// CHECK-NOT: math.exp
// CHECK: math.tanh
// CHECK: math.absf
// CHECK: return %[[B]]
// ROOM-LABEL: func.func @chain
// ROOM-COUNT-1: linalg.generic
// ROOM-NOT: linalg.generic
// ROOM: return
func.func @chain(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = math.exp %a : f32
    %2 = math.tanh %1 : f32
    %3 = math.absf %2 : f32
    %4 = arith.addf %3, %2 : f32
    %5 = arith.addf %4, %1 : f32
    linalg.yield %5 : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// A part of a sum is a tensor of all that is summed; the sum itself stays.
// CHECK-LABEL: func.func @sum
// CHECK: %[[A:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<8x4xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0, %[[A]] : tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK-NOT: math.exp
// CHECK: arith.addf
// CHECK: return
func.func @sum(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x4xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = math.exp %a : f32
    %2 = math.tanh %a : f32
    %3 = math.absf %a : f32
    %4 = arith.addf %3, %2 : f32
    %5 = arith.mulf %4, %1 : f32
    %6 = arith.addf %o, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
