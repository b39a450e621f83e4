// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,fuse-elementwise)' --mlir-print-debuginfo | FileCheck %s

// The fused operation names both graph operations.
// CHECK: #[[FIRST:.*]] = loc("first"(
// CHECK: #[[SECOND:.*]] = loc("second"(
// CHECK: linalg.generic
// CHECK: math.exp %{{.*}} loc(#[[FIRST]])
// CHECK: arith.negf %{{.*}} loc(#[[SECOND]])
// CHECK: } -> tensor<4xf32> loc(#[[BOTH:.*]])
// CHECK: #[[BOTH]] = loc(fused[#[[FIRST]], #[[SECOND]]])
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("first"("model.onnx":0:0))
  %1 = "graph.neg"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("second"("model.onnx":0:0))
  return %1 : tensor<4xf32>
}
