// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,fuse-elementwise,order-loops,tensor-to-memref{deallocate=true},linalg-to-affine)' | mnc-translate --emit-cpp | FileCheck %s

// One function per nest of loops, with the innermost loop along memory, and the element-wise rest in one expression.
// CHECK: #include "model.h"
// CHECK: #include "weights.h"
// CHECK: T maximum(T a, T b) {
// CHECK: void compute(
// CHECK: float* __restrict y,
// CHECK-NEXT: const float* __restrict x,
// CHECK-NEXT: const float* __restrict [[WEIGHT:[a-z_0-9]+]],
// CHECK-NEXT: const float* __restrict [[BIAS:[a-z_0-9]+]]) {
// CHECK: = 0.0f;
// CHECK: for (std::int64_t i = 0; i < 4; ++i) {
// CHECK-NEXT: for (std::int64_t j = 0; j < 5; ++j) {
// CHECK-NEXT: for (std::int64_t k = 0; k < 3; ++k) {
// CHECK-NEXT: y[i * 3 + k] = y[i * 3 + k] + x[i * 5 + j] * [[WEIGHT]][j * 3 + k];
// CHECK: y[i * 3 + j] = maximum<float>(y[i * 3 + j] + [[BIAS]][j], 0.0f);
// CHECK: void run(const float* x, float* y) {
// CHECK-NEXT: compute(y, x, weights::[[WEIGHT]](), weights::[[BIAS]]());
func.func @main(%x: tensor<4x5xf32> {onnx.name = "x"}) -> (tensor<4x3xf32> {onnx.name = "y"}) {
  %w = "graph.constant"() {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<5x3xf32>} : () -> tensor<5x3xf32>
  %b = "graph.constant"() {value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>} : () -> tensor<3xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %1 = "graph.add"(%0, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %2 = "graph.relu"(%1) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}
