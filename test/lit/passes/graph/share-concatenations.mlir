// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(share-concatenations,canonicalize)' | FileCheck %s
// RUN: mnc-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(share-concatenations,canonicalize,graph-to-linalg,canonicalize)' \
// RUN:   | FileCheck %s --check-prefix=LINALG

// A dense block: every layer joins the results of all layers before it.
// CHECK-LABEL: func.func @dense
// CHECK: %[[A:.*]] = "graph.concat"(%arg0, %arg1) {axis = 1 : i64}
// CHECK: %[[R:.*]] = "graph.relu"(%[[A]])
// CHECK: %[[B:.*]] = "graph.concat"(%[[A]], %[[R]]) {axis = 1 : i64}
// CHECK: %[[S:.*]] = "graph.exp"(%[[B]])
// CHECK: %[[C:.*]] = "graph.concat"(%[[B]], %[[S]]) {axis = 1 : i64}
// CHECK: return %[[C]]
// LINALG-LABEL: func.func @dense
// LINALG: %[[A:.*]] = tensor.concat dim(1) %arg0, %arg1
// LINALG: %[[B:.*]] = tensor.concat dim(1) %[[A]], %{{.*}}
// LINALG: tensor.concat dim(1) %[[B]], %{{.*}}
func.func @dense(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x16xf32> {
  %0 = "graph.concat"(%x, %y) {axis = 1} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = "graph.relu"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "graph.concat"(%y, %1) {axis = 1} : (tensor<2x1xf32>, tensor<2x4xf32>) -> tensor<2x5xf32>
  %3 = "graph.concat"(%x, %2) {axis = 1} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  %4 = "graph.exp"(%3) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = "graph.concat"(%1, %4) {axis = 1} : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<2x12xf32>
  %6 = "graph.concat"(%0, %5) {axis = 1} : (tensor<2x4xf32>, tensor<2x12xf32>) -> tensor<2x16xf32>
  return %6 : tensor<2x16xf32>
}

// -----

// The longest run is taken, wherever it begins; concatenations along another axis have nothing to give.
// CHECK-LABEL: func.func @runs
// CHECK: %[[A:.*]] = "graph.concat"(%arg0, %arg1) {axis = 0 : i64}
// CHECK: %[[B:.*]] = "graph.concat"(%[[A]], %arg0) {axis = 0 : i64}
// CHECK: %[[R:.*]] = "graph.concat"(%[[B]], %[[A]]) {axis = 0 : i64}
// CHECK: %[[C:.*]] = "graph.concat"(%arg1, %[[R]]) {axis = 0 : i64}
// CHECK: %[[D:.*]] = "graph.concat"(%arg0, %arg1) {axis = 1 : i64}
// CHECK: %[[E:.*]] = "graph.concat"(%arg1, %[[D]]) {axis = 1 : i64}
// CHECK: return %[[A]], %[[B]], %[[C]], %[[E]], %[[B]]
func.func @runs(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>)
    -> (tensor<4x2xf32>, tensor<6x2xf32>, tensor<12x2xf32>, tensor<2x6xf32>, tensor<6x2xf32>) {
  %0 = "graph.concat"(%x, %y) {axis = 0} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = "graph.concat"(%0, %x) {axis = 0} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
  %2 = "graph.concat"(%y, %x) {axis = 0} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %3 = "graph.concat"(%y, %x) {axis = 0} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %4 = "graph.concat"(%3, %0) {axis = 0} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %5 = "graph.concat"(%2, %4) {axis = 0} : (tensor<4x2xf32>, tensor<8x2xf32>) -> tensor<12x2xf32>
  %6 = "graph.concat"(%x, %y) {axis = 1} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %7 = "graph.concat"(%y, %6) {axis = 1} : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x6xf32>
  %8 = "graph.concat"(%y, %x) {axis = 0} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %9 = "graph.concat"(%x, %8) {axis = 0} : (tensor<2x2xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
  return %0, %1, %5, %7, %9 : tensor<4x2xf32>, tensor<6x2xf32>, tensor<12x2xf32>, tensor<2x6xf32>, tensor<6x2xf32>
}

// -----

// What nothing but a concatenation along the same axis reads is part of that one.
// LINALG-LABEL: func.func @chain
// LINALG: %[[A:.*]] = tensor.concat dim(1) %arg0, %arg1, %arg0 :
// LINALG: %[[B:.*]] = tensor.concat dim(0) %arg1, %arg1 :
// LINALG: %[[C:.*]] = tensor.concat dim(1) %[[B]], %[[B]] :
// LINALG: return %[[A]], %[[C]]
func.func @chain(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> (tensor<2x7xf32>, tensor<4x2xf32>) {
  %0 = "graph.concat"(%x, %y) {axis = 1} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = "graph.concat"(%0, %x) {axis = 1} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  %2 = "graph.concat"(%y, %y) {axis = 0} : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<4x1xf32>
  %3 = "graph.concat"(%2, %2) {axis = 1} : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  return %1, %3 : tensor<2x7xf32>, tensor<4x2xf32>
}
