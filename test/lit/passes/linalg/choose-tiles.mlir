// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,choose-tiles{capacity=3072 multiple=8})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,choose-tiles{capacity=65536})' | FileCheck %s --check-prefix=FITS
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,choose-tiles{capacity=8})' 2>&1 | FileCheck %s --check-prefix=SMALL

// CHECK: linalg.generic {{.*}}mnc.tile_sizes = array<i64: {{(0|8|16|24|32|40|48|56)}}, {{(0|8|16|24|32|40|48|56)}}, {{(0|8|16|24|32|40|48|56)}}>
// FITS: linalg.generic
// FITS-NOT: mnc.tile_sizes
// SMALL: error: {{.*}}does not fit into 8 bytes: its smallest tile needs 12
// SMALL-NEXT: hint:
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
