// RUN: mnc-opt %s --pass-pipeline='builtin.module(decompose)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(decompose)' --explain 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: mnc-opt %s --pass-pipeline='builtin.module(decompose{keep=softmax})' | FileCheck %s --check-prefix=KEEP
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(decompose{only=add})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: 'add' has no decomposition
// UNKNOWN: hint: those are: arg_reduce, batch_norm

// CHECK-LABEL: func.func @softmax
// KEEP-LABEL: func.func @softmax
func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // KEEP-NEXT: graph.softmax
  // CHECK: %[[M:.*]] = "graph.reduce"(%arg0) {axes = array<i64: 1>, keepdims = true, kind = "max"}
  // CHECK-NEXT: %[[C:.*]] = "graph.clip"(%[[M]])
  // CHECK-NEXT: %[[D:.*]] = "graph.sub"(%arg0, %[[C]])
  // CHECK-NEXT: %[[E:.*]] = "graph.exp"(%[[D]])
  // CHECK-NEXT: %[[S:.*]] = "graph.reduce"(%[[E]]) {axes = array<i64: 1>, keepdims = true, kind = "sum"}
  // CHECK-NEXT: %[[R:.*]] = "graph.reciprocal"(%[[S]])
  // CHECK-NEXT: "graph.mul"(%[[E]], %[[R]])
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// A positive factor comes behind the difference, where the exponential takes it; another one stays in front.
// CHECK-LABEL: func.func @scaled_softmax
func.func @scaled_softmax(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  // CHECK: %[[P:.*]] = "graph.constant"() {value = dense<2.500000e-01>
  // CHECK: %[[N:.*]] = "graph.constant"() {value = dense<-2.500000e-01>
  // CHECK: %[[M:.*]] = "graph.reduce"(%arg0) {axes = array<i64: 1>, keepdims = true, kind = "max"}
  // CHECK-NEXT: %[[C:.*]] = "graph.clip"(%[[M]])
  // CHECK-NEXT: %[[D:.*]] = "graph.sub"(%arg0, %[[C]])
  // CHECK-NEXT: %[[F:.*]] = "graph.mul"(%[[D]], %[[P]])
  // CHECK-NEXT: "graph.exp"(%[[F]])
  // CHECK: %[[Y:.*]] = "graph.mul"(%arg0, %[[N]])
  // CHECK-NEXT: "graph.reduce"(%[[Y]]) {axes = array<i64: 1>, keepdims = true, kind = "max"}
  %c = "graph.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %n = "graph.constant"() {value = dense<-0.25> : tensor<f32>} : () -> tensor<f32>
  %a = "graph.mul"(%x, %c) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %0 = "graph.softmax"(%a) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %b = "graph.mul"(%x, %n) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %1 = "graph.softmax"(%b) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// Windows side by side are patches, and the convolution is a product.
// CHECK-LABEL: func.func @patches
func.func @patches(%x: tensor<2x3x9x4xf32>, %w: tensor<5x3x4x2xf32>) -> tensor<2x5x2x2xf32> {
  // CHECK: %[[S:.*]] = "graph.slice"(%arg0) {limits = array<i64: 2, 3, 8, 4>
  // CHECK-NEXT: %[[C:.*]] = "graph.reshape"(%[[S]]) : (tensor<2x3x8x4xf32>) -> tensor<2x3x2x4x2x2xf32>
  // CHECK-NEXT: %[[T:.*]] = "graph.transpose"(%[[C]]) {permutation = array<i64: 0, 2, 4, 1, 3, 5>}
  // CHECK-NEXT: %[[R:.*]] = "graph.reshape"(%[[T]]) : (tensor<2x2x2x3x4x2xf32>) -> tensor<2x2x2x24xf32>
  // CHECK-NEXT: %[[W:.*]] = "graph.reshape"(%arg1) : (tensor<5x3x4x2xf32>) -> tensor<5x24xf32>
  // CHECK-NEXT: %[[K:.*]] = "graph.transpose"(%[[W]])
  // CHECK-NEXT: %[[P:.*]] = "graph.matmul"(%[[R]], %[[K]])
  // CHECK-NEXT: "graph.transpose"(%[[P]]) {permutation = array<i64: 0, 3, 1, 2>}
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 4, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<2x3x9x4xf32>, tensor<5x3x4x2xf32>) -> tensor<2x5x2x2xf32>
  return %0 : tensor<2x5x2x2xf32>
}

