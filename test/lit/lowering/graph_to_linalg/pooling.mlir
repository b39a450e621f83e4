// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg)' | FileCheck %s

// CHECK-DAG: #[[WINDOW:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 * 2 + d4, d3 * 2 + d5)>
// CHECK-DAG: #[[KERNEL:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>

// CHECK-LABEL: func.func @max
func.func @max(%x: tensor<1x2x7x7xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK: %[[LOW:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: tensor.pad %arg0 low[0, 0, 1, 1] high[0, 0, 1, 1]
  // CHECK: tensor.yield %[[LOW]]
  // CHECK: linalg.generic {indexing_maps = [#[[WINDOW]], #[[KERNEL]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%padded, %{{.*}} : tensor<1x2x9x9xf32>, tensor<3x3xf32>)
  // CHECK: arith.maximumf
  %0 = "graph.pool"(%x) {kind = "max", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false} : (tensor<1x2x7x7xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// Windows at the border average fewer elements: a table of reciprocals instead of one factor.
// CHECK-LABEL: func.func @average
func.func @average(%x: tensor<1x2x4xf32>) -> tensor<1x2x2xf32> {
  // CHECK: arith.addf
  // CHECK: arith.constant dense<[0.333333343, 5.000000e-01]> : tensor<2xf32>
  // CHECK: arith.mulf
  %0 = "graph.pool"(%x) {kind = "average", kernel = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 0, 1>, dilations = array<i64: 1>, ceil_mode = false, count_include_pad = false} : (tensor<1x2x4xf32>) -> tensor<1x2x2xf32>
  return %0 : tensor<1x2x2xf32>
}
