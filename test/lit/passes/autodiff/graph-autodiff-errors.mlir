// RUN: mnc-opt --pass-pipeline='builtin.module(graph-autodiff{parameters=x})' --split-input-file --verify-diagnostics %s

// What has no rule is refused with the reason, not given a gradient of zero.
func.func @main(%x: tensor<4x3xf32> {onnx.name = "x"}) -> (tensor<f32> {onnx.name = "loss"}) {
  // expected-error @+1 {{a reduction of kind prod has no rule for differentiation}}
  %l = "graph.reduce"(%x) {kind = "prod", axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x3xf32> {onnx.name = "x"}) -> (tensor<f32> {onnx.name = "loss"}) {
  // expected-error @+1 {{only its first result can be differentiated}}
  %y, %m, %r = "graph.layer_norm"(%x, %x) {axis = 0 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
  %l = "graph.reshape"(%m) : (tensor<1x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A path that is not differentiable by nature ends; the loss still depends on x through the other one.
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<f32> {onnx.name = "loss"}) {
  %i = "graph.arg_reduce"(%x) {kind = "max", axis = 0 : i64, keepdims = true, select_last = false} : (tensor<4xf32>) -> tensor<1xi64>
  %f = "graph.cast"(%i) : (tensor<1xi64>) -> tensor<1xf32>
  %p = "graph.mul"(%x, %f) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %l = "graph.reduce"(%p) {kind = "sum", axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
