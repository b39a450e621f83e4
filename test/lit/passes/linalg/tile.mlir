// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,tile{sizes=4,0,8})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,tile{sizes=4,0,8})' --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,fuse-elementwise,tile{sizes=4 kinds=injective fuse=true})' | FileCheck %s --check-prefix=FUSED

// CHECK-LABEL: func.func @main
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c4
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c16 step %c8
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x8xf32>, tensor<8x12xf32>)
// The last 4 of 20 are peeled off, so every shape stays static.
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xf32>, tensor<4x12xf32>)
// CHECK-NOT: ?x
// CHECK: return

// FUSED-LABEL: func.func @main
// FUSED: scf.for
// FUSED: iterator_types = ["parallel", "parallel", "reduction"]
// FUSED: mnc.epilogue
// FUSED: scf.yield
func.func @main(%x: tensor<16x20xf32>, %w: tensor<20x12xf32>, %b: tensor<12xf32>) -> tensor<16x12xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<16x20xf32>, tensor<20x12xf32>) -> tensor<16x12xf32>
  %1 = "graph.add"(%0, %b) : (tensor<16x12xf32>, tensor<12xf32>) -> tensor<16x12xf32>
  return %1 : tensor<16x12xf32>
}

// WHY: Tile refused 'linalg.generic': it has 2 loops and there are 3 tile sizes
func.func @dot(%x: tensor<20xf32>, %w: tensor<20x12xf32>) -> tensor<12xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<20xf32>, tensor<20x12xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}
