// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(space-to-depth,canonicalize)' | FileCheck %s
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(space-to-depth)' --explain 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=WHY

// Blocks of 2x2 elements of 3 channels become 12 channels; windows of 3x3 touch 2x2 blocks. One row and one column of
// zeros stand around the image.
// CHECK-LABEL: func.func @image
// CHECK: %[[P:.*]] = "graph.pad"(%arg0) {high = array<i64: 0, 0, 1, 1>, low = array<i64: 0, 0, 1, 1>
// CHECK: %[[R:.*]] = "graph.reshape"(%[[P]]) : (tensor<1x3x10x10xf32>) -> tensor<1x3x5x2x5x2xf32>
// CHECK: %[[T:.*]] = "graph.transpose"(%[[R]]) {permutation = array<i64: 0, 1, 3, 5, 2, 4>}
// CHECK: %[[B:.*]] = "graph.reshape"(%[[T]]) : (tensor<1x3x2x2x5x5xf32>) -> tensor<1x12x5x5xf32>
// CHECK: "graph.conv"(%[[B]], %{{.*}}) {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x12x5x5xf32>, tensor<4x12x2x2xf32>) -> tensor<1x4x4x4xf32>
func.func @image(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<4x3x3x3xf32>} : () -> tensor<4x3x3x3xf32>
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// -----

// Eight channels fill a vector as they are.
// CHECK-LABEL: func.func @features
// CHECK: "graph.conv"(%arg0, %{{.*}}) {{.*}}strides = array<i64: 2, 2>
// WHY: ToChannels refused 'graph.conv': 8 channels fill vectors as well as 32
func.func @features(%x: tensor<1x8x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<4x8x3x3xf32>} : () -> tensor<4x8x3x3xf32>
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x8x8x8xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// -----

// The weight of a training step is no constant.
// CHECK-LABEL: func.func @training
// CHECK: "graph.conv"(%arg0, %arg1) {{.*}}strides = array<i64: 2>
// WHY: ToChannels refused 'graph.conv': its weight is not constant
func.func @training(%x: tensor<1x1x9xf32>, %w: tensor<4x1x3xf32>) -> tensor<1x4x4xf32> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 2>} : (tensor<1x1x9xf32>, tensor<4x1x3xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}
