// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,tile{sizes=2,0,0},tensor-to-memref,linalg-to-affine)' | FileCheck %s

// The tile loop is an affine loop too, and its slices are folded into the accesses.
// CHECK-LABEL: func.func @main
// CHECK-NOT: memref.subview
// CHECK: affine.for %[[TILE:.*]] = 0 to 4 step 2 {
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 3 {
// CHECK-NEXT: affine.for %[[K:.*]] = 0 to 5 {
// CHECK-NEXT: affine.load %arg0[%[[TILE]] + %[[I]], %[[K]]]
// CHECK: affine.store
func.func @main(%a: tensor<4x5xf32>, %b: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
