// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg)' | FileCheck %s

// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[PINNED:.*]] = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1, d2) -> (d1, 0)>
// CHECK-DAG: #[[SWAPPED:.*]] = affine_map<(d0, d1) -> (d1, d0)>

// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<2x1x4xf32> {onnx.name = "x"}, %y: tensor<3x1xf32>) -> (tensor<2x3x4xf32> {onnx.name = "z"}) {
  // CHECK-SAME: onnx.name = "x"
  // CHECK-SAME: onnx.name = "z"
  // CHECK: linalg.generic {indexing_maps = [#[[PINNED]], #[[COLUMN]], #[[ALL]]], iterator_types = ["parallel", "parallel", "parallel"]}
  // CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : f32
  // CHECK-NEXT: linalg.yield %[[SUM]]
  %0 = "graph.add"(%x, %y) : (tensor<2x1x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @mask
func.func @mask(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: arith.cmpf ogt
  // CHECK: -> tensor<4xi1>
  %0 = "graph.greater"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: arith.select
  %1 = "graph.where"(%0, %x, %y) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @unsigned(
// CHECK-SAME: tensor<4xi8> {mnc.unsigned}
func.func @unsigned(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xui8> {
  // CHECK: arith.divui
  %0 = "graph.div"(%x, %y) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// CHECK-LABEL: func.func @transpose
func.func @transpose(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // CHECK: linalg.generic {indexing_maps = [#[[SWAPPED]], #{{.*}}]
  // CHECK: linalg.yield %in
  %0 = "graph.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @round_to
func.func @round_to(%x: tensor<4xf32>) -> tensor<4xi32> {
  // CHECK: arith.bitcast %{{.*}} : f32 to i32
  // CHECK: arith.bitcast %{{.*}} : i32 to f32
  // CHECK: arith.cmpf oge
  %0 = "graph.round_to"(%x) {format = "float8_e5m2"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: arith.bitcast %{{.*}} : f32 to i32
  // CHECK-NEXT: linalg.yield
  %1 = "graph.bitcast"(%0) : (tensor<4xf32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}
