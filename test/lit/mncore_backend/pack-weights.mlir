// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(pack-weights)' | FileCheck %s
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(pack-weights,select-instructions)' | FileCheck %s --check-prefix=CODE

#x = #mncore.placed<"LM", "4x64", "((4:8), (8:1, 4_PE:1, 2_W:1))">
#w = #mncore.placed<"LM", "64x16", "((8:1, 4_PE:1, 2_W:1), (2:64, 8:8))">
#y = #mncore.placed<"LM", "4x16", "((4:2), (2:1, 4_PE:1, 2_W:1))">
!x = memref<32x2xf32, #x>
!w = memref<128x2xf32, #w>
!y = memref<8x2xf32, #y>
!dram = memref<64x16xf32, #mncore.memory<"DRAM">>
!rows = memref<4x64xf32, #mncore.memory<"DRAM">>
!result = memref<4x16xf32, #mncore.memory<"DRAM">>

// 128 long words of singles become four matrices of 16 long words of halves; a bank is filled by two writes, without a
// conversion in front of them. How the singles would lie says which row and column is which.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = "mncore.constant"() {encoding = "half-blocks", onnx.name = "w"
// CHECK-SAME: tensor<1024xf32>} : () -> memref<512xi32
// CHECK: %[[PACKED:.*]] = memref.alloc() : memref<64x2xi32, #mncore.placed<"LM", "512", "((64:1, 4_PE:1, 2_W:1),)">>
// CHECK: "mncore.dl"(%[[W]], %[[PACKED]])
// CHECK: "mncore.matmul"(%{{[a-z_0-9]*}}, %[[PACKED]], %{{[a-z_0-9]*}})
// CHECK-SAME: packed = #mncore.placed<"LM", "64x16", "((8:1, 4_PE:1, 2_W:1), (2:64, 8:8))">
// CODE: mncore.image{{.*}}encoding = "half-blocks"
// CODE: hbfn | modifier=/9
// CODE-NEXT: hmwrite | %b1.ll[0,4,8,12] | -> $llx0
// CODE-NEXT: hmwrite | %b1.ll[16,20,24,28] | -> $llx8
// CODE-NOT: $nowrite
// CODE: hmfma
func.func @main(%rows: !rows {onnx.name = "x", mncore.role = "input"}, %result: !result {onnx.name = "y", mncore.role = "output"}) {
  %x = memref.alloc() : !x
  "mncore.dl"(%rows, %x) : (!rows, !x) -> ()
  %weights = "mncore.constant"() {value = dense<1.0> : tensor<64x16xf32>, onnx.name = "w"} : () -> !dram
  %w = memref.alloc() : !w
  "mncore.dl"(%weights, %w) : (!dram, !w) -> ()
  %y = memref.alloc() : !y
  "mncore.matmul"(%x, %w, %y) {x_dims = ["m0", "k1"], w_dims = ["k1", "n2"], y_dims = ["m0", "n2"], precision = "half", operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!x, !w, !y) -> ()
  "mncore.ul"(%y, %result) : (!y, !result) -> ()
  return
}

// -----

#x = #mncore.placed<"LM", "4x64", "((4:8), (8:1, 4_PE:1, 2_W:1))">
#w = #mncore.placed<"LM", "64x16", "((8:1, 4_PE:1, 2_W:1), (2:64, 8:8))">
#y = #mncore.placed<"LM", "4x16", "((4:2), (2:1, 4_PE:1, 2_W:1))">
!x = memref<32x2xf32, #x>
!w = memref<128x2xf32, #w>
!y = memref<8x2xf32, #y>
!dram = memref<64x16xf32, #mncore.memory<"DRAM">>

// Another precision, and a matrix that somebody else reads, stay as they are. The machine converts them.
// CHECK-LABEL: func.func @main
// CHECK-NOT: half-blocks
// CHECK-NOT: packed
// CODE: gbfn{{.*}} -> $nowrite
// CODE-NEXT: gmwrite
// CODE: hbfn{{.*}} -> $nowrite
// CODE-NEXT: hmwrite | $aluf | -> $lx0
func.func @main(%result: !dram {onnx.name = "y", mncore.role = "output"}) {
  %x = memref.alloc() : !x
  %y = memref.alloc() : !y
  %weights = "mncore.constant"() {value = dense<1.0> : tensor<64x16xf32>, onnx.name = "w"} : () -> !dram
  %v = memref.alloc() : !w
  %w = memref.alloc() : !w
  "mncore.dl"(%weights, %v) : (!dram, !w) -> ()
  "mncore.dl"(%weights, %w) : (!dram, !w) -> ()
  "mncore.matmul"(%x, %v, %y) {x_dims = ["m0", "k1"], w_dims = ["k1", "n2"], y_dims = ["m0", "n2"], precision = "pseudo-single", operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!x, !w, !y) -> ()
  "mncore.matmul"(%x, %w, %y) {x_dims = ["m0", "k1"], w_dims = ["k1", "n2"], y_dims = ["m0", "n2"], precision = "half", operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!x, !w, !y) -> ()
  "mncore.ul"(%w, %result) : (!w, !dram) -> ()
  return
}
