// RUN: mnc-opt --pass-pipeline='builtin.module(graph-autodiff)' %s | FileCheck %s
// RUN: mnc-opt --pass-pipeline='builtin.module(graph-autodiff{optimizer=sgd learning-rate=0.5 parameters=w})' %s | FileCheck %s --check-prefix=SGD
// RUN: mnc-opt --pass-pipeline='builtin.module(graph-autodiff{optimizer=adam parameters=w})' %s | FileCheck %s --check-prefix=ADAM

// Initializers become arguments; transposed products need no transposition.
// CHECK: func.func @main(%[[X:.*]]: tensor<4x3xf32> {onnx.name = "x"}, %[[W:.*]]: tensor<5x3xf32> {onnx.name = "w"}, %{{.*}}: tensor<5xf32> {onnx.name = "b"})
// CHECK-SAME: -> (tensor<f32> {onnx.name = "loss"}, tensor<5x3xf32> {onnx.name = "w.gradient"}, tensor<5xf32> {onnx.name = "b.gradient"})
// CHECK: %[[H:.*]] = "graph.gemm"(%[[X]], %[[W]]
// CHECK: %[[Y:.*]] = "graph.relu"(%[[H]])
// CHECK: %[[ACTIVE:.*]] = "graph.greater"(%[[Y]]
// CHECK: %[[G:.*]] = "graph.where"(%[[ACTIVE]]
// CHECK: %[[DW:.*]] = "graph.gemm"(%[[G]], %[[X]]) {{.*}}transA = true, transB = false
// CHECK: %[[DB:.*]] = "graph.reduce"(%[[G]]) {axes = array<i64: 0>, keepdims = false, kind = "sum"}
// CHECK: return %{{.*}}, %[[DW]], %[[DB]]

// Only w is updated: b stays a constant and has no gradient.
// SGD: @main({{.*}}, %[[W:[a-z0-9]+]]: tensor<5x3xf32> {mnc.updated = "w.updated", onnx.name = "w"}) -> (tensor<f32> {onnx.name = "loss"}, tensor<5x3xf32> {onnx.name = "w.updated"})
// SGD: "graph.constant"() {onnx.name = "b"
// SGD: %[[DW:.*]] = "graph.gemm"({{.*}}transA = true
// SGD-NOT: "graph.reduce"({{.*}}axes = array<i64: 0>
// SGD: %[[RATE:.*]] = "graph.constant"() {value = dense<5.000000e-01>
// SGD: %[[STEP:.*]] = "graph.mul"(%[[DW]], %[[RATE]])
// SGD: %[[NEW:.*]] = "graph.sub"(%[[W]], %[[STEP]])
// SGD: return %{{.*}}, %[[NEW]]

// State is one argument and one result each, with its first value.
// ADAM: tensor<5x3xf32> {mnc.initial = 0.000000e+00 : f32, mnc.updated = "w.first_moment.updated", onnx.name = "w.first_moment"}
// ADAM-SAME: tensor<5x3xf32> {mnc.initial = 0.000000e+00 : f32, mnc.updated = "w.second_moment.updated", onnx.name = "w.second_moment"}
// ADAM-SAME: tensor<1xf32> {mnc.initial = 1.000000e+00 : f32, mnc.updated = "beta1_power.updated", onnx.name = "beta1_power"}

func.func @main(%x: tensor<4x3xf32> {onnx.name = "x"}) -> (tensor<f32> {onnx.name = "loss"}) {
  %w = "graph.constant"() {value = dense<1.0> : tensor<5x3xf32>, onnx.name = "w"} : () -> tensor<5x3xf32>
  %b = "graph.constant"() {value = dense<1.0> : tensor<5xf32>, onnx.name = "b"} : () -> tensor<5xf32>
  %h = "graph.gemm"(%x, %w, %b) {alpha = 1.0 : f32, beta = 1.0 : f32, transA = false, transB = true} : (tensor<4x3xf32>, tensor<5x3xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %y = "graph.relu"(%h) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %l = "graph.reduce"(%y) {kind = "mean", axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x5xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
