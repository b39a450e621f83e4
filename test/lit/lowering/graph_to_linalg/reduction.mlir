// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg)' | FileCheck %s

// CHECK-LABEL: func.func @mean
func.func @mean(%x: tensor<2x5x3xf32>) -> tensor<2x1x3xf32> {
  // CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<2x3xf32>)
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]
  // CHECK: ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
  // CHECK-NEXT: arith.addf %[[IN]], %[[OUT]] : f32
  // CHECK: arith.constant 2.000000e-01 : f32
  // CHECK-NEXT: arith.mulf
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [2, 1, 3]
  %0 = "graph.reduce"(%x) {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<2x5x3xf32>) -> tensor<2x1x3xf32>
  return %0 : tensor<2x1x3xf32>
}

// CHECK-LABEL: func.func @maximum
func.func @maximum(%x: tensor<4xf32>) -> tensor<f32> {
  // CHECK: arith.constant 0xFF800000 : f32
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]
  // CHECK: arith.maximumf
  %0 = "graph.reduce"(%x) {kind = "max", axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @arg_max
func.func @arg_max(%x: tensor<3x4xf32>) -> tensor<3xi64> {
  // The machine combines floats across processing elements, so indices stay floats until one of them is chosen.
  // CHECK: arith.maximumf
  // CHECK: arith.constant dense<{{\[\[}}0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00]]> : tensor<1x4xf32>
  // CHECK: arith.cmpf oeq
  // CHECK-NEXT: arith.constant 3.000000e+00 : f32
  // CHECK-NEXT: arith.select
  // CHECK: arith.minimumf
  // CHECK: arith.fptosi %{{.*}} : f32 to i64
  %0 = "graph.arg_reduce"(%x) {kind = "max", axis = 1 : i64, keepdims = false, select_last = false} : (tensor<3x4xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}
