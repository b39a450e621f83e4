// RUN: mnc-opt %s | mnc-opt | FileCheck %s

// CHECK-LABEL: func.func @contraction
func.func @contraction(%a: tensor<5x2x3xf32>, %b: tensor<3x4xf32>, %v: tensor<3xf32>, %c: tensor<1x4xf32>) {
  // CHECK: "graph.matmul"(%{{.*}}) : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  %0 = "graph.matmul"(%a, %b) : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  // CHECK: "graph.matmul"(%{{.*}}) : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  %1 = "graph.matmul"(%v, %b) : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  // CHECK: "graph.gemm"(%{{.*}}, %{{.*}}, %{{.*}}) {{{.*}}transA = true, transB = false} : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %2 = "graph.gemm"(%b, %b, %c) {alpha = 1.0 : f32, beta = 0.5 : f32, transA = true, transB = false} : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  // CHECK: "graph.gemm"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) {
  %3 = "graph.gemm"(%b, %b) {alpha = 1.0 : f32, beta = 1.0 : f32, transA = false, transB = true} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
  return
}

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x4x7x5xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>) {
  // CHECK: "graph.conv"{{.*}} -> tensor<1x6x4x5xf32>
  %0 = "graph.conv"(%x, %w, %b) {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 2} : (tensor<1x4x7x5xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x5xf32>
  // CHECK: "graph.pool"{{.*}} -> tensor<1x4x4x3xf32>
  %1 = "graph.pool"(%x) {kind = "max", kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = true, count_include_pad = false} : (tensor<1x4x7x5xf32>) -> tensor<1x4x4x3xf32>
  return
}

// CHECK-LABEL: func.func @reduction
func.func @reduction(%x: tensor<2x3x4xf32>) {
  // CHECK: "graph.reduce"(%{{.*}}) {axes = array<i64: 0, 2>, keepdims = false, kind = "sum"} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %0 = "graph.reduce"(%x) {kind = "sum", axes = array<i64: 0, 2>, keepdims = false} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  // CHECK: "graph.arg_reduce"{{.*}} -> tensor<2x1x4xi64>
  %1 = "graph.arg_reduce"(%x) {kind = "max", axis = 1, keepdims = true, select_last = false} : (tensor<2x3x4xf32>) -> tensor<2x1x4xi64>
  // CHECK: "graph.softmax"(%{{.*}}) {axis = 2 : i64}
  %2 = "graph.softmax"(%x) {axis = 2} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x3x4xf32>, %i: tensor<5xi64>, %j: tensor<2x5xi64>) {
  // CHECK: "graph.transpose"(%{{.*}}) {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %0 = "graph.transpose"(%x) {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK: "graph.reshape"(%{{.*}}) : (tensor<2x3x4xf32>) -> tensor<24xf32>
  %1 = "graph.reshape"(%x) : (tensor<2x3x4xf32>) -> tensor<24xf32>
  // CHECK: "graph.broadcast_to"(%{{.*}}) : (tensor<24xf32>) -> tensor<2x24xf32>
  %2 = "graph.broadcast_to"(%1) : (tensor<24xf32>) -> tensor<2x24xf32>
  // CHECK: "graph.concat"(%{{.*}}) {axis = 1 : i64} : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x48xf32>
  %3 = "graph.concat"(%2, %2) {axis = 1} : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x48xf32>
  // CHECK: "graph.slice"{{.*}} -> tensor<2x2x4xf32>
  %4 = "graph.slice"(%x) {starts = array<i64: 0, 2, 3>, limits = array<i64: 2, -1, -1>, steps = array<i64: 1, -2, -1>} : (tensor<2x3x4xf32>) -> tensor<2x2x4xf32>
  // CHECK: "graph.pad"{{.*}} -> tensor<2x5x5xf32>
  %5 = "graph.pad"(%x) {low = array<i64: 0, 1, 0>, high = array<i64: 0, 1, 1>, value = 0.0 : f32, mode = "constant"} : (tensor<2x3x4xf32>) -> tensor<2x5x5xf32>
  // CHECK: "graph.gather"{{.*}} -> tensor<2x5x4xf32>
  %6 = "graph.gather"(%x, %i) {axis = 1} : (tensor<2x3x4xf32>, tensor<5xi64>) -> tensor<2x5x4xf32>
  // CHECK: "graph.batch_gather"{{.*}} -> tensor<2x3x5xf32>
  %7 = "graph.batch_gather"(%x, %j) {axis = 2, batch_dims = 1} : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x3x5xf32>
  return
}

// Unused operations are free of effects and disappear.
// RUN: mnc-opt %s --pass-pipeline='builtin.module(canonicalize)' | FileCheck %s --check-prefix=DEAD
// DEAD-NOT: graph.
