// RUN: mnc-opt %s --split-input-file --verify-diagnostics

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.add' op shapes 2x3 and 4 do not broadcast}}
  %0 = "graph.add"(%x, %y) : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{result type is tensor<3x2xf32> but tensor<2x3xf32> is what its operands give}}
  %0 = "graph.exp"(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @element_types(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{different element types f32 and f16}}
  %0 = "graph.mul"(%x, %y) : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @integer_exp(%x: tensor<2xi32>) {
  // expected-error @+1 {{does not work on element type i32}}
  %0 = "graph.exp"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{shapes must be static}}
  %0 = "graph.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @missing(%x: tensor<2xf32>) {
  // expected-error @+1 {{requires attribute 'alpha'}}
  %0 = "graph.leaky_relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @contracted(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{contracted extents differ: 2x3 times 2x3}}
  %0 = "graph.matmul"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @bias(%x: tensor<2x2xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{shapes 3 and 2x2 do not broadcast}}
  %0 = "graph.gemm"(%x, %x, %c) {alpha = 1.0 : f32, beta = 1.0 : f32, transA = false, transB = false} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range for rank 2}}
  %0 = "graph.softmax"(%x) {axis = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axes(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axes [1, 0] must be distinct and ascending}}
  %0 = "graph.reduce"(%x) {kind = "sum", axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @kind(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'kind' must be one of sum, max}}
  %0 = "graph.reduce"(%x) {kind = "median", axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @elements(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{cannot reshape 2x3 to 4x2 (6 and 8 elements)}}
  %0 = "graph.reshape"(%x) : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @permutation(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{[0, 0] is not a permutation of 2 dimensions}}
  %0 = "graph.transpose"(%x) {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @range(%x: tensor<4xf32>) {
  // expected-error @+1 {{range [1, 5) step 1 does not lie within extent 4}}
  %0 = "graph.slice"(%x) {starts = array<i64: 1>, limits = array<i64: 5>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @window(%x: tensor<1x1x2xf32>, %w: tensor<1x1x3xf32>) {
  // expected-error @+1 {{the window does not fit into dimension 0 of extent 2}}
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x2xf32>, tensor<1x1x3xf32>) -> tensor<1x1x1xf32>
  return
}

// -----

func.func @condition(%x: tensor<2xf32>) {
  // expected-error @+1 {{the condition must be i1}}
  %0 = "graph.where"(%x, %x, %x) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @counts(%x: tensor<2xf32>) {
  // expected-error @+1 {{'graph.relu' op expects 1 operands, found 2}}
  %0 = "graph.relu"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @counts_of_an_optional_operand(%x: tensor<2xf32>) {
  // expected-error @+1 {{'graph.gemm' op expects 2 to 3 operands, found 1}}
  %0 = "graph.gemm"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @counts_of_results(%x: tensor<2xf32>) {
  // expected-error @+1 {{'graph.relu' op expects 1 results, found 0}}
  "graph.relu"(%x) : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @format(%x: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'format' must be one of float8_e4m3fn}}
  %0 = "graph.round_to"(%x) {format = "float16"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @bits_of_other_widths(%x: tensor<2xf32>) {
  // expected-error @+1 {{needs types of 32 bits}}
  %0 = "graph.bitcast"(%x) : (tensor<2xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @lines_without_indices(%x: tensor<2x3x4xf32>, %i: tensor<3x5xi64>) {
  // expected-error @+1 {{do not have the same first 1 extents, in front of the axis}}
  %0 = "graph.batch_gather"(%x, %i) {axis = 2, batch_dims = 1} : (tensor<2x3x4xf32>, tensor<3x5xi64>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @batches_behind_the_axis(%x: tensor<2x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{do not have the same first 2 extents, in front of the axis}}
  %0 = "graph.batch_gather"(%x, %i) {axis = 1, batch_dims = 2} : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return
}
