// RUN: mnc-opt %s --pass-pipeline='builtin.module(spill-buffers{percent=80})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(spill-buffers)' | FileCheck %s --check-prefix=ROOM

!large = memref<1300x2xf32, #mncore.placed<"LM", "1300x8192", "((1300:1), (8_L2B:1, 8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))">>
!dram = memref<1300x8192xf32, #mncore.memory<"DRAM">>

// %a waits while %b and %c are in use: it is stored, and comes back to a buffer of its own. %w, which DRAM holds anyway,
// is loaded again.
// CHECK-LABEL: func.func @waits
// CHECK: %[[A:[a-z_0-9]+]] = memref.alloc()
// CHECK: "mncore.dl"(%arg0, %[[W:[a-z_0-9]+]])
// CHECK: %[[D:[a-z_0-9]+]] = "mncore.scratch"()
// CHECK: "mncore.spill"(%[[A]], %[[D]])
// CHECK: "mncore.relayout"
// CHECK: "mncore.relayout"
// CHECK: "mncore.dl"(%arg0, %[[AGAIN:[a-z_0-9]+]])
// CHECK: "mncore.ul"(%[[AGAIN]], %arg2)
// CHECK: "mncore.fetch"(%[[D]], %[[BACK:[a-z_0-9]+]])
// CHECK: "mncore.ul"(%[[BACK]], %arg3)
// ROOM-LABEL: func.func @waits
// ROOM-NOT: mncore.spill
func.func @waits(%w: !dram, %x: !dram, %y: !dram, %z: !dram) {
  %a = memref.alloc() : !large
  "mncore.dl"(%x, %a) : (!dram, !large) -> ()
  "mncore.fill_padding"(%a) {value = 0 : i32} : (!large) -> ()
  %b = memref.alloc() : !large
  "mncore.dl"(%w, %b) : (!dram, !large) -> ()
  %c = memref.alloc() : !large
  "mncore.relayout"(%b, %c) : (!large, !large) -> ()
  %d = memref.alloc() : !large
  "mncore.relayout"(%c, %d) : (!large, !large) -> ()
  "mncore.ul"(%d, %y) : (!large, !dram) -> ()
  "mncore.ul"(%c, %y) : (!large, !dram) -> ()
  "mncore.ul"(%b, %y) : (!large, !dram) -> ()
  "mncore.ul"(%a, %z) : (!large, !dram) -> ()
  return
}
