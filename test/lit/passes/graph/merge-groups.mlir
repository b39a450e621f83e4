// RUN: mnc-opt %s --pass-pipeline='builtin.module(merge-groups{lanes=2})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(merge-groups{lanes=2})' --explain 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: mnc-opt %s --pass-pipeline='builtin.module(merge-groups)' | FileCheck %s --check-prefix=WIDE

// Two groups of three channels, and one result each, fill vectors of two together: their kernels lie along the diagonal.
// WIDE-LABEL: func.func @merged
// WIDE: group = 2
// CHECK-LABEL: func.func @merged
func.func @merged(%x: tensor<1x6x4xf32>) -> tensor<1x2x4xf32> {
  // CHECK: %[[W:.*]] = "graph.constant"() {onnx.name = "w.merged_groups", value = dense<{{\[\[\[}}1.000000e+00], [2.000000e+00], [3.000000e+00], [0.000000e+00], [0.000000e+00], [0.000000e+00]], {{\[\[}}0.000000e+00], [0.000000e+00], [0.000000e+00], [4.000000e+00], [5.000000e+00], [6.000000e+00]]]>
  // CHECK: "graph.conv"(%arg0, %[[W]]) {dilations = array<i64: 1>, group = 1 : i64
  %w = "graph.constant"() {value = dense<[[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]> : tensor<2x3x1xf32>, onnx.name = "w"} : () -> tensor<2x3x1xf32>
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x6x4xf32>, tensor<2x3x1xf32>) -> tensor<1x2x4xf32>
  return %0 : tensor<1x2x4xf32>
}

// WHY-DAG: Merge refused 'graph.conv': groups of 2 and 2 channels are multiples of 2 as they are
// CHECK-LABEL: func.func @even
func.func @even(%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  // CHECK: group = 2
  %w = "graph.constant"() {value = dense<1.0> : tensor<4x2x1xf32>} : () -> tensor<4x2x1xf32>
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x4x4xf32>, tensor<4x2x1xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}

// WHY-DAG: Merge refused 'graph.conv': 3 groups do not make whole ones of 2
// CHECK-LABEL: func.func @odd
func.func @odd(%x: tensor<1x9x4xf32>) -> tensor<1x3x4xf32> {
  // CHECK: group = 3
  %w = "graph.constant"() {value = dense<1.0> : tensor<3x3x1xf32>} : () -> tensor<3x3x1xf32>
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 3 : i64} : (tensor<1x9x4xf32>, tensor<3x3x1xf32>) -> tensor<1x3x4xf32>
  return %0 : tensor<1x3x4xf32>
}

// WHY-DAG: Merge refused 'graph.conv': a group has one channel, and needs no matrix
// WHY-DAG: Merge refused 'graph.conv': its weight is not constant
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<1x6x4xf32>, %w: tensor<2x3x1xf32>) -> (tensor<1x6x4xf32>, tensor<1x2x4xf32>) {
  // CHECK: group = 6
  // CHECK: group = 2
  %d = "graph.constant"() {value = dense<1.0> : tensor<6x1x1xf32>} : () -> tensor<6x1x1xf32>
  %0 = "graph.conv"(%x, %d) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 6 : i64} : (tensor<1x6x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4xf32>
  %1 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x6x4xf32>, tensor<2x3x1xf32>) -> tensor<1x2x4xf32>
  return %0, %1 : tensor<1x6x4xf32>, tensor<1x2x4xf32>
}
