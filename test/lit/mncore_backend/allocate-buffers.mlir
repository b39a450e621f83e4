// RUN: mnc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(allocate-buffers)' | FileCheck %s

// One step reads one address of an LM: two operands get different memories. A dead buffer leaves its place to the next.
// CHECK-LABEL: func.func @main
// CHECK: sym_name = "unused"
// CHECK-NOT: base = {{.*}} sym_name = "unused"
// CHECK: base = [[ABASE:[0-9]+]] : i64, {{.*}}memory = "[[A:LM[01]]]", {{.*}}sym_name = "a"
// CHECK: base = {{[0-9]+}} : i64, {{.*}}memory = "[[B:LM[01]]]", {{.*}}sym_name = "b"
// CHECK: base = {{[0-9]+}} : i64, {{.*}}memory = "GRF0", {{.*}}sym_name = "sum"
func.func @main() {
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", size = 4 : i64, sym_name = "unused"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", size = 1500 : i64, sym_name = "a"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", size = 1500 : i64, sym_name = "b"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "GRF0", size = 4 : i64, sym_name = "sum"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %a.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %b.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvadd | %a.l[0,2,4,6] | %b.l[0,2,4,6] | -> %sum.l[0,2,4,6]"} : () -> ()
  return
}

// -----

// Lives that do not overlap share a memory: 3 x 1500 long words in 2 x 2048.
// CHECK-LABEL: func.func @shared
// CHECK: base = 0 : i64, {{.*}}memory = "LM0", {{.*}}sym_name = "c"
// CHECK: base = 0 : i64, {{.*}}memory = "LM0", {{.*}}sym_name = "d"
func.func @shared() {
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0", size = 1500 : i64, sym_name = "c"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0", size = 1500 : i64, sym_name = "d"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %c.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "ipassa | %c.l[0,2,4,6] | -> $lr0v"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %d.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "ipassa | %d.l[0,2,4,6] | -> $lr8v"} : () -> ()
  return
}

// -----

// expected-error @unknown {{LM0 of a PE holds 2048 long words, but 3000 long words are needed at once, by c (1500), d (1500)}}
func.func @too_much() {
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0", size = 1500 : i64, sym_name = "c"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0", size = 1500 : i64, sym_name = "d"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %c.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %d.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "ipassa | %c.l[0,2,4,6] | -> $lr0v"} : () -> ()
  "mncore.instruction"() {text = "ipassa | %d.l[0,2,4,6] | -> $lr8v"} : () -> ()
  return
}

// -----

// LM1 is too small for both parts, which are used beside the same buffer: what one of them gives passes a register.
// CHECK-LABEL: func.func @relieved
// CHECK: choices = "GRF0,GRF1", {{.*}}sym_name = "[[R:part[01]_passing.*]]"
// CHECK: text = "lpassa | %part{{[01]}}.l[0,2,4,6] | -> %[[R]].l[0,2,4,6]"
// CHECK: text = "fvadd | %{{.*}} | %hub.l[0,2,4,6]
func.func @relieved() {
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0", size = 100 : i64, sym_name = "hub"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", size = 1500 : i64, sym_name = "part0"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", size = 1500 : i64, sym_name = "part1"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "GRF0", size = 4 : i64, sym_name = "sum"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %hub.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %part0.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %part1.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvadd | %part0.l[0,2,4,6] | %hub.l[0,2,4,6] | -> %sum.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvadd | %part1.l[0,2,4,6] | %hub.l[0,2,4,6] | -> %sum.l[0,2,4,6]"} : () -> ()
  return
}
