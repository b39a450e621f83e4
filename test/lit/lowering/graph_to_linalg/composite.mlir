// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg)' | FileCheck %s

// The maximum is subtracted, so exp cannot overflow.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK: arith.maximumf
  // CHECK: arith.subf
  // CHECK: math.exp
  // CHECK: arith.addf
  // CHECK: arith.divf
  // CHECK: arith.mulf
  // CHECK-NOT: "graph.
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
