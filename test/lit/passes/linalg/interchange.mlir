// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,interchange{order=2,0,1})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,interchange{order=2,0,1})' --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,interchange{order=0,0,1})' 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: {{.*}}[0, 0, 1] is not a permutation of its loops

// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d1, d0)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK: linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[C]]], iterator_types = ["reduction", "parallel", "parallel"]}
func.func @main(%x: tensor<4x5xf32>, %w: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// WHY: Interchange refused 'linalg.generic': it has 2 loops and the order names 3
func.func @dot(%x: tensor<5xf32>, %w: tensor<5x3xf32>) -> tensor<3xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<5xf32>, tensor<5x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