// Windows of one element with gaps between them: only what is read is taken.
// CHECK-LABEL: func.func @skipping_conv
func.func @skipping_conv(%x: tensor<2x3x9x8xf32>, %w: tensor<5x3x1x3xf32>) -> tensor<2x5x5x3xf32> {
  // CHECK-NEXT: %[[S:.*]] = "graph.slice"(%arg0){{.*}}steps = array<i64: 1, 1, 2, 1>{{.*}} -> tensor<2x3x5x8xf32>
  // CHECK-NEXT: "graph.conv"(%[[S]], %arg1){{.*}}strides = array<i64: 1, 2>{{.*}} -> tensor<2x5x5x3xf32>
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<2x3x9x8xf32>, tensor<5x3x1x3xf32>) -> tensor<2x5x5x3xf32>
  return %0 : tensor<2x5x5x3xf32>
}

// Results a stride apart share a kernel: one convolution by steps of one, whose results are put between each other. Both
// residues read 3 elements of which each needs 2, so that results begin where they are wanted.
// CHECK-LABEL: func.func @upsampling
func.func @upsampling(%x: tensor<1x3x5x5xf32>, %w: tensor<3x4x4x4xf32>) -> tensor<1x4x10x10xf32> {
  // CHECK: "graph.pad"(%arg1) {high = array<i64: 0, 0, 1, 1>, low = array<i64: 0, 0, 1, 1>
  // CHECK: %[[K:.*]] = "graph.slice"(%{{.*}}) {{.*}}steps = array<i64: 1, 1, -1, -1>{{.*}} -> tensor<16x3x3x3xf32>
  // CHECK-NEXT: %[[C:.*]] = "graph.conv"(%arg0, %[[K]]){{.*}}strides = array<i64: 1, 1>{{.*}} -> tensor<1x16x5x5xf32>
  // CHECK-NEXT: "graph.reshape"(%[[C]]){{.*}} -> tensor<1x1x2x2x4x5x5xf32>
  // CHECK-NEXT: {{.*}}permutation = array<i64: 0, 1, 4, 5, 2, 6, 3>
  // CHECK-NOT: graph.slice
  // CHECK: return
  %0 = "graph.conv_transpose"(%x, %w) {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, group = 1 : i64} : (tensor<1x3x5x5xf32>, tensor<3x4x4x4xf32>) -> tensor<1x4x10x10xf32>
  return %0 : tensor<1x4x10x10xf32>
}

// Of many channels that would be too much to multiply: what is not wanted of the result is cut.
// CHECK-LABEL: func.func @wide_upsampling
func.func @wide_upsampling(%x: tensor<1x512x5x5xf32>, %w: tensor<512x4x4x4xf32>) -> tensor<1x4x10x10xf32> {
  // CHECK: %[[C:.*]] = "graph.conv"(%arg0, %{{.*}}) {{.*}} -> tensor<1x16x6x6xf32>
  // CHECK-NEXT: "graph.reshape"(%[[C]]){{.*}} -> tensor<1x1x4x2x2x6x6xf32>
  // CHECK: "graph.slice"{{.*}}starts = array<i64: 0, 0, 1, 1>
  %0 = "graph.conv_transpose"(%x, %w) {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, group = 1 : i64} : (tensor<1x512x5x5xf32>, tensor<512x4x4x4xf32>) -> tensor<1x4x10x10xf32>
  return %0 : tensor<1x4x10x10xf32>
}

