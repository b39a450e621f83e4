// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,fuse-elementwise,pad{multiples=8 kinds=contraction,reduction})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,fuse-elementwise,pad{multiples=8 kinds=contraction,reduction})' --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// CHECK-LABEL: func.func @main
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: tensor.pad %arg0 low[0, 0] high[6, 1]
// CHECK: tensor.pad %arg1 low[0, 0] high[1, 3]
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<16x8xf32>, tensor<8x8xf32>) outs(%{{.*}} : tensor<16x8xf32>)
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [10, 5] [1, 1]
func.func @main(%x: tensor<10x7xf32>, %w: tensor<7x5xf32>) -> tensor<10x5xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<10x7xf32>, tensor<7x5xf32>) -> tensor<10x5xf32>
  return %0 : tensor<10x5xf32>
}

// CHECK-LABEL: func.func @maximum
// CHECK: arith.constant 0xFF800000
// CHECK: tensor.pad %arg0 low[0] high[1]
func.func @maximum(%x: tensor<7xf32>) -> tensor<f32> {
  %0 = "graph.reduce"(%x) {kind = "max", axes = array<i64: 0>, keepdims = false} : (tensor<7xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// exp of the padding would be counted.
// CHECK-LABEL: func.func @refused
// CHECK-NOT: tensor.pad
// WHY: Pad refused 'linalg.generic': no padding value is neutral for its reduction
func.func @refused(%x: tensor<7xf32>) -> tensor<f32> {
  %0 = "graph.exp"(%x) : (tensor<7xf32>) -> tensor<7xf32>
  %1 = "graph.reduce"(%0) {kind = "sum", axes = array<i64: 0>, keepdims = false} : (tensor<7xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
