// RUN: mnc-opt %s --pass-pipeline='builtin.module(simplify-tensors)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(simplify-tensors)' --explain 2>&1 | FileCheck %s --check-prefix=WHY

// CHECK-LABEL: func.func @transposes_meet
func.func @transposes_meet(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %[[R:.*]] = "graph.relu"(%arg0)
  // CHECK-NEXT: %[[S:.*]] = "graph.add"(%[[R]], %arg1)
  // CHECK-NEXT: return %[[S]]
  %0 = "graph.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = "graph.relu"(%0) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = "graph.transpose"(%y) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = "graph.add"(%1, %2) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = "graph.transpose"(%3) {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// WHY-DAG: BehindBinary refused 'graph.add': the other operand is not transposed
// CHECK-LABEL: func.func @one_transposed
func.func @one_transposed(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<3x2xf32> {
  // CHECK: graph.transpose
  // CHECK-NEXT: graph.add
  %0 = "graph.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = "graph.add"(%0, %y) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @product
func.func @product(%a: tensor<2x3xf32>, %b: tensor<4x2xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: %[[P:.*]] = "graph.matmul"(%arg1, %arg0)
  // CHECK-NEXT: return %[[P]]
  %0 = "graph.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = "graph.transpose"(%b) {permutation = array<i64: 1, 0>} : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %2 = "graph.matmul"(%0, %1) : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %3 = "graph.transpose"(%2) {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

// WHY-DAG: ProductOfTransposed refused 'graph.matmul': only one operand is transposed, which costs a matrix product nothing
// CHECK-LABEL: func.func @half_transposed
func.func @half_transposed(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<3x4xf32> {
  // CHECK: graph.transpose
  // CHECK-NEXT: graph.matmul
  %0 = "graph.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = "graph.matmul"(%0, %b) : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @reduction
func.func @reduction(%x: tensor<2x3x4xf32>) -> tensor<4x2xf32> {
  // CHECK-NEXT: %[[R:.*]] = "graph.reduce"(%arg0) {axes = array<i64: 1>
  // CHECK-NEXT: "graph.transpose"(%[[R]]) {permutation = array<i64: 1, 0>}
  %0 = "graph.transpose"(%x) {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = "graph.reduce"(%0) {kind = "sum", axes = array<i64: 2>, keepdims = false} : (tensor<4x2x3xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @reshapes_meet
func.func @reshapes_meet(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %[[R:.*]] = "graph.relu"(%arg0)
  // CHECK-NEXT: return %[[R]]
  %0 = "graph.reshape"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = "graph.relu"(%0) : (tensor<6xf32>) -> tensor<6xf32>
  %2 = "graph.reshape"(%1) : (tensor<6xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// WHY-DAG: BehindBinary refused 'graph.add': the other operand is neither reshaped alike nor one number
// CHECK-LABEL: func.func @one_reshaped
func.func @one_reshaped(%x: tensor<2x3xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  // CHECK: graph.reshape
  %0 = "graph.reshape"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = "graph.add"(%0, %y) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// One row of a projection: one row is projected.
// CHECK-LABEL: func.func @slice_of_projection
func.func @slice_of_projection(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<1x6xf32> {
  // CHECK-NEXT: %[[S:.*]] = "graph.slice"(%arg0) {limits = array<i64: 3, 4>, starts = array<i64: 2, 0>
  // CHECK-NEXT: %[[P:.*]] = "graph.matmul"(%[[S]], %arg1)
  // CHECK-NEXT: "graph.add"(%[[P]], %arg2) : (tensor<1x6xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = "graph.add"(%0, %b) : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %2 = "graph.slice"(%1) {starts = array<i64: 2, 0>, limits = array<i64: 3, 6>, steps = array<i64: 1, 1>} : (tensor<8x6xf32>) -> tensor<1x6xf32>
  return %2 : tensor<1x6xf32>
}

// WHY-DAG: BeforeElementwise refused 'graph.slice': its operand has other uses, for which all of it is computed
// CHECK-LABEL: func.func @slice_of_used
func.func @slice_of_used(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
  // CHECK: graph.exp
  // CHECK-NEXT: graph.slice
  %0 = "graph.exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "graph.slice"(%0) {starts = array<i64: 0>, limits = array<i64: 2>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<8xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @concat_and_slice
func.func @concat_and_slice(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
  // CHECK-NEXT: %[[S:.*]] = "graph.slice"(%arg1) {limits = array<i64: 3>, starts = array<i64: 1>
  // CHECK-NEXT: return %arg0, %[[S]]
  %0 = "graph.slice"(%x) {starts = array<i64: 0>, limits = array<i64: 3>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<3xf32>
  %1 = "graph.slice"(%x) {starts = array<i64: 3>, limits = array<i64: 8>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<5xf32>
  %2 = "graph.concat"(%0, %1) {axis = 0 : i64} : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>
  %3 = "graph.concat"(%x, %y) {axis = 0 : i64} : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>
  %4 = "graph.slice"(%3) {starts = array<i64: 9>, limits = array<i64: 11>, steps = array<i64: 1>} : (tensor<12xf32>) -> tensor<2xf32>
  return %2, %4 : tensor<8xf32>, tensor<2xf32>
}

// WHY-DAG: SliceOfPad refused 'graph.slice': the slice contains padding
// WHY-DAG: ConcatOfSlices refused 'graph.concat': the slices do not adjoin
func.func @near_misses(%x: tensor<4xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %0 = "graph.pad"(%x) {low = array<i64: 1>, high = array<i64: 0>, value = 0.0 : f32, mode = "constant"} : (tensor<4xf32>) -> tensor<5xf32>
  %1 = "graph.slice"(%0) {starts = array<i64: 0>, limits = array<i64: 3>, steps = array<i64: 1>} : (tensor<5xf32>) -> tensor<3xf32>
  %2 = "graph.slice"(%x) {starts = array<i64: 0>, limits = array<i64: 1>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<1xf32>
  %3 = "graph.slice"(%x) {starts = array<i64: 2>, limits = array<i64: 3>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<1xf32>
  %4 = "graph.concat"(%2, %3) {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %1, %4 : tensor<3xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: %[[E:.*]] = "graph.exp"(%arg0) : (tensor<4xf32>)
  // CHECK-NEXT: "graph.add"(%[[E]], %arg1)
  %0 = "graph.broadcast_to"(%x) : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = "graph.exp"(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = "graph.add"(%1, %y) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @gathers
func.func @gathers(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>, %i: tensor<2xi64>) -> (tensor<2x6xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[G:.*]] = "graph.gather"(%arg0, %arg2)
  // CHECK-DAG: "graph.matmul"(%[[G]], %arg1)
  // CHECK-DAG: %[[S:.*]] = "graph.slice"(%arg0) {limits = array<i64: 8, 4>, starts = array<i64: 7, 0>
  // CHECK-DAG: "graph.reshape"(%[[S]])
  %0 = "graph.matmul"(%x, %w) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = "graph.gather"(%0, %i) {axis = 0 : i64} : (tensor<8x6xf32>, tensor<2xi64>) -> tensor<2x6xf32>
  %last = "graph.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<i64>
  %2 = "graph.gather"(%x, %last) {axis = 0 : i64} : (tensor<8x4xf32>, tensor<i64>) -> tensor<4xf32>
  return %1, %2 : tensor<2x6xf32>, tensor<4xf32>
}

// Dropping or adding the dimensions that were reduced is the other form of the reduction, if nobody else reads it.
// CHECK-LABEL: func.func @reductions
// WHY-DAG: IntoReduction refused 'graph.reshape': the reduction has other uses, for which it would be computed again
func.func @reductions(%x: tensor<4x6xf32>) -> (tensor<6xf32>, tensor<4x1xf32>, tensor<1x4xf32>, tensor<4xf32>, tensor<4x1xf32>) {
  // CHECK-DAG: "graph.reduce"(%arg0) {axes = array<i64: 0>, keepdims = false, kind = "sum"} : (tensor<4x6xf32>) -> tensor<6xf32>
  // CHECK-DAG: "graph.reduce"(%arg0) {axes = array<i64: 1>, keepdims = true, kind = "max"} : (tensor<4x6xf32>) -> tensor<4x1xf32>
  // CHECK-DAG: "graph.reshape"({{.*}}) : (tensor<4x1xf32>) -> tensor<1x4xf32>
  // CHECK-DAG: "graph.reshape"({{.*}}) : (tensor<4xf32>) -> tensor<4x1xf32>
  %0 = "graph.reduce"(%x) {kind = "sum", axes = array<i64: 0>, keepdims = true} : (tensor<4x6xf32>) -> tensor<1x6xf32>
  %1 = "graph.reshape"(%0) : (tensor<1x6xf32>) -> tensor<6xf32>
  %2 = "graph.reduce"(%x) {kind = "max", axes = array<i64: 1>, keepdims = false} : (tensor<4x6xf32>) -> tensor<4xf32>
  %3 = "graph.reshape"(%2) : (tensor<4xf32>) -> tensor<4x1xf32>
  %4 = "graph.reduce"(%x) {kind = "min", axes = array<i64: 1>, keepdims = true} : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %5 = "graph.reshape"(%4) : (tensor<4x1xf32>) -> tensor<1x4xf32>
  %6 = "graph.reduce"(%x) {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<4x6xf32>) -> tensor<4xf32>
  %7 = "graph.reshape"(%6) : (tensor<4xf32>) -> tensor<4x1xf32>
  return %1, %3, %5, %6, %7 : tensor<6xf32>, tensor<4x1xf32>, tensor<1x4xf32>, tensor<4xf32>, tensor<4x1xf32>
}

// Rows and batches that are alike are multiplied once; all of the contracted dimension has to be there.
// CHECK-LABEL: func.func @broadcast_factor
func.func @broadcast_factor(%q: tensor<1x3x8xf32>, %r: tensor<3x1xf32>, %w: tensor<8x5xf32>)
    -> (tensor<2x3x5xf32>, tensor<4x3x5xf32>) {
  // CHECK: %[[P:.*]] = "graph.matmul"(%arg0, %arg2) : (tensor<1x3x8xf32>, tensor<8x5xf32>) -> tensor<1x3x5xf32>
  // CHECK: %[[Y:.*]] = "graph.broadcast_to"(%[[P]]) : (tensor<1x3x5xf32>) -> tensor<2x3x5xf32>
  // CHECK: %[[R:.*]] = "graph.broadcast_to"(%arg1) : (tensor<3x1xf32>) -> tensor<3x8xf32>
  // CHECK: %[[S:.*]] = "graph.matmul"(%[[R]], %arg2) : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  // CHECK: %[[Z:.*]] = "graph.broadcast_to"(%[[S]]) : (tensor<3x5xf32>) -> tensor<4x3x5xf32>
  // CHECK: return %[[Y]], %[[Z]]
  %0 = "graph.broadcast_to"(%q) : (tensor<1x3x8xf32>) -> tensor<2x3x8xf32>
  %1 = "graph.matmul"(%0, %w) : (tensor<2x3x8xf32>, tensor<8x5xf32>) -> tensor<2x3x5xf32>
  %2 = "graph.broadcast_to"(%r) : (tensor<3x1xf32>) -> tensor<4x3x8xf32>
  %3 = "graph.matmul"(%2, %w) : (tensor<4x3x8xf32>, tensor<8x5xf32>) -> tensor<4x3x5xf32>
  return %1, %3 : tensor<2x3x5xf32>, tensor<4x3x5xf32>
}

// A group normalisation between two reshapes: the merge of 4x13x13 moves behind the reduction and what is broadcast.
// CHECK-LABEL: func.func @merge
func.func @merge(%x: tensor<2x32x13x13xf32>, %s: tensor<32x1x1xf32>) -> tensor<2x32x13x13xf32> {
  // CHECK-DAG: %[[X:.*]] = "graph.reshape"(%arg0) : (tensor<2x32x13x13xf32>) -> tensor<2x8x4x13x13xf32>
  // CHECK-DAG: %[[M:.*]] = "graph.reduce"({{.*}}) {axes = array<i64: 2, 3, 4>, keepdims = true, kind = "mean"}
  // CHECK: %[[C:.*]] = "graph.sub"({{.*}}, %[[M]]) : (tensor<2x8x4x13x13xf32>, tensor<2x8x1x1x1xf32>)
  // CHECK: %[[S:.*]] = "graph.reshape"(%arg1) : (tensor<32x1x1xf32>) -> tensor<1x8x4x1x1xf32>
  // CHECK: %[[P:.*]] = "graph.mul"(%[[C]], %[[S]])
  // CHECK: "graph.reshape"(%[[P]]) : (tensor<2x8x4x13x13xf32>) -> tensor<2x32x13x13xf32>
  %0 = "graph.reshape"(%x) : (tensor<2x32x13x13xf32>) -> tensor<2x8x676xf32>
  %1 = "graph.reduce"(%0) {kind = "mean", axes = array<i64: 2>, keepdims = true} : (tensor<2x8x676xf32>) -> tensor<2x8x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<2x8x676xf32>, tensor<2x8x1xf32>) -> tensor<2x8x676xf32>
  %3 = "graph.reshape"(%2) : (tensor<2x8x676xf32>) -> tensor<2x32x13x13xf32>
  %4 = "graph.mul"(%3, %s) : (tensor<2x32x13x13xf32>, tensor<32x1x1xf32>) -> tensor<2x32x13x13xf32>
  return %4 : tensor<2x32x13x13xf32>
}

// What is as large would be reshaped instead. 6x4 and 8x3 have no common split.
// CHECK-LABEL: func.func @no_merge
// WHY-DAG: BehindBroadcast refused 'graph.add': the other operand would be reshaped instead, and is as large
func.func @no_merge(%x: tensor<6x4xf32>, %y: tensor<24xf32>, %z: tensor<3xf32>) -> (tensor<24xf32>, tensor<8x3xf32>) {
  // CHECK: "graph.add"({{.*}}, %arg1) : (tensor<24xf32>, tensor<24xf32>)
  // CHECK: "graph.add"({{.*}}, %arg2) : (tensor<8x3xf32>, tensor<3xf32>)
  %0 = "graph.reshape"(%x) : (tensor<6x4xf32>) -> tensor<24xf32>
  %1 = "graph.add"(%0, %y) : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
  %2 = "graph.reshape"(%x) : (tensor<6x4xf32>) -> tensor<8x3xf32>
  %3 = "graph.add"(%2, %z) : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  return %1, %3 : tensor<24xf32>, tensor<8x3xf32>
}

// The end of a causal convolution is dropped by padding less; every other place of it is a stride of 2.
// CHECK-LABEL: func.func @causal
func.func @causal(%x: tensor<1x2x9xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x5xf32> {
  // CHECK-NEXT: "graph.conv"(%arg0, %arg1) {{{.*}}pads = array<i64: 4, 0>, strides = array<i64: 2>}
  // CHECK-NEXT: return
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 4, 4>, dilations = array<i64: 2>, group = 1 : i64}
      : (tensor<1x2x9xf32>, tensor<4x2x3xf32>) -> tensor<1x4x13xf32>
  %1 = "graph.slice"(%0) {starts = array<i64: 0, 0, 0>, limits = array<i64: 1, 4, 9>, steps = array<i64: 1, 1, 2>}
      : (tensor<1x4x13xf32>) -> tensor<1x4x5xf32>
  return %1 : tensor<1x4x5xf32>
}

// 4 x 65 rows stay apart in products with matrices and what is added to rows, and 4 x 6 heads in products of batches.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4x65x16xf32>, %w: tensor<16x24xf32>, %b: tensor<24xf32>) -> tensor<4x65x6x4xf32> {
  // CHECK-NEXT: %[[PRODUCT:.*]] = "graph.matmul"(%arg0, %arg1) : (tensor<4x65x16xf32>, tensor<16x24xf32>)
  // CHECK-NEXT: %[[SUM:.*]] = "graph.add"(%[[PRODUCT]], %arg2) : (tensor<4x65x24xf32>, tensor<24xf32>)
  // CHECK-NEXT: "graph.reshape"(%[[SUM]]) : (tensor<4x65x24xf32>) -> tensor<4x65x6x4xf32>
  // CHECK-NEXT: return
  %0 = "graph.reshape"(%x) : (tensor<4x65x16xf32>) -> tensor<260x16xf32>
  %1 = "graph.matmul"(%0, %w) : (tensor<260x16xf32>, tensor<16x24xf32>) -> tensor<260x24xf32>
  %2 = "graph.add"(%1, %b) : (tensor<260x24xf32>, tensor<24xf32>) -> tensor<260x24xf32>
  %3 = "graph.reshape"(%2) : (tensor<260x24xf32>) -> tensor<4x65x6x4xf32>
  return %3 : tensor<4x65x6x4xf32>
}

// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<4x6x65x8xf32>, %y: tensor<4x6x8x65xf32>) -> tensor<4x6x65x65xf32> {
  // CHECK-NEXT: "graph.matmul"(%arg0, %arg1) : (tensor<4x6x65x8xf32>, tensor<4x6x8x65xf32>)
  // CHECK-NEXT: return
  %0 = "graph.reshape"(%x) : (tensor<4x6x65x8xf32>) -> tensor<24x65x8xf32>
  %1 = "graph.reshape"(%y) : (tensor<4x6x8x65xf32>) -> tensor<24x8x65xf32>
  %2 = "graph.matmul"(%0, %1) : (tensor<24x65x8xf32>, tensor<24x8x65xf32>) -> tensor<24x65x65xf32>
  %3 = "graph.reshape"(%2) : (tensor<24x65x65xf32>) -> tensor<4x6x65x65xf32>
  return %3 : tensor<4x6x65x65xf32>
}

// Who works on one batch after another finds it; nothing takes 260 rows apart.
// CHECK-LABEL: func.func @joined
// WHY-DAG: BehindMatrix refused 'graph.matmul': nothing takes the rows apart again
func.func @joined(%x: tensor<4x64x16xf32>, %y: tensor<4x65x16xf32>, %w: tensor<16x24xf32>)
    -> (tensor<4x64x24xf32>, tensor<260x24xf32>) {
  // CHECK: "graph.matmul"({{.*}}) : (tensor<4x64x16xf32>, tensor<16x24xf32>)
  // CHECK: "graph.matmul"({{.*}}) : (tensor<260x16xf32>, tensor<16x24xf32>)
  %0 = "graph.reshape"(%x) : (tensor<4x64x16xf32>) -> tensor<256x16xf32>
  %1 = "graph.matmul"(%0, %w) : (tensor<256x16xf32>, tensor<16x24xf32>) -> tensor<256x24xf32>
  %2 = "graph.reshape"(%1) : (tensor<256x24xf32>) -> tensor<4x64x24xf32>
  %3 = "graph.reshape"(%y) : (tensor<4x65x16xf32>) -> tensor<260x16xf32>
  %4 = "graph.matmul"(%3, %w) : (tensor<260x16xf32>, tensor<16x24xf32>) -> tensor<260x24xf32>
  return %2, %4 : tensor<4x64x24xf32>, tensor<260x24xf32>
}

// Gradients of slices: each is there once, with zeros where there is none, in whatever order they are added.
// CHECK-LABEL: func.func @pieces
// WHY-DAG: JoinedPieces refused 'graph.add': the pieces overlap
func.func @pieces(%a: tensor<1x4xf32>, %b: tensor<1x4xf32>, %c: tensor<2x4xf32>, %d: tensor<6x4xf32>)
    -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  // CHECK: %[[GAP:.*]] = "graph.pad"(%arg0) {high = array<i64: 0, 0>, low = array<i64: 1, 0>
  // CHECK: %[[TWO:.*]] = "graph.concat"(%arg1, %[[GAP]]) {axis = 0 : i64}
  // CHECK: %[[ALL:.*]] = "graph.concat"(%[[TWO]], %arg2) {axis = 0 : i64}
  // CHECK: %[[WIDE:.*]] = "graph.pad"(%[[ALL]]) {high = array<i64: 1, 0>, low = array<i64: 0, 0>
  // CHECK: "graph.add"(%[[WIDE]], %arg3)
  %0 = "graph.pad"(%a) {low = array<i64: 2, 0>, high = array<i64: 3, 0>, value = 0.0 : f32, mode = "constant"} : (tensor<1x4xf32>) -> tensor<6x4xf32>
  %1 = "graph.pad"(%c) {low = array<i64: 3, 0>, high = array<i64: 1, 0>, value = 0.0 : f32, mode = "constant"} : (tensor<2x4xf32>) -> tensor<6x4xf32>
  %2 = "graph.pad"(%b) {low = array<i64: 0, 0>, high = array<i64: 5, 0>, value = 0.0 : f32, mode = "constant"} : (tensor<1x4xf32>) -> tensor<6x4xf32>
  %3 = "graph.add"(%0, %d) : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %4 = "graph.add"(%3, %1) : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %5 = "graph.add"(%2, %4) : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  // CHECK: "graph.pad"
  // CHECK: "graph.pad"
  // CHECK: "graph.add"
  // CHECK-NEXT: return
  %6 = "graph.pad"(%c) {low = array<i64: 0, 0>, high = array<i64: 4, 0>, value = 0.0 : f32, mode = "constant"} : (tensor<2x4xf32>) -> tensor<6x4xf32>
  %7 = "graph.pad"(%a) {low = array<i64: 1, 0>, high = array<i64: 4, 0>, value = 0.0 : f32, mode = "constant"} : (tensor<1x4xf32>) -> tensor<6x4xf32>
  %8 = "graph.add"(%6, %7) : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %5, %8 : tensor<6x4xf32>, tensor<6x4xf32>
}

// The sign of a zero reaches a divisor, but as a part of a square.
// CHECK-LABEL: func.func @pieces_for_squares
func.func @pieces_for_squares(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: "graph.concat"(%arg0, %arg1) {axis = 0 : i64}
  // CHECK-NEXT: "graph.mul"
  %0 = "graph.pad"(%a) {low = array<i64: 0, 0>, high = array<i64: 2, 0>, value = 0.0 : f32, mode = "constant"} : (tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = "graph.pad"(%b) {low = array<i64: 2, 0>, high = array<i64: 0, 0>, value = 0.0 : f32, mode = "constant"} : (tensor<2x4xf32>) -> tensor<4x4xf32>
  %2 = "graph.add"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "graph.mul"(%2, %2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = "graph.div"(%2, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// Heads of queries and keys, written in steps: slices move to the features, and each has one reshape and one
// transposition.
// CHECK-LABEL: func.func @heads_in_steps
func.func @heads_in_steps(%x: tensor<5x3x24xf32>) -> (tensor<3x2x5x6xf32>, tensor<3x2x6x5xf32>) {
  // CHECK-NEXT: %[[Q:.*]] = "graph.slice"(%arg0) {limits = array<i64: 5, 3, 12>, starts = array<i64: 0, 0, 0>
  // CHECK-NEXT: %[[K:.*]] = "graph.slice"(%arg0) {limits = array<i64: 5, 3, 24>, starts = array<i64: 0, 0, 12>
  // CHECK-NEXT: %[[QH:.*]] = "graph.reshape"(%[[Q]]) : (tensor<5x3x12xf32>) -> tensor<5x3x2x6xf32>
  // CHECK-NEXT: %[[QT:.*]] = "graph.transpose"(%[[QH]]) {permutation = array<i64: 1, 2, 0, 3>}
  // CHECK-NEXT: %[[KH:.*]] = "graph.reshape"(%[[K]]) : (tensor<5x3x12xf32>) -> tensor<5x3x2x6xf32>
  // CHECK-NEXT: %[[KT:.*]] = "graph.transpose"(%[[KH]]) {permutation = array<i64: 1, 2, 3, 0>}
  // CHECK-NEXT: return %[[QT]], %[[KT]]
  %0 = "graph.reshape"(%x) : (tensor<5x3x24xf32>) -> tensor<5x3x2x12xf32>
  %1 = "graph.transpose"(%0) {permutation = array<i64: 2, 0, 1, 3>} : (tensor<5x3x2x12xf32>) -> tensor<2x5x3x12xf32>
  %2 = "graph.slice"(%1) {starts = array<i64: 0, 0, 0, 0>, limits = array<i64: 1, 5, 3, 12>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x5x3x12xf32>) -> tensor<1x5x3x12xf32>
  %3 = "graph.slice"(%1) {starts = array<i64: 1, 0, 0, 0>, limits = array<i64: 2, 5, 3, 12>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x5x3x12xf32>) -> tensor<1x5x3x12xf32>
  %4 = "graph.reshape"(%2) : (tensor<1x5x3x12xf32>) -> tensor<5x6x6xf32>
  %5 = "graph.transpose"(%4) {permutation = array<i64: 1, 0, 2>} : (tensor<5x6x6xf32>) -> tensor<6x5x6xf32>
  %6 = "graph.reshape"(%5) : (tensor<6x5x6xf32>) -> tensor<3x2x5x6xf32>
  %7 = "graph.reshape"(%3) : (tensor<1x5x3x12xf32>) -> tensor<5x6x6xf32>
  %8 = "graph.transpose"(%7) {permutation = array<i64: 1, 0, 2>} : (tensor<5x6x6xf32>) -> tensor<6x5x6xf32>
  %9 = "graph.reshape"(%8) : (tensor<6x5x6xf32>) -> tensor<3x2x5x6xf32>
  %10 = "graph.transpose"(%9) {permutation = array<i64: 0, 1, 3, 2>} : (tensor<3x2x5x6xf32>) -> tensor<3x2x6x5xf32>
  return %6, %10 : tensor<3x2x5x6xf32>, tensor<3x2x6x5xf32>
}

// Rows of batches are taken apart although the reshape joins heads, too.
// CHECK-LABEL: func.func @rows_and_heads
func.func @rows_and_heads(%x: tensor<2x3x2x4xf32>, %w: tensor<8x5xf32>) -> tensor<2x3x5xf32> {
  // CHECK-NEXT: %[[X:.*]] = "graph.reshape"(%arg0) : (tensor<2x3x2x4xf32>) -> tensor<2x3x8xf32>
  // CHECK-NEXT: %[[P:.*]] = "graph.matmul"(%[[X]], %arg1) : (tensor<2x3x8xf32>, tensor<8x5xf32>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: return %[[P]]
  %0 = "graph.reshape"(%x) : (tensor<2x3x2x4xf32>) -> tensor<6x8xf32>
  %1 = "graph.matmul"(%0, %w) : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
  %2 = "graph.reshape"(%1) : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
  return %2 : tensor<2x3x5xf32>
}

// A batch of one that is dropped for a product has it again behind the product.
// CHECK-LABEL: func.func @batch_of_one
func.func @batch_of_one(%x: tensor<1x3x5x4xf32>, %y: tensor<3x4x6xf32>) -> tensor<1x3x5x6xf32> {
  // CHECK-NEXT: %[[Y:.*]] = "graph.reshape"(%arg1) : (tensor<3x4x6xf32>) -> tensor<1x3x4x6xf32>
  // CHECK-NEXT: %[[P:.*]] = "graph.matmul"(%arg0, %[[Y]]) : (tensor<1x3x5x4xf32>, tensor<1x3x4x6xf32>) -> tensor<1x3x5x6xf32>
  // CHECK-NEXT: return %[[P]]
  %0 = "graph.reshape"(%x) : (tensor<1x3x5x4xf32>) -> tensor<3x5x4xf32>
  %1 = "graph.matmul"(%0, %y) : (tensor<3x5x4xf32>, tensor<3x4x6xf32>) -> tensor<3x5x6xf32>
  %2 = "graph.reshape"(%1) : (tensor<3x5x6xf32>) -> tensor<1x3x5x6xf32>
  return %2 : tensor<1x3x5x6xf32>
}
