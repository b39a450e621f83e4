// RUN: mnc-opt %s --pass-pipeline='builtin.module(order-operations)' | FileCheck %s

// The first kernel waits for an MV, the second one waits for nothing and comes before it. Operations of a kernel, which
// have its number in their locations, stay together.
// CHECK-LABEL: func.func @main
// CHECK: text = "mvp | n=64
// CHECK-NEXT: text = "fvmul | $lr16v | $lr16v | -> %square
// CHECK-NEXT: text = "fvadd | %square
// CHECK-NEXT: text = "l2bmd | %down.l[0] | -> %one.l[0]"
// CHECK-NEXT: text = "l1bmd | %one.l[0] | -> %first
func.func @main() {
  "mncore.buffer"() {alignment = 64 : i64, choices = "DRAM", pinned, size = 64 : i64, sym_name = "image"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L2BM", size = 64 : i64, sym_name = "down"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L1BM", size = 64 : i64, sym_name = "one"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", pinned, size = 4 : i64, sym_name = "first"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", size = 4 : i64, sym_name = "square"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", pinned, size = 4 : i64, sym_name = "second"} : () -> ()
  "mncore.instruction"() {text = "mvp | n=64 | %image.w[0] | -> %down.w[0]@.0"} : () -> () loc("a"("kernel 1"))
  "mncore.instruction"() {text = "l2bmd | %down.l[0] | -> %one.l[0]"} : () -> () loc("a"("kernel 1"))
  "mncore.instruction"() {text = "l1bmd | %one.l[0] | -> %first.l[0,2,4,6]"} : () -> () loc("a"("kernel 1"))
  "mncore.instruction"() {text = "fvmul | $lr16v | $lr16v | -> %square.l[0,2,4,6]"} : () -> () loc("b"("kernel 2"))
  "mncore.instruction"() {text = "fvadd | %square.l[0,2,4,6] | $lr16v | -> %second.l[0,2,4,6]"} : () -> () loc("b"("kernel 2"))
  return
}
