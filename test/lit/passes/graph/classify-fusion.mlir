// RUN: mnc-opt %s --pass-pipeline='builtin.module(classify-fusion)' | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>) -> tensor<4xf32> {
  // CHECK: "graph.constant"() {value = dense<1.000000e+00> : tensor<5xf32>} :
  // CHECK: graph.matmul{{.*}} {mnc.fusion = "complex-out-fusable"}
  // CHECK: graph.add{{.*}} {mnc.fusion = "injective"}
  // CHECK: graph.transpose{{.*}} {mnc.fusion = "injective"
  // CHECK: graph.softmax{{.*}}mnc.fusion = "opaque"
  // CHECK: graph.reduce{{.*}}mnc.fusion = "reduction"
  %c = "graph.constant"() {value = dense<1.0> : tensor<5xf32>} : () -> tensor<5xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = "graph.add"(%0, %c) : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %2 = "graph.transpose"(%1) {permutation = array<i64: 1, 0>} : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %3 = "graph.softmax"(%2) {axis = 0 : i64} : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %4 = "graph.reduce"(%3) {kind = "max", axes = array<i64: 0>, keepdims = false} : (tensor<5x4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
