// RUN: mnc-opt %s --pass-pipeline='builtin.module(load-again)' | FileCheck %s

// %early has waited in L2BM since the beginning, and %large does not fit beside it: the wait ends, and what was loaded
// is loaded again into a buffer of its own when it is wanted.
// CHECK-LABEL: func.func @main
// CHECK: sym_name = "large"
// CHECK: size = 24576 : i64, sym_name = "[[AGAIN:again[.0-9]*]]"
// CHECK-NOT: -> %early
// CHECK: text = "mvp | n=16384 | %image.w[0] | -> %large.w[0]@.0"
// CHECK: text = "l2bmd | %large.l[0]
// CHECK: text = "mvp | n=24576 | %image.w[0] | -> %[[AGAIN]].w[0]@.0"
// CHECK: text = "l2bmd | %[[AGAIN]].l[0]
func.func @main() {
  "mncore.buffer"() {alignment = 64 : i64, choices = "DRAM", pinned, size = 24576 : i64, sym_name = "image"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L2BM", size = 24576 : i64, sym_name = "early"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L2BM", size = 16384 : i64, sym_name = "large"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L1BM", size = 64 : i64, sym_name = "down"} : () -> ()
  "mncore.instruction"() {text = "mvp | n=24576 | %image.w[0] | -> %early.w[0]@.0"} : () -> ()
  "mncore.instruction"() {text = "mvp | n=16384 | %image.w[0] | -> %large.w[0]@.0"} : () -> ()
  "mncore.instruction"() {text = "l2bmd | %large.l[0] | -> %down.l[0]"} : () -> ()
  "mncore.instruction"() {text = "l2bmd | %early.l[0] | -> %down.l[0]"} : () -> ()
  return
}
