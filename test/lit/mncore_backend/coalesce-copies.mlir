// RUN: mnc-opt %s --pass-pipeline='builtin.module(coalesce-copies)' | FileCheck %s

// What is computed into %a and copied to %b is written to %b at once; nobody else reads %a.
// CHECK-LABEL: func.func @main
// CHECK: text = "fvadd | %x.l[0,2,4,6] | %x.l[0,2,4,6] | -> %b.l[0,2,4,6]"
// CHECK-NOT: ipassa | %a
// CHECK: text = "fvmul | %b.l[0,2,4,6] | %b.l[0,2,4,6] | -> %y.l[0,2,4,6]"
func.func @main() {
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", size = 4 : i64, sym_name = "x"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "GRF0,GRF1", size = 4 : i64, sym_name = "a"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "GRF0,GRF1", size = 4 : i64, sym_name = "b"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", pinned, size = 4 : i64, sym_name = "y"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %x.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvadd | %x.l[0,2,4,6] | %x.l[0,2,4,6] | -> %a.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "ipassa | %a.l[0,2,4,6] | -> %b.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvmul | %b.l[0,2,4,6] | %b.l[0,2,4,6] | -> %y.l[0,2,4,6]"} : () -> ()
  return
}
