// RUN: mnc-opt %s | mnc-opt | FileCheck %s

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<2x3xf32>, %i: tensor<4xi64>, %b: tensor<4xi1>) -> tensor<2x3xf32> {
  // CHECK: "graph.neg"(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = "graph.neg"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: "graph.leaky_relu"(%{{.*}}) {alpha = 1.000000e-01 : f32}
  %1 = "graph.leaky_relu"(%0) {alpha = 0.1 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: "graph.clip"(%{{.*}}) {max = 6.000000e+00 : f32, min = 0.000000e+00 : f32}
  %2 = "graph.clip"(%1) {min = 0.0 : f32, max = 6.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: "graph.clip"(%{{[0-9]+}}) : (tensor<2x3xf32>)
  %3 = "graph.clip"(%2) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: "graph.gelu"(%{{.*}}) {approximate = "tanh"}
  %4 = "graph.gelu"(%3) {approximate = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: "graph.abs"(%{{.*}}) : (tensor<4xi64>)
  %5 = "graph.abs"(%i) : (tensor<4xi64>) -> tensor<4xi64>
  // CHECK: "graph.not"(%{{.*}}) : (tensor<4xi1>)
  %6 = "graph.not"(%b) : (tensor<4xi1>) -> tensor<4xi1>
  // CHECK: "graph.cast"(%{{.*}}) : (tensor<4xi64>) -> tensor<4xf16>
  %7 = "graph.cast"(%i) : (tensor<4xi64>) -> tensor<4xf16>
  // CHECK: "graph.is_nan"(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %8 = "graph.is_nan"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: "graph.round_to"(%{{.*}}) {format = "float8_e4m3fn"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %9 = "graph.round_to"(%x) {format = "float8_e4m3fn"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: "graph.bitcast"(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xui32>
  %10 = "graph.bitcast"(%x) : (tensor<2x3xf32>) -> tensor<2x3xui32>
  return %4 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<2x1x4xf32>, %y: tensor<3x1xf32>, %s: tensor<f32>) -> tensor<2x3x4xf32> {
  // CHECK: "graph.add"(%{{.*}}, %{{.*}}) : (tensor<2x1x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  %0 = "graph.add"(%x, %y) : (tensor<2x1x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  // CHECK: "graph.mul"(%{{.*}}, %{{.*}}) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %1 = "graph.mul"(%0, %s) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  // CHECK: "graph.greater"(%{{.*}}, %{{.*}}) : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xi1>
  %2 = "graph.greater"(%1, %y) : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xi1>
  // CHECK: "graph.and"(%{{.*}}, %{{.*}}) : (tensor<2x3x4xi1>, tensor<2x3x4xi1>) -> tensor<2x3x4xi1>
  %3 = "graph.and"(%2, %2) : (tensor<2x3x4xi1>, tensor<2x3x4xi1>) -> tensor<2x3x4xi1>
  // CHECK: "graph.where"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<2x3x4xi1>, tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %4 = "graph.where"(%3, %1, %s) : (tensor<2x3x4xi1>, tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  return %4 : tensor<2x3x4xf32>
}
