// RUN: mnc-opt %s --pass-pipeline='builtin.module(plan-movements)' --split-input-file --verify-diagnostics | FileCheck %s

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

// -----

// What one operation alone needs has to fit: it is refused before anything is planned.
#wide = #mncore.placed<"LM", "5000x2", "((5000:1), (2_W:1))">
func.func @main(%x: memref<5000x2xf32, #mncore.memory<"DRAM">>, %y: memref<5000x2xf32, #mncore.memory<"DRAM">>) {
  %a = memref.alloc() : memref<5000x2xf32, #wide>
  // expected-error @+1 {{LM0 and LM1 of a PE hold 4096 long words, but 5000 long words are needed at once, by a value of 5000x2 (5000)}}
  "mncore.dl"(%x, %a) : (memref<5000x2xf32, #mncore.memory<"DRAM">>, memref<5000x2xf32, #wide>) -> ()
  "mncore.ul"(%a, %y) : (memref<5000x2xf32, #wide>, memref<5000x2xf32, #mncore.memory<"DRAM">>) -> ()
  return
}
