// RUN: mnc-opt %s --mlir-print-debuginfo --pass-pipeline='builtin.module(name-transfers)' | FileCheck %s

// One MV brings the weights of two nodes, and belongs to both; another takes away what the second of them computes.
// CHECK-LABEL: func.func @main
// CHECK: text = "mvp | n=64 | %image.w[0] | -> %down.w[0]@.0"} : () -> () loc([[BOTH:#.*]])
// CHECK: text = "mvp | n=64 | %up.w[0]@.0 | -> %result.w[0]"} : () -> () loc([[SECOND:#.*]])
// CHECK-DAG: [[BOTH]] = loc("first + second"
// CHECK-DAG: [[SECOND]] = loc("second"
func.func @main() {
  "mncore.buffer"() {alignment = 64 : i64, choices = "DRAM", pinned, size = 64 : i64, sym_name = "image"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "DRAM", pinned, size = 64 : i64, sym_name = "result"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L2BM", size = 64 : i64, sym_name = "down"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L2BM", size = 64 : i64, sym_name = "up"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L1BM", size = 64 : i64, sym_name = "one"} : () -> ()
  "mncore.instruction"() {text = "mvp | n=64 | %image.w[0] | -> %down.w[0]@.0"} : () -> () loc("weights"("kernel 1"))
  "mncore.instruction"() {text = "l2bmd | %down.l[0] | -> %one.l[0]"} : () -> () loc("first"("kernel 2"))
  "mncore.instruction"() {text = "l2bmd | %down.l[0] | -> %one.l[0]"} : () -> () loc("second"("kernel 3"))
  "mncore.instruction"() {text = "l1bmd | %one.l[0] | -> %up.l[0]"} : () -> () loc("second"("kernel 3"))
  "mncore.instruction"() {text = "mvp | n=64 | %up.w[0]@.0 | -> %result.w[0]"} : () -> () loc("result"("kernel 4"))
  return
}
