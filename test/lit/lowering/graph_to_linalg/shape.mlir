// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg)' | FileCheck %s

// CHECK-DAG: #[[BACKWARDS:.*]] = affine_map<(d0) -> (-d0 + 2)>
// CHECK-DAG: #[[LINES:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>

// CHECK-LABEL: func.func @reshape
func.func @reshape(%x: tensor<4x6xf32>) -> (tensor<24xf32>, tensor<4x2x3xf32>, tensor<8x3xf32>) {
  // CHECK: tensor.collapse_shape %arg0 {{\[\[}}0, 1]]
  %0 = "graph.reshape"(%x) : (tensor<4x6xf32>) -> tensor<24xf32>
  // CHECK-NEXT: tensor.expand_shape %arg0 {{\[\[}}0], [1, 2]]
  %1 = "graph.reshape"(%x) : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: %[[FLAT:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1]]
  // CHECK-NEXT: tensor.expand_shape %[[FLAT]] {{\[\[}}0, 1]]
  %2 = "graph.reshape"(%x) : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return %0, %1, %2 : tensor<24xf32>, tensor<4x2x3xf32>, tensor<8x3xf32>
}

// CHECK-LABEL: func.func @slice
func.func @slice(%x: tensor<8xf32>) -> tensor<3xf32> {
  // CHECK: tensor.extract_slice %arg0[2] [3] [2]
  // CHECK: linalg.generic {indexing_maps = [#[[BACKWARDS]], #{{.*}}]
  %0 = "graph.slice"(%x) {starts = array<i64: 6>, limits = array<i64: 1>, steps = array<i64: -2>} : (tensor<8xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @concat
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x7xf32> {
  // CHECK: tensor.concat dim(1) %arg0, %arg1, %arg0
  %0 = "graph.concat"(%x, %y) {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = "graph.concat"(%0, %x) {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  return %1 : tensor<2x7xf32>
}

// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<5x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  // CHECK: arith.cmpi slt
  // CHECK: tensor.extract %arg0
  %0 = "graph.gather"(%x, %i) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @batch_gather
func.func @batch_gather(%x: tensor<2x3x4xf32>, %i: tensor<2x5xi64>) -> tensor<2x3x5xf32> {
  // CHECK: linalg.generic {indexing_maps = [#[[LINES]], {{.*}}ins(%arg1
  // CHECK: %[[N:.*]] = linalg.index 0
  // CHECK: %[[C:.*]] = linalg.index 1
  // CHECK: tensor.extract %arg0[%[[N]], %[[C]], %{{.*}}]
  %0 = "graph.batch_gather"(%x, %i) {axis = 2 : i64, batch_dims = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// CHECK-LABEL: func.func @weight
func.func @weight() -> tensor<2xf32> {
  // CHECK: arith.constant {onnx.name = "w"} dense<[1.000000e+00, 2.000000e+00]>
  %0 = "graph.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>, onnx.name = "w"} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
