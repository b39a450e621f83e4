// RUN: mnc-opt %s --pass-pipeline='builtin.module(split-products{lanes=2})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(split-products{lanes=2})' --explain 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: mnc-opt %s --pass-pipeline='builtin.module(split-products)' --explain 2>&1 | FileCheck %s --check-prefix=WIDE

// Queries and keys: each has a matrix and a bias of its own.
// WIDE-DAG: Split refused 'graph.slice': a slice of columns 0 to 2 is no multiple of 8
// CHECK-LABEL: func.func @shared_out
// CHECK-DAG: %[[WQ:.*]] = "graph.constant"() {onnx.name = "w.columns_0", value = dense<{{\[\[}}1.0{{.*}}, 2.0{{.*}}], [5.0{{.*}}, 6.0{{.*}}]]>
// CHECK-DAG: %[[WK:.*]] = "graph.constant"() {onnx.name = "w.columns_2", value = dense<{{\[\[}}3.0{{.*}}, 4.0{{.*}}], [7.0{{.*}}, 8.0{{.*}}]]>
// CHECK-DAG: %[[BQ:.*]] = "graph.constant"() {{.*}}dense<[1.0{{.*}}, 2.0{{.*}}]>
// CHECK-DAG: %[[BK:.*]] = "graph.constant"() {{.*}}dense<[3.0{{.*}}, 4.0{{.*}}]>
// CHECK-DAG: %[[PQ:.*]] = "graph.matmul"(%arg0, %[[WQ]])
// CHECK-DAG: %[[Q:.*]] = "graph.add"(%[[PQ]], %[[BQ]])
// CHECK-DAG: %[[PK:.*]] = "graph.matmul"(%arg0, %[[WK]])
// CHECK-DAG: %[[K:.*]] = "graph.add"(%[[PK]], %[[BK]])
// CHECK: return %[[Q]], %[[K]]
func.func @shared_out(%x: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
  %w = "graph.constant"() {onnx.name = "w", value = dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %b = "graph.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  %1 = "graph.add"(%0, %b) : (tensor<5x4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
  %2 = "graph.slice"(%1) {starts = array<i64: 0, 0>, limits = array<i64: 5, 2>, steps = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  %3 = "graph.slice"(%1) {starts = array<i64: 0, 2>, limits = array<i64: 5, 4>, steps = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  return %2, %3 : tensor<5x2xf32>, tensor<5x2xf32>
}

// Parts that overlap would be computed twice.
// WHY-DAG: Split refused 'graph.slice': the product has other uses, or is not shared out among a few slices
// CHECK-LABEL: func.func @overlapping
// CHECK: graph.matmul
// CHECK-NOT: graph.matmul
// CHECK: return
func.func @overlapping(%x: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x3xf32>) {
  %w = "graph.constant"() {value = dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  %1 = "graph.slice"(%0) {starts = array<i64: 0, 0>, limits = array<i64: 5, 2>, steps = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  %2 = "graph.slice"(%0) {starts = array<i64: 0, 1>, limits = array<i64: 5, 4>, steps = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<5x3xf32>
  return %1, %2 : tensor<5x2xf32>, tensor<5x3xf32>
}

// A matrix that comes at run time stays whole.
// WHY-DAG: Split refused 'graph.slice': the second factor is no constant matrix
// CHECK-LABEL: func.func @two_inputs
// CHECK: graph.matmul
// CHECK: graph.slice
func.func @two_inputs(%x: tensor<5x2xf32>, %w: tensor<2x4xf32>) -> tensor<5x2xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  %1 = "graph.slice"(%0) {starts = array<i64: 0, 0>, limits = array<i64: 5, 2>, steps = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  return %1 : tensor<5x2xf32>
}
