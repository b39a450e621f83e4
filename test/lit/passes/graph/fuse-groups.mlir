// RUN: mnc-opt %s --pass-pipeline='builtin.module(fuse-groups)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(fuse-groups)' --explain 2>&1 | FileCheck %s --check-prefix=WHY

// exp | matmul, add, relu | abs, sum | reciprocal
// WHY-DAG: FuseGroups refused 'graph.matmul': 'graph.exp' stays apart: the operands of a contraction are laid out before it runs
// WHY-DAG: FuseGroups refused 'graph.abs': 'graph.relu' stays apart: its result has several users, so that it is stored anyway
// WHY-DAG: FuseGroups refused 'graph.reciprocal': 'graph.reduce' stays apart: the result of a reduction is known only after its last element
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %b: tensor<5xf32>) -> (tensor<4x5xf32>, tensor<4xf32>) {
  // CHECK: graph.exp{{.*}} {mnc.group = 0 : i64}
  // CHECK: graph.matmul{{.*}} {mnc.group = 1 : i64}
  // CHECK: graph.add{{.*}} {mnc.group = 1 : i64}
  // CHECK: graph.relu{{.*}} {mnc.group = 1 : i64}
  // CHECK: graph.abs{{.*}} {mnc.group = 2 : i64}
  // CHECK: graph.reduce{{.*}}mnc.group = 2 : i64}
  // CHECK: graph.reciprocal{{.*}} {mnc.group = 3 : i64}
  %0 = "graph.exp"(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = "graph.matmul"(%0, %w) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %2 = "graph.add"(%1, %b) : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %3 = "graph.relu"(%2) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %4 = "graph.abs"(%3) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %5 = "graph.reduce"(%4) {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<4x5xf32>) -> tensor<4xf32>
  %6 = "graph.reciprocal"(%5) : (tensor<4xf32>) -> tensor<4xf32>
  return %3, %6 : tensor<4x5xf32>, tensor<4xf32>
}

// WHY-DAG: FuseGroups refused 'graph.reduce': 'graph.add' stays apart: a group holds one reduction or contraction
// WHY-DAG: FuseGroups refused 'graph.transpose': 'graph.matmul' stays apart: only element-wise work can follow at the output of a contraction
// WHY-DAG: FuseGroups refused 'graph.softmax': 'graph.transpose' stays apart: an opaque operation runs by itself
func.func @apart(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %b: tensor<5xf32>) -> (tensor<5x4xf32>, tensor<4xf32>) {
  %0 = "graph.matmul"(%x, %w) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = "graph.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %2 = "graph.softmax"(%1) {axis = 0 : i64} : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %3 = "graph.matmul"(%x, %w) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %4 = "graph.add"(%3, %b) : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %5 = "graph.reduce"(%4) {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<4x5xf32>) -> tensor<4xf32>
  return %2, %5 : tensor<5x4xf32>, tensor<4xf32>
}
