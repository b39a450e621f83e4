// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,pack{sizes=8,8,8})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,pack{sizes=8,8,8})' --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,pack{sizes=8,8,8 lower=true})' | FileCheck %s --check-prefix=LOWER

// CHECK-LABEL: func.func @main
// CHECK: linalg.pack %arg0 {{.*}} inner_tiles = [8, 8] into %{{.*}} : tensor<10x20xf32> -> tensor<2x3x8x8xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "reduction"]
// CHECK: linalg.unpack
// LOWER-LABEL: func.func @main
// LOWER-NOT: linalg.pack
// LOWER: tensor.pad %arg0
// LOWER: linalg.transpose
// LOWER-NOT: linalg.unpack
// LOWER: return
func.func @main(%x: tensor<10x20xf32>, %w: tensor<20x30xf32>) -> tensor<10x30xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<10x20xf32>, tensor<20x30xf32>) -> tensor<10x30xf32>
  return %0 : tensor<10x30xf32>
}

// CHECK-LABEL: func.func @window
// CHECK-NOT: linalg.pack
// WHY: Pack refused 'linalg.generic': an index is more than a choice of loops
func.func @window(%x: tensor<1x3x9xf32>, %w: tensor<4x3x2xf32>) -> tensor<1x4x8xf32> {
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64} : (tensor<1x3x9xf32>, tensor<4x3x2xf32>) -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}
