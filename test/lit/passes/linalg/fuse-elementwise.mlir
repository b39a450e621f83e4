// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,fuse-elementwise)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,fuse-elementwise)' --explain 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,fuse-elementwise{into-reductions=false})' | FileCheck %s --check-prefix=APART

// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: linalg.generic
  // CHECK: math.exp
  // CHECK-NEXT: math.tanh
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @into_reduction
// APART-LABEL: func.func @into_reduction
func.func @into_reduction(%x: tensor<4x5xf32>) -> tensor<4xf32> {
  // CHECK: iterator_types = ["parallel", "reduction"]
  // CHECK: math.exp
  // CHECK-NEXT: arith.addf
  // APART: math.exp
  // APART-NEXT: linalg.yield
  // APART: iterator_types = ["parallel", "reduction"]
  %0 = "graph.exp"(%x) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = "graph.reduce"(%0) {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<4x5xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A transposition becomes a map of the contraction; bias and relu become one marked epilogue.
// CHECK-LABEL: func.func @dense
func.func @dense(%x: tensor<4x5xf32>, %w: tensor<3x5xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  %t = "graph.transpose"(%w) {permutation = array<i64: 1, 0>} : (tensor<3x5xf32>) -> tensor<5x3xf32>
  // CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x5xf32>, tensor<3x5xf32>)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.addf
  // CHECK: linalg.generic {{.*}} attrs = {mnc.epilogue}
  // CHECK: arith.addf
  // CHECK-NEXT: arith.maximumf
  %0 = "graph.matmul"(%x, %t) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %1 = "graph.add"(%0, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %2 = "graph.relu"(%1) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

// WHY-DAG: FuseElementwise refused 'linalg.generic': the consumer is a contraction
// CHECK-LABEL: func.func @not_into_contraction
func.func @not_into_contraction(%x: tensor<4x5xf32>, %w: tensor<5x3xf32>) -> tensor<4x3xf32> {
  // CHECK: math.exp
  // CHECK-NEXT: linalg.yield
  %0 = "graph.exp"(%x) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = "graph.matmul"(%0, %w) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// WHY-DAG: FuseElementwise refused 'linalg.generic': the consumer reads an element more than once
// CHECK-LABEL: func.func @not_recomputed
func.func @not_recomputed(%x: tensor<5xf32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // CHECK: math.exp
  // CHECK-NEXT: linalg.yield
  // CHECK: arith.mulf
  %0 = "graph.exp"(%x) : (tensor<5xf32>) -> tensor<5xf32>
  %1 = "graph.mul"(%0, %y) : (tensor<5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}

// A factor that is one number everywhere stays a matrix where it gives rows or columns; as a scale it becomes a number.
// WHY-DAG: FuseElementwise refused 'linalg.generic': a sum of products with one number has no rows or columns
// CHECK-LABEL: func.func @equal_weights
func.func @equal_weights(%x: tensor<4x5xf32>) -> tensor<4x3xf32> {
  // CHECK: linalg.generic {{.*}} ins(%arg0, %{{.*}} : tensor<4x5xf32>, tensor<5x3xf32>)
  %w = "graph.constant"() {value = dense<5.000000e-01> : tensor<5x3xf32>} : () -> tensor<5x3xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @sum_with_equal_weights
func.func @sum_with_equal_weights(%x: tensor<4x5xf32>) -> tensor<4xf32> {
  // CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<4x5xf32>)
  %w = "graph.constant"() {value = dense<5.000000e-01> : tensor<5xf32>} : () -> tensor<5xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Products that a sum takes in keep the precision of element-wise work; a product of matrices has that of the options.
// CHECK-LABEL: func.func @weighted_sum
func.func @weighted_sum(%x: tensor<3x7x8xf32>, %z: tensor<3x7x1xf32>) -> tensor<3x8xf32> {
  // CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<3x7x8xf32>, tensor<3x7x1xf32>) {{.*}} attrs = {mncore.precision = "single"}
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.addf
  %0 = "graph.mul"(%x, %z) : (tensor<3x7x8xf32>, tensor<3x7x1xf32>) -> tensor<3x7x8xf32>
  %1 = "graph.reduce"(%0) {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<3x7x8xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}
