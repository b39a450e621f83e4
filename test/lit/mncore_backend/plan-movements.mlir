// RUN: mnc-opt %s --pass-pipeline='builtin.module(plan-movements)' | FileCheck %s

!rows = memref<2x2xf32, #mncore.placed<"LM", "16x8", "((8_L1B:1, 2:1), (4_PE:1, 2_W:1))">>
!columns = memref<2x2xf32, #mncore.placed<"LM", "16x8", "((4_MAB:4, 2:1, 2_W:1), (2_MAB:1, 4_PE:1))">>

// Nothing is put in, nothing taken out, and a movement without a plan is not refused here.
// CHECK-LABEL: func.func @moves
// CHECK-NEXT: %[[COLUMNS:.*]] = memref.alloc()
// CHECK-NEXT: "mncore.relayout"(%arg0, %[[COLUMNS]])
// CHECK-NEXT: "mncore.gather"(%[[COLUMNS]], %arg0)
// CHECK-NEXT: return
func.func @moves(%rows: !rows) {
  %columns = memref.alloc() : !columns
  "mncore.relayout"(%rows, %columns) : (!rows, !columns) -> ()
  "mncore.gather"(%columns, %rows) {index_map = dense<0> : tensor<128xi32>, padding = 0 : i32} : (!columns, !rows) -> ()
  return
}
