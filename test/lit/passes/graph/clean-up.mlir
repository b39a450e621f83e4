// RUN: mnc-opt %s --pass-pipeline='builtin.module(canonicalize,cse)' | FileCheck %s

// Upstream passes understand graph operations, because these are pure.
// CHECK-LABEL: func.func @common
func.func @common(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[E:.*]] = "graph.exp"(%arg0)
  // CHECK-NEXT: "graph.add"(%[[E]], %[[E]])
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Attributes count: these two are different.
// CHECK-LABEL: func.func @different
func.func @different(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-2: graph.leaky_relu
  %0 = "graph.leaky_relu"(%x) {alpha = 0.1 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.leaky_relu"(%x) {alpha = 0.2 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @dead
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %arg0
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.log"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.constant"() {value = dense<1.0> : tensor<4xf32>} : () -> tensor<4xf32>
  return %x : tensor<4xf32>
}