// NaN in a softmax: the row has no largest finite element.
// CHECK-LABEL: func.func @hidden_rows
func.func @hidden_rows(%x: tensor<3x4xf32>, %zero: tensor<f32>) -> tensor<3x4xf32> {
  // CHECK-NOT: graph.is_nan
  // CHECK: graph.exp
  // CHECK: %[[S:.*]] = "graph.mul"
  // CHECK-NEXT: %[[T:.*]] = "graph.reduce"(%arg0) {axes = array<i64: 1>, keepdims = true, kind = "max"}
  // CHECK-NEXT: %[[A:.*]] = "graph.abs"(%[[T]])
  // CHECK: %[[E:.*]] = "graph.equal"(%[[A]]
  // CHECK-NEXT: %[[B:.*]] = "graph.broadcast_to"(%[[E]])
  // CHECK-NEXT: "graph.where"(%[[B]], %arg1, %[[S]])
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = "graph.is_nan"(%0) : (tensor<3x4xf32>) -> tensor<3x4xi1>
  %2 = "graph.where"(%1, %zero, %0) : (tensor<3x4xi1>, tensor<f32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @gemm
func.func @gemm(%a: tensor<3x4xf32>, %b: tensor<5x4xf32>, %c: tensor<5xf32>) -> tensor<3x5xf32> {
  // CHECK: %[[T:.*]] = "graph.transpose"(%arg1)
  // CHECK: %[[P:.*]] = "graph.matmul"(%arg0, %[[T]])
  // CHECK-NOT: graph.mul
  // CHECK: "graph.add"(%[[P]], %arg2)
  %0 = "graph.gemm"(%a, %b, %c) {alpha = 1.0 : f32, beta = 1.0 : f32, transA = false, transB = true} : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @mean
func.func @mean(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  // CHECK: kind = "sum"
  // CHECK: dense<2.500000e-01>
  // CHECK: graph.mul
  // CHECK: graph.reshape
  %0 = "graph.reduce"(%x) {kind = "mean", axes = array<i64: 1>, keepdims = false} : (tensor<3x4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// A long product, or a long reduction of integers, does not come together across PEs: groups come first.
// CHECK-LABEL: func.func @stages
func.func @stages(%x: tensor<12x12x12xf32>, %n: tensor<2x1000xi32>) -> (tensor<f32>, tensor<2xi32>) {
  // CHECK: %[[G:.*]] = "graph.reduce"(%arg0) {axes = array<i64: 2>, keepdims = true, kind = "prod"}
  // CHECK-NEXT: "graph.reduce"(%[[G]]) {axes = array<i64: 0, 1>, keepdims = true, kind = "prod"}
  // CHECK: %[[F:.*]] = "graph.pad"(%arg1) {{.*}}mode = "edge"
  // CHECK-NEXT: %[[P:.*]] = "graph.reshape"(%[[F]]) : (tensor<2x1023xi32>) -> tensor<2x33x31xi32>
  // CHECK-NEXT: %[[M:.*]] = "graph.reduce"(%[[P]]) {axes = array<i64: 2>, keepdims = true, kind = "max"}
  // CHECK-NEXT: "graph.reduce"(%[[M]]) {axes = array<i64: 1>, keepdims = true, kind = "max"}
  %0 = "graph.reduce"(%x) {axes = array<i64: 0, 1, 2>, keepdims = false, kind = "prod"} : (tensor<12x12x12xf32>) -> tensor<f32>
  %1 = "graph.reduce"(%n) {axes = array<i64: 1>, keepdims = false, kind = "max"} : (tensor<2x1000xi32>) -> tensor<2xi32>
  return %0, %1 : tensor<f32>, tensor<2xi32>
}

// WHY-DAG: DecomposeOperation refused 'graph.reduce': on integers it is rounded toward zero in the end
func.func @integer_mean(%x: tensor<3x4xi32>) -> tensor<3xi32> {
  %0 = "graph.reduce"(%x) {kind = "mean", axes = array<i64: 1>, keepdims = false} : (tensor<3x4xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// The deviation is at least the root of 1e-5, so that its reciprocal is a normal number.
// CHECK-LABEL: func.func @quotient
func.func @quotient(%x: tensor<3x4xf32>, %v: tensor<3x1xf32>) -> tensor<3x4xf32> {
  // CHECK: %[[D:.*]] = "graph.sqrt"
  // CHECK: %[[R:.*]] = "graph.reciprocal"(%[[D]])
  // CHECK: "graph.mul"(%arg0, %[[R]])
  %epsilon = "graph.constant"() {value = dense<1.0e-5> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.abs"(%v) : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %1 = "graph.add"(%0, %epsilon) : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %2 = "graph.sqrt"(%1) : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %3 = "graph.div"(%x, %2) : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  return %3 : tensor<3x4xf32>
}

// WHY-DAG: DecomposeOperation refused 'graph.div': a divisor may be so small or so large that its reciprocal is no normal number
// WHY-DAG: DecomposeOperation refused 'graph.div': there are as many divisors as quotients, so that a reciprocal saves nothing
// CHECK-LABEL: func.func @no_reciprocal
func.func @no_reciprocal(%x: tensor<3x4xf32>, %v: tensor<3x1xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK-COUNT-2: graph.div
  %0 = "graph.div"(%x, %v) : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %1 = "graph.div"(%0, %y) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @normalizations
func.func @normalizations(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK-NOT: _norm"
  // CHECK: graph.sqrt
  // CHECK: graph.sqrt
  %0:3 = "graph.layer_norm"(%x, %s, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %1 = "graph.batch_norm"(%x, %s, %s, %s, %s) {epsilon = 1.0e-5 : f32} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0#0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// The exponential of a log-softmax is a softmax, and both use the same sum.
// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  // CHECK-NOT: graph.log_softmax
  // CHECK: graph.log"
  // CHECK-NOT: graph.log_softmax
  // CHECK: graph.reciprocal
  // CHECK-NEXT: %[[POWERS:.*]] = "graph.mul"
  // CHECK-NEXT: return %{{.*}}, %[[POWERS]]
  %0 = "graph.log_softmax"(%x) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = "graph.exp"(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// Of a long running sum, pieces are summed up first, then the sums of the pieces; of a short one, nothing changes.
// CHECK-LABEL: func.func @running_sums
func.func @running_sums(%x: tensor<6000xf32>, %y: tensor<60xf32>) -> (tensor<6000xf32>, tensor<60xf32>) {
  // CHECK: graph.pad
  // CHECK: "graph.cum_sum"({{.*}}axis = 1 : i64, exclusive = false{{.*}}tensor<77x78xf32>
  // CHECK: "graph.cum_sum"({{.*}}axis = 0 : i64, exclusive = true{{.*}}tensor<77x1xf32>
  // CHECK: graph.slice
  // CHECK: "graph.cum_sum"(%arg1)
  %0 = "graph.cum_sum"(%x) {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<6000xf32>) -> tensor<6000xf32>
  %1 = "graph.cum_sum"(%y) {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<60xf32>) -> tensor<60xf32>
  return %0, %1 : tensor<6000xf32>, tensor<60xf32>
}

// One window over all elements is a mean, which is folded where its parts are; over less it stays a pooling.
// CHECK-LABEL: func.func @pooled
func.func @pooled(%x: tensor<1x8x7x7xf32>) -> (tensor<1x8x1x1xf32>, tensor<1x8x1x2xf32>) {
  // CHECK: "graph.reduce"(%arg0) {axes = array<i64: 2, 3>, keepdims = true, kind = "sum"}
  // CHECK: "graph.pool"(%arg0)
  %0 = "graph.pool"(%x) {kind = "average", kernel = array<i64: 7, 7>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, ceil_mode = false, count_include_pad = false} : (tensor<1x8x7x7xf32>) -> tensor<1x8x1x1xf32>
  %1 = "graph.pool"(%x) {kind = "average", kernel = array<i64: 7, 6>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, ceil_mode = false, count_include_pad = false} : (tensor<1x8x7x7xf32>) -> tensor<1x8x1x2xf32>
  return %0, %1 : tensor<1x8x1x1xf32>, tensor<1x8x1x2xf32>
}
