// RUN: mnc-opt %s --pass-pipeline='builtin.module(simplify-algebra)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(simplify-algebra)' --explain 2>&1 | FileCheck %s --check-prefix=WHY

// CHECK-LABEL: func.func @identities
func.func @identities(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %arg0
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %0 = "graph.add"(%zero, %x) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%0, %one) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.neg"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "graph.neg"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "graph.div"(%3, %one) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// WHY-DAG: NeutralElement refused 'graph.add': the sign of a zero would change, and a later division by it shows that
// CHECK-LABEL: func.func @sign_of_zero
func.func @sign_of_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.add
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.add"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.reciprocal"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// WHY-DAG: Annihilator refused 'graph.sub': the difference is NaN for infinities and NaN
// WHY-DAG: Annihilator refused 'graph.mul': infinity and NaN times 0 are NaN
// CHECK-LABEL: func.func @not_zero
func.func @not_zero(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  // CHECK-DAG: graph.sub{{.*}}f32
  // CHECK-DAG: graph.mul
  // CHECK-NOT: graph.sub{{.*}}i32
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.sub"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = "graph.sub"(%n, %n) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// The square root of a variance: the power 1/2 of what cannot be negative.
// CHECK-LABEL: func.func @powers
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[S:.*]] = "graph.mul"(%arg0, %arg0)
  // CHECK: graph.sqrt"(%[[S]])
  // CHECK: graph.pow"(%arg0
  %two = "graph.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.pow"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.pow"(%0, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // WHY-DAG: ConstantPower refused 'graph.pow': the base may be -infinity, whose square root is NaN while its power 1/2 is infinity
  %2 = "graph.pow"(%x, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @quotients
func.func @quotients(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[Q:.*]] = "graph.constant"() {value = dense<2.500000e-01>
  // CHECK-DAG: graph.mul"(%arg0, %[[Q]])
  // CHECK-DAG: graph.div
  %four = "graph.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %three = "graph.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.div"(%x, %four) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // WHY-DAG: ExactReciprocal refused 'graph.div': the reciprocal of a divisor that is no power of two is rounded
  %1 = "graph.div"(%x, %three) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @logarithm
func.func @logarithm(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[T:.*]] = "graph.tanh"
  // CHECK: %[[E:.*]] = "graph.exp"(%arg0)
  // CHECK: %[[L:.*]] = "graph.log"(%[[E]])
  // CHECK: return %[[T]], %[[L]]
  %0 = "graph.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.log"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // WHY-DAG: LogOfExp refused 'graph.log': the exponential may overflow to infinity or underflow to 0
  %4 = "graph.log"(%3) : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %4 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: value = dense<6.000000e+00>
  // CHECK-NEXT: graph.mul
  // CHECK-NEXT: return
  %two = "graph.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %three = "graph.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.mul"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.mul"(%0, %three) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// WHY-DAG: ConstantChain refused 'graph.mul': the combined constant overflows or underflows
// CHECK-LABEL: func.func @underflow
func.func @underflow(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-COUNT-2: graph.mul
  %tiny = "graph.constant"() {value = dense<1.0e-30> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.mul"(%x, %tiny) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.mul"(%0, %tiny) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @common_factor
func.func @common_factor(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[S:.*]] = "graph.add"
  // CHECK: graph.mul"(%[[S]]
  %c = "graph.constant"() {value = dense<[1.0, 2.0, 3.0, -4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %0 = "graph.mul"(%a, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%b, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// WHY-DAG: CommonFactor refused 'graph.add': the sum of the factors may overflow where the sum of the products does not
// CHECK-LABEL: func.func @unknown_factor
func.func @unknown_factor(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-COUNT-2: graph.mul
  %0 = "graph.mul"(%a, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%b, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Scale, bias and scale again: all of it is in the weight and the bias.
// CHECK-LABEL: func.func @scaled_projection
func.func @scaled_projection(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  // CHECK-DAG: value = dense<[3.000000e+00, -6.000000e+00]>
  // CHECK-DAG: %[[W:.*]] = "graph.constant"() {onnx.name = "w.mul{{.*}}", value = dense<{{\[\[}}3.000000e+00, 6.000000e+00]
  // CHECK-DAG: %[[P:.*]] = "graph.matmul"(%arg0, %[[W]])
  // CHECK: graph.add"(%[[P]]
  // CHECK-NEXT: return
  %w = "graph.constant"() {value = dense<[[2.0, 4.0], [2.0, 2.0], [0.0, 2.0]]> : tensor<3x2xf32>, onnx.name = "w"} : () -> tensor<3x2xf32>
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %b = "graph.constant"() {value = dense<[1.0, -2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %three = "graph.constant"() {value = dense<3.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "graph.mul"(%x, %half) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = "graph.matmul"(%0, %w) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %2 = "graph.add"(%1, %b) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %3 = "graph.mul"(%2, %three) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// WHY-DAG: ScaledOperand refused 'graph.matmul': the factor varies along the contracted dimension or broadcasts the operand
// CHECK-LABEL: func.func @scaled_columns
func.func @scaled_columns(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // CHECK: graph.mul
  // CHECK: graph.matmul
  %w = "graph.constant"() {value = dense<[[2.0, 4.0], [2.0, 2.0]]> : tensor<2x2xf32>} : () -> tensor<2x2xf32>
  %c = "graph.constant"() {value = dense<[1.0, 3.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "graph.mul"(%x, %c) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1 = "graph.matmul"(%0, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @bounds
func.func @bounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: graph.clip"(%arg0) {max = 6.000000e+00 : f32, min = 0.000000e+00 : f32}
  // CHECK-NEXT: return
  %eight = "graph.constant"() {value = dense<8.0> : tensor<f32>} : () -> tensor<f32>
  %six = "graph.constant"() {value = dense<6.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.min"(%1, %eight) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.min"(%six, %2) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @selections
func.func @selections(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xf32>) {
  // WHY-DAG: NegatedComparison refused 'graph.not': with NaN both comparisons are false, so one is not the negation of the other
  // CHECK: graph.less{{.*}}f32
  // CHECK: graph.not
  // CHECK: graph.greater_or_equal"(%arg1
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %0 = "graph.less"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %1 = "graph.not"(%0) : (tensor<4xi1>) -> tensor<4xi1>
  %2 = "graph.less"(%n, %one) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
  %3 = "graph.not"(%2) : (tensor<4xi1>) -> tensor<4xi1>
  // WHY-DAG: SelectedBound refused 'graph.where': with NaN the comparison chooses the second value, and a maximum or minimum is NaN
  // CHECK: graph.where
  %4 = "graph.greater"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %5 = "graph.where"(%4, %x, %zero) : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1, %3, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xf32>
}

// CHECK-LABEL: func.func @sum_of_one_hot
func.func @sum_of_one_hot(%labels: tensor<4x1xi32>) -> tensor<4x1xf32> {
  // CHECK-NOT: graph.reduce
  // CHECK: graph.greater_or_equal"(%arg0
  // CHECK: graph.less_or_equal"(%arg0
  // CHECK: graph.where
  // CHECK: return
  %row = "graph.constant"() {value = dense<[[0, 1, 2]]> : tensor<1x3xi32>} : () -> tensor<1x3xi32>
  %one = "graph.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.equal"(%labels, %row) : (tensor<4x1xi32>, tensor<1x3xi32>) -> tensor<4x3xi1>
  %1 = "graph.where"(%0, %one, %zero) : (tensor<4x3xi1>, tensor<f32>, tensor<f32>) -> tensor<4x3xf32>
  %2 = "graph.reduce"(%1) {axes = array<i64: 1>, keepdims = true, kind = "sum"} : (tensor<4x3xf32>) -> tensor<4x1xf32>
  return %2 : tensor<4x1xf32>
}

// Rows of a softmax are normalised behind the product, where that takes fewer multiplications.
// WHY-DAG: NormalisedRows refused 'graph.matmul': the result has more elements than the rows
// CHECK-LABEL: func.func @normalised_rows
func.func @normalised_rows(%x: tensor<8x8xf32>, %v: tensor<8x4xf32>, %w: tensor<8x16xf32>) -> (tensor<8x4xf32>, tensor<8x16xf32>) {
  // CHECK: %[[E:.*]] = "graph.exp"
  // CHECK: %[[R:.*]] = "graph.reciprocal"
  // CHECK: %[[P:.*]] = "graph.matmul"(%[[E]], %arg1)
  // CHECK-NEXT: "graph.mul"(%[[P]], %[[R]])
  // CHECK: %[[N:.*]] = "graph.mul"
  // CHECK-NEXT: "graph.matmul"(%[[N]], %arg2)
  %c = "graph.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.reduce"(%x) {axes = array<i64: 1>, keepdims = true, kind = "max"} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %1 = "graph.sub"(%x, %0) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %2 = "graph.mul"(%1, %c) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %3 = "graph.exp"(%2) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = "graph.reduce"(%3) {axes = array<i64: 1>, keepdims = true, kind = "sum"} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %5 = "graph.reciprocal"(%4) : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %6 = "graph.mul"(%3, %5) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %7 = "graph.matmul"(%6, %v) : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %8 = "graph.exp"(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %9 = "graph.reduce"(%8) {axes = array<i64: 1>, keepdims = true, kind = "sum"} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %10 = "graph.reciprocal"(%9) : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %11 = "graph.mul"(%8, %10) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %12 = "graph.matmul"(%11, %w) : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %7, %12 : tensor<8x4xf32>, tensor<8x16xf32>
}

// A divisor that is not the sum of the row stays where it is: what it divides may be large.
// CHECK-LABEL: func.func @other_divisor
func.func @other_divisor(%x: tensor<8x8xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: "graph.matmul"
  // CHECK-NEXT: return
  %0 = "graph.exp"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "graph.reduce"(%0) {axes = array<i64: 1>, keepdims = true, kind = "sum"} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %2 = "graph.reciprocal"(%1) : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %3 = "graph.mul"(%0, %2) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %4 = "graph.matmul"(%3, %v) : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// A pooling or a mean of what a pointwise convolution gives is taken before it. Padding that counts leaves less of a
// bias at the borders; a convolution of larger windows reads what the average does not give.
// CHECK-LABEL: func.func @averages
func.func @averages(%x: tensor<1x8x6x6xf32>, %w: tensor<8x8x1x1xf32>, %v: tensor<8x8x3x3xf32>, %b: tensor<8xf32>)
    -> (tensor<1x8x3x3xf32>, tensor<1x8x4x4xf32>, tensor<1x8x2x2xf32>, tensor<1x8xf32>) {
  // CHECK: %[[P:.*]] = "graph.pool"(%arg0)
  // CHECK: %[[A:.*]] = "graph.conv"(%[[P]], %arg1, %arg3)
  // CHECK: %[[C:.*]] = "graph.conv"(%arg0, %arg1, %arg3)
  // CHECK: %[[B:.*]] = "graph.pool"(%[[C]])
  // CHECK: %[[D:.*]] = "graph.conv"(%arg0, %arg2)
  // CHECK: %[[E:.*]] = "graph.pool"(%[[D]])
  // CHECK: %[[S:.*]] = "graph.reduce"(%arg0) {axes = array<i64: 2, 3>, keepdims = true, kind = "sum"}
  // CHECK: %[[N:.*]] = "graph.mul"(%arg3, %{{.*}})
  // CHECK: %[[F:.*]] = "graph.conv"(%[[S]], %arg1, %[[N]])
  // CHECK: %[[G:.*]] = "graph.reshape"(%[[F]])
  // CHECK: return %[[A]], %[[B]], %[[E]], %[[G]]
  %0 = "graph.conv"(%x, %w, %b) {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x1x1xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  %1 = "graph.pool"(%0) {kind = "average", kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, ceil_mode = false, count_include_pad = true} : (tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32>
  %2 = "graph.conv"(%x, %w, %b) {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x1x1xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  %3 = "graph.pool"(%2) {kind = "average", kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, ceil_mode = false, count_include_pad = true} : (tensor<1x8x6x6xf32>) -> tensor<1x8x4x4xf32>
  %4 = "graph.conv"(%x, %v) {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x4x4xf32>
  %5 = "graph.pool"(%4) {kind = "average", kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, ceil_mode = false, count_include_pad = false} : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
  %6 = "graph.conv"(%x, %w, %b) {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x1x1xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  %7 = "graph.reduce"(%6) {axes = array<i64: 2, 3>, keepdims = false, kind = "sum"} : (tensor<1x8x6x6xf32>) -> tensor<1x8xf32>
  return %1, %3, %5, %7 : tensor<1x8x3x3xf32>, tensor<1x8x4x4xf32>, tensor<1x8x2x2xf32>, tensor<1x8xf32>
}
