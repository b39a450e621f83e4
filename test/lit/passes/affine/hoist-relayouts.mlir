// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(hoist-relayouts)' | FileCheck %s

!dram = memref<16x16xf32, #mncore.memory<"DRAM">>
!rows = memref<16x2xf32, #mncore.placed<"LM", "16x16", "((16:1), (2_MAB:1, 4_PE:1, 2_W:1))">>
!columns = memref<16x2xf32, #mncore.placed<"LM", "16x16", "((2_MAB:1, 4_PE:1, 2_W:1), (16:1))">>

// Behind the first that reads the weights, which is not to wait; the second relayout of them follows the first.
// CHECK-LABEL: func.func @first_use
// CHECK: "mncore.dl"(%{{.*}}, %[[W:[a-z_0-9]+]])
// CHECK: "mncore.matmul"(%{{.*}}, %[[W]]
// CHECK-NEXT: %[[A:[a-z_0-9]+]] = memref.alloc
// CHECK-NEXT: "mncore.relayout"(%[[W]], %[[A]])
// CHECK-NEXT: %[[B:[a-z_0-9]+]] = memref.alloc
// CHECK-NEXT: "mncore.relayout"(%[[W]], %[[B]])
// CHECK: affine.for
func.func @first_use(%in: !dram, %x: !rows, %y: !rows, %z: !rows) {
  %w = memref.alloc() : !rows
  "mncore.dl"(%in, %w) : (!dram, !rows) -> ()
  "mncore.matmul"(%x, %w, %y) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, precision = "single", w_dims = ["n", "k"], x_dims = ["m", "k"], y_dims = ["m", "n"]} : (!rows, !rows, !rows) -> ()
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 2 {
      %0 = affine.load %y[%i, %j] : !rows
      affine.store %0, %z[%i, %j] : !rows
    }
  }
  %a = memref.alloc() : !columns
  "mncore.relayout"(%w, %a) : (!rows, !columns) -> ()
  %b = memref.alloc() : !columns
  "mncore.relayout"(%w, %b) : (!rows, !columns) -> ()
  return
}

// -----

!dram = memref<16x16xf32, #mncore.memory<"DRAM">>
!rows = memref<16x2xf32, #mncore.placed<"LM", "16x16", "((16:1), (2_MAB:1, 4_PE:1, 2_W:1))">>
!columns = memref<16x2xf32, #mncore.placed<"LM", "16x16", "((2_MAB:1, 4_PE:1, 2_W:1), (16:1))">>

// What was computed stays where it is, and so does what is written after the load.
// CHECK-LABEL: func.func @stays
// CHECK: "mncore.dl"
// CHECK-NEXT: affine.for
// CHECK: affine.store
// CHECK: memref.alloc
// CHECK-NEXT: "mncore.relayout"
func.func @stays(%in: !dram) {
  %w = memref.alloc() : !rows
  "mncore.dl"(%in, %w) : (!dram, !rows) -> ()
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 2 {
      %0 = affine.load %w[%i, %j] : !rows
      %1 = arith.addf %0, %0 : f32
      affine.store %1, %w[%i, %j] : !rows
    }
  }
  %a = memref.alloc() : !columns
  "mncore.relayout"(%w, %a) : (!rows, !columns) -> ()
  return
}

// -----

!dram = memref<16384x16xf32, #mncore.memory<"DRAM">>
!rows = memref<2048x2xf32, #mncore.placed<"LM", "16384x16", "((8_L2B:1, 2048:1), (2_MAB:1, 4_PE:1, 2_W:1))">>
!turn = memref<2048x2xf32, #mncore.placed<"LM", "16384x16", "((8_L1B:1, 2048:1), (2_MAB:1, 4_PE:1, 2_W:1))">>

// Both would have to stay in the local memories, which the third leaves no room for.
// CHECK-LABEL: func.func @large
// CHECK: "mncore.dl"
// CHECK-NEXT: memref.alloc
// CHECK-NEXT: affine.for
func.func @large(%in: !dram, %x: !rows) {
  %w = memref.alloc() : !rows
  "mncore.dl"(%in, %w) : (!dram, !rows) -> ()
  %z = memref.alloc() : !rows
  affine.for %i = 0 to 2048 {
    affine.for %j = 0 to 2 {
      %0 = affine.load %x[%i, %j] : !rows
      affine.store %0, %z[%i, %j] : !rows
    }
  }
  %a = memref.alloc() : !turn
  "mncore.relayout"(%w, %a) : (!rows, !turn) -> ()
  return
}
