// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg)' | FileCheck %s

// CHECK-DAG: #[[LEFT:.*]] = affine_map<(d0, d1, d2, d3) -> (0, d1, d3)>
// CHECK-DAG: #[[RIGHT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG: #[[TRANSPOSED:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[WINDOW:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 2 + d5, d3 * 2 + d6 * 3)>
// CHECK-DAG: #[[POINT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>
// CHECK-DAG: #[[GROUPS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>

// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<1x4x6xf32>, %b: tensor<3x6x5xf32>) -> tensor<3x4x5xf32> {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {indexing_maps = [#[[LEFT]], #[[RIGHT]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
  // CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[SUM:.*]]: f32):
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[A]], %[[B]]
  // CHECK-NEXT: arith.addf %[[SUM]], %[[PRODUCT]]
  %0 = "graph.matmul"(%a, %b) : (tensor<1x4x6xf32>, tensor<3x6x5xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}

// CHECK-LABEL: func.func @gemm
func.func @gemm(%a: tensor<4x6xf32>, %b: tensor<5x6xf32>, %c: tensor<5xf32>) -> tensor<4x5xf32> {
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[TRANSPOSED]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]}
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %arg2 : tensor<4x5xf32>, tensor<5xf32>)
  // CHECK-NOT: arith.mulf
  %0 = "graph.gemm"(%a, %b, %c) {alpha = 1.0 : f32, beta = 1.0 : f32, transA = false, transB = true} : (tensor<4x6xf32>, tensor<5x6xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @conv
func.func @conv(%x: tensor<1x3x9x9xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<1x4x5x3xf32> {
  // CHECK: tensor.pad %arg0 low[0, 0, 1, 0] high[0, 0, 1, 0]
  // CHECK: linalg.generic {indexing_maps = [#[[WINDOW]], #{{.*}}, #{{.*}}]
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 3>, group = 1 : i64} : (tensor<1x3x9x9xf32>, tensor<4x3x3x2xf32>) -> tensor<1x4x5x3xf32>
  return %0 : tensor<1x4x5x3xf32>
}

// A pointwise convolution is a plain contraction: no kernel loops, no padding.
// CHECK-LABEL: func.func @pointwise_conv
func.func @pointwise_conv(%x: tensor<1x3x9x9xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x9x9xf32> {
  // CHECK-NOT: tensor.pad
  // CHECK: linalg.generic {indexing_maps = [#[[POINT]], #{{.*}}, #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x3x9x9xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x9x9xf32>
  return %0 : tensor<1x4x9x9xf32>
}

// A kernel that covers its data is a plain contraction over channels and positions.
// CHECK-LABEL: func.func @covering_conv
func.func @covering_conv(%x: tensor<2x4x5x3xf32>, %w: tensor<6x4x5x3xf32>) -> tensor<2x6x1x1xf32> {
  // CHECK-DAG: tensor.collapse_shape %arg0 {{.*}} into tensor<2x60xf32>
  // CHECK-DAG: tensor.collapse_shape %arg1 {{.*}} into tensor<6x60xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[POINT]], #{{.*}}, #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<2x4x5x3xf32>, tensor<6x4x5x3xf32>) -> tensor<2x6x1x1xf32>
  return %0 : tensor<2x6x1x1xf32>
}

// CHECK-LABEL: func.func @grouped_conv
func.func @grouped_conv(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x7xf32> {
  // CHECK: tensor.expand_shape %arg0 {{.*}} into tensor<1x2x2x9xf32>
  // CHECK: tensor.expand_shape %arg1 {{.*}} into tensor<2x3x2x3xf32>
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[GROUPS]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
  // CHECK: tensor.collapse_shape %{{.*}} into tensor<1x6x7xf32>
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x7xf32>
  return %0 : tensor<1x6x7xf32>
}
