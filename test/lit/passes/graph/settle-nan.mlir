// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(settle-nan)' | FileCheck %s

// Arithmetic reads %x, so no run brings NaN in it.
// CHECK-LABEL: func.func @dropped
// CHECK: %[[H:.*]] = "graph.cast"(%arg0)
// CHECK-NOT: graph.where
// CHECK: "graph.exp"(%[[H]])
func.func @dropped(%x: tensor<3xf32>) -> tensor<3xf16> {
  %nan = "graph.constant"() {value = dense<0x7E00> : tensor<f16>} : () -> tensor<f16>
  %0 = "graph.cast"(%x) : (tensor<3xf32>) -> tensor<3xf16>
  %1 = "graph.is_nan"(%x) : (tensor<3xf32>) -> tensor<3xi1>
  %2 = "graph.where"(%1, %nan, %0) : (tensor<3xi1>, tensor<f16>, tensor<3xf16>) -> tensor<3xf16>
  %3 = "graph.exp"(%2) : (tensor<3xf16>) -> tensor<3xf16>
  return %3 : tensor<3xf16>
}

// -----

// What is only moved may be NaN.
// CHECK-LABEL: func.func @kept
// CHECK: "graph.where"
func.func @kept(%x: tensor<3x2xf32>) -> tensor<2x3xf16> {
  %nan = "graph.constant"() {value = dense<0x7E00> : tensor<f16>} : () -> tensor<f16>
  %0 = "graph.cast"(%x) : (tensor<3x2xf32>) -> tensor<3x2xf16>
  %1 = "graph.is_nan"(%x) : (tensor<3x2xf32>) -> tensor<3x2xi1>
  %2 = "graph.where"(%1, %nan, %0) : (tensor<3x2xi1>, tensor<f16>, tensor<3x2xf16>) -> tensor<3x2xf16>
  %3 = "graph.transpose"(%2) {permutation = array<i64: 1, 0>} : (tensor<3x2xf16>) -> tensor<2x3xf16>
  return %3 : tensor<2x3xf16>
}

// -----

// A value that is no input may stand for what has NaN in the model, and its question stays.
// CHECK-LABEL: func.func @computed
// CHECK: "graph.where"
func.func @computed(%x: tensor<3x2xf32>, %y: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %1 = "graph.is_nan"(%0) : (tensor<3x2xf32>) -> tensor<3x2xi1>
  %2 = "graph.where"(%1, %y, %0) : (tensor<3x2xi1>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}
