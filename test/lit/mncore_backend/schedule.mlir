// RUN: mnc-opt %s --pass-pipeline='builtin.module(schedule)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(schedule,verify-schedule)' | mnc-translate --emit-vsm | FileCheck %s --check-prefix=TEXT

// RUN: not mnc-opt %s --pass-pipeline='builtin.module(schedule{below=4})' 2>&1 | FileCheck %s --check-prefix=BELOW
// BELOW: the program takes at least 4 cycles

// MAU and ALU work in one step; what depends on both takes its operands from the latches a step later.
// CHECK-LABEL: func.func @main
// CHECK-NOT: mncore.instruction
// CHECK: text = "fvmul $ls16v $ls16v $lr0v; ipassa $lr16v $lm0v"
// CHECK-NEXT: text = "fvadd $mauf $aluf $ln0v"
// CHECK: fvmul {{.*}} $lm0v $ls0v

// A transfer carries a tag, and the step that reads its result waits for it.
// TEXT: mvp/n256i[[TAG:[0-9]+]] $d0 $lc0@.0
// TEXT-NEXT: fvmul
// TEXT: l2bmb $lc0 $lb0; wait i[[TAG]]
func.func @main() {
  "mncore.buffer"() {alignment = 2 : i64, base = 0 : i64, choices = "LM0", memory = "LM0", size = 4 : i64, sym_name = "a"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, base = 0 : i64, choices = "LM1", memory = "LM1", size = 4 : i64, sym_name = "b"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, base = 0 : i64, choices = "GRF0", memory = "GRF0", size = 4 : i64, sym_name = "s"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, base = 0 : i64, choices = "GRF1", memory = "GRF1", size = 4 : i64, sym_name = "t"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, base = 0 : i64, choices = "DRAM", memory = "DRAM", size = 256 : i64, sym_name = "image"} : () -> ()
  "mncore.buffer"() {alignment = 256 : i64, base = 0 : i64, choices = "L2BM", memory = "L2BM", size = 256 : i64, sym_name = "l2"} : () -> ()
  "mncore.buffer"() {alignment = 256 : i64, base = 0 : i64, choices = "L1BM", memory = "L1BM", size = 64 : i64, sym_name = "l1"} : () -> ()
  "mncore.instruction"() {text = "mvp | n=256 | %image.l[0] | -> %l2.l[0]@.0"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %a.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvmul | $ls16v | $ls16v | -> %s.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvadd | %s.l[0,2,4,6] | %a.l[0,2,4,6] | -> %b.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "fvmul | %b.l[0,2,4,6] | %a.l[0,2,4,6] | -> %t.l[0,2,4,6]"} : () -> ()
  "mncore.instruction"() {text = "l2bmb | %l2.l[0] | -> %l1.l[0]"} : () -> ()
  return
}
