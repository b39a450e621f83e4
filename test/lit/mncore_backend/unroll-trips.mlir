// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(unroll-trips)' | FileCheck %s
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(unroll-trips{copies=1})' | FileCheck %s --check-prefix=ONE

// Six trips, each of which adds a row of %rows, the last one first, to a state that stays: three at once. The constant
// is written once, what is between has a buffer for each, and the rows are one behind the other.
// CHECK: mncore.trips = 2 : i64
// CHECK-DAG: mncore.slice = {shape = array<i64: 6, 8>, starts = array<i64: 3, 0, 0, 0>}
// CHECK: imm |
// CHECK: text = "fvadd | %rows.w[8,10,12,14] | %one.w[0,0,0,0] | -> %sum.w[0,2,4,6]"
// CHECK: text = "fvadd | %sum.w[0,2,4,6] | %state.w[0,2,4,6] | -> %state.w[0,2,4,6]"
// CHECK-NOT: imm
// CHECK: text = "fvadd | %rows.w[4,6,8,10] | %one.w[0,0,0,0] | -> %[[SECOND:[a-z0-9.]+]].w[0,2,4,6]"
// CHECK: text = "fvadd | %[[SECOND]].w[0,2,4,6] | %state.w[0,2,4,6] | -> %state.w[0,2,4,6]"
// CHECK: text = "fvadd | %rows.w[0,2,4,6] | %one.w[0,0,0,0]
// ONE: mncore.trips = 6 : i64
// ONE: text = "fvadd | %rows
// ONE-NOT: text = "fvadd | %rows
func.func @main() attributes {mncore.trips = 6 : i64} {
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", pinned, size = 12 : i64, sym_name = "rows"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", pinned, size = 4 : i64, sym_name = "state"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "GRF0,GRF1", size = 4 : i64, sym_name = "sum"} : () -> ()
  "mncore.buffer"() {alignment = 1 : i64, choices = "GRF0,GRF1", size = 1 : i64, sym_name = "one"} : () -> ()
  "mncore.kept"() {buffer = "rows", type = memref<1x2xf32, #mncore.placed<"LM", "1x8", "((), (4_PE:1, 2_W:1))">>, onnx.name = "scanned.0", mncore.slice = {shape = array<i64: 6, 8>, starts = array<i64: 5, 0, 4, 0, 3, 0, 2, 0, 1, 0, 0, 0>}} : () -> ()
  "mncore.instruction"() {text = "imm | ui\220x3f800000\22 | -> %one.w[0,0,0,0]"} : () -> ()
  "mncore.instruction"() {text = "fvadd | %rows.w[0,2,4,6] | %one.w[0,0,0,0] | -> %sum.w[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvadd | %sum.w[0,2,4,6] | %state.w[0,2,4,6] | -> %state.w[0,2,4,6]"} : () -> ()
  return
}
