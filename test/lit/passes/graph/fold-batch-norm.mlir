// RUN: mnc-opt %s --pass-pipeline='builtin.module(fold-batch-norm)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(fold-batch-norm)' --explain 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: mnc-opt %s --pass-pipeline='builtin.module(fold-batch-norm)' --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=NAMES

// The names of both nodes survive.
// NAMES-LABEL: func.func @named
// NAMES: "graph.conv"{{.*}} loc(fused["first"{{.*}}, "second"
func.func @named(%x: tensor<1x1x4xf32>) -> tensor<1x1x4xf32> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<1x1x1xf32>} : () -> tensor<1x1x1xf32>
  %p = "graph.constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x4xf32> loc("first")
  %1 = "graph.batch_norm"(%0, %p, %p, %p, %p) {epsilon = 0.0 : f32} : (tensor<1x1x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4xf32> loc("second")
  return %1 : tensor<1x1x4xf32>
}

// Channel 0: factor 2 / sqrt(4) = 1, offset 1 - 3 * 1; channel 1: factor 6 / sqrt(9) = 2, offset 0 - 1 * 2.
// CHECK-LABEL: func.func @conv
func.func @conv(%x: tensor<1x1x4xf32>) -> tensor<1x2x3xf32> {
  // CHECK-DAG: %[[W:.*]] = "graph.constant"() {onnx.name = "w.batch_norm", value = dense<{{\[\[\[}}1.000000e+00, 2.000000e+00]], {{\[\[}}6.000000e+00, 8.000000e+00]]]>
  // CHECK-DAG: %[[B:.*]] = "graph.constant"() {value = dense<-2.000000e+00> : tensor<2xf32>}
  // CHECK: "graph.conv"(%arg0, %[[W]], %[[B]])
  // CHECK-NEXT: return
  %w = "graph.constant"() {value = dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>, onnx.name = "w"} : () -> tensor<2x1x2xf32>
  %s = "graph.constant"() {value = dense<[2.0, 6.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %b = "graph.constant"() {value = dense<[1.0, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %m = "graph.constant"() {value = dense<[3.0, 1.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %v = "graph.constant"() {value = dense<[4.0, 9.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64} : (tensor<1x1x4xf32>, tensor<2x1x2xf32>) -> tensor<1x2x3xf32>
  %1 = "graph.batch_norm"(%0, %s, %b, %m, %v) {epsilon = 0.0 : f32} : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  return %1 : tensor<1x2x3xf32>
}

// WHY-DAG: FoldBatchNorm refused 'graph.batch_norm': a parameter or a weight is not constant
// WHY-DAG: FoldBatchNorm refused 'graph.batch_norm': its operand is not the result of a contraction
// CHECK-LABEL: func.func @not_constant
func.func @not_constant(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>, %p: tensor<2xf32>) -> tensor<4x2xf32> {
  // CHECK-COUNT-2: graph.batch_norm
  %0 = "graph.matmul"(%x, %w) : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %1 = "graph.batch_norm"(%0, %p, %p, %p, %p) {epsilon = 0.0 : f32} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = "graph.batch_norm"(%1, %p, %p, %p, %p) {epsilon = 0.0 : f32} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// WHY-DAG: FoldBatchNorm refused 'graph.batch_norm': the contraction has other uses
func.func @used_twice(%x: tensor<4x1xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = "graph.constant"() {value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>} : () -> tensor<1x2xf32>
  %p = "graph.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %1 = "graph.batch_norm"(%0, %p, %p, %p, %p) {epsilon = 0.0 : f32} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}
