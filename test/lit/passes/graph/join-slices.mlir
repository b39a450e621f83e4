// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(join-slices,canonicalize)' | FileCheck %s
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(join-slices)' --explain 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=WHY

// Gates of a recurrent cell: three of four are the same function; what is computed between them is left there.
// CHECK-LABEL: func.func @gates
// CHECK: %[[C:.*]] = "graph.slice"(%arg0) {limits = array<i64: 2, 12>, starts = array<i64: 0, 8>
// CHECK: %[[S:.*]] = "graph.sigmoid"(%arg0) : (tensor<2x16xf32>) -> tensor<2x16xf32>
// CHECK: %[[A:.*]] = "graph.slice"(%[[S]]) {limits = array<i64: 2, 4>, starts = array<i64: 0, 0>
// CHECK: %[[B:.*]] = "graph.slice"(%[[S]]) {limits = array<i64: 2, 8>, starts = array<i64: 0, 4>
// CHECK: %[[D:.*]] = "graph.slice"(%[[S]]) {limits = array<i64: 2, 16>, starts = array<i64: 0, 12>
// CHECK: %[[T:.*]] = "graph.tanh"(%[[C]])
// CHECK-NOT: graph.sigmoid
// CHECK: return %[[A]], %[[B]], %[[T]], %[[D]]
func.func @gates(%z: tensor<2x16xf32>)
    -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = "graph.slice"(%z) {limits = array<i64: 2, 4>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %1 = "graph.slice"(%z) {limits = array<i64: 2, 8>, starts = array<i64: 0, 4>, steps = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %2 = "graph.slice"(%z) {limits = array<i64: 2, 12>, starts = array<i64: 0, 8>, steps = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %3 = "graph.slice"(%z) {limits = array<i64: 2, 16>, starts = array<i64: 0, 12>, steps = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %4 = "graph.sigmoid"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = "graph.sigmoid"(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = "graph.tanh"(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = "graph.sigmoid"(%3) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %4, %5, %6, %7 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Two tensors that are sliced alike, and a number: sums are joined, then what is computed of them.
// CHECK-LABEL: func.func @sums
// CHECK: %[[X:.*]] = "graph.slice"(%arg0) {limits = array<i64: 2, 8>, starts = array<i64: 0, 0>
// CHECK: %[[Y:.*]] = "graph.slice"(%arg1) {limits = array<i64: 2, 8>, starts = array<i64: 0, 0>
// CHECK: %[[A:.*]] = "graph.add"(%[[X]], %[[Y]])
// CHECK: %[[M:.*]] = "graph.mul"(%[[A]], %{{.*}}) : (tensor<2x8xf32>, tensor<f32>)
// CHECK-NOT: graph.add
// CHECK-NOT: graph.mul
// CHECK: "graph.slice"(%[[M]]) {limits = array<i64: 2, 4>, starts = array<i64: 0, 0>
// CHECK: "graph.slice"(%[[M]]) {limits = array<i64: 2, 8>, starts = array<i64: 0, 4>
func.func @sums(%x: tensor<2x12xf32>, %y: tensor<2x12xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.slice"(%x) {limits = array<i64: 2, 4>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<2x12xf32>) -> tensor<2x4xf32>
  %1 = "graph.slice"(%y) {limits = array<i64: 2, 4>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<2x12xf32>) -> tensor<2x4xf32>
  %2 = "graph.slice"(%x) {limits = array<i64: 2, 8>, starts = array<i64: 0, 4>, steps = array<i64: 1, 1>} : (tensor<2x12xf32>) -> tensor<2x4xf32>
  %3 = "graph.slice"(%y) {limits = array<i64: 2, 8>, starts = array<i64: 0, 4>, steps = array<i64: 1, 1>} : (tensor<2x12xf32>) -> tensor<2x4xf32>
  %4 = "graph.add"(%0, %1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = "graph.add"(%2, %3) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = "graph.mul"(%4, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %7 = "graph.mul"(%5, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %6, %7 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: graph.exp
// WHY: JoinSlices refused 'graph.exp': too many elements lie between the slices
func.func @apart(%x: tensor<99xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "graph.slice"(%x) {limits = array<i64: 2>, starts = array<i64: 0>, steps = array<i64: 1>} : (tensor<99xf32>) -> tensor<2xf32>
  %1 = "graph.slice"(%x) {limits = array<i64: 99>, starts = array<i64: 97>, steps = array<i64: 1>} : (tensor<99xf32>) -> tensor<2xf32>
  %2 = "graph.exp"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "graph.exp"(%1) : (tensor<2xf32>) -> tensor<2xf32>
  return %2, %3 : tensor<2xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @large
// CHECK-COUNT-2: graph.exp
// WHY: JoinSlices refused 'graph.exp': the slices have enough elements each
func.func @large(%x: tensor<2x4096xf32>) -> (tensor<1x4096xf32>, tensor<1x4096xf32>) {
  %0 = "graph.slice"(%x) {limits = array<i64: 1, 4096>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<2x4096xf32>) -> tensor<1x4096xf32>
  %1 = "graph.slice"(%x) {limits = array<i64: 2, 4096>, starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : (tensor<2x4096xf32>) -> tensor<1x4096xf32>
  %2 = "graph.exp"(%0) : (tensor<1x4096xf32>) -> tensor<1x4096xf32>
  %3 = "graph.exp"(%1) : (tensor<1x4096xf32>) -> tensor<1x4096xf32>
  return %2, %3 : tensor<1x4096xf32>, tensor<1x4096xf32>
}

// -----

// Steps of a slice, slices of different tensors, and operands that broadcast are left alone.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: graph.exp
// CHECK-COUNT-2: graph.tanh
// CHECK-COUNT-2: graph.add
func.func @others(%x: tensor<8xf32>, %y: tensor<8xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.slice"(%x) {limits = array<i64: 7>, starts = array<i64: 0>, steps = array<i64: 2>} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = "graph.slice"(%x) {limits = array<i64: 8>, starts = array<i64: 1>, steps = array<i64: 2>} : (tensor<8xf32>) -> tensor<4xf32>
  %2 = "graph.slice"(%x) {limits = array<i64: 4>, starts = array<i64: 0>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<4xf32>
  %3 = "graph.slice"(%x) {limits = array<i64: 8>, starts = array<i64: 4>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<4xf32>
  %4 = "graph.slice"(%y) {limits = array<i64: 8>, starts = array<i64: 4>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<4xf32>
  %5 = "graph.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = "graph.exp"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = "graph.tanh"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %8 = "graph.tanh"(%4) : (tensor<4xf32>) -> tensor<4xf32>
  %9 = "graph.add"(%2, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %10 = "graph.add"(%3, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5, %6, %7, %8, %9, %10 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
