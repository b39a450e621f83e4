// RUN: mnc-opt %s --pass-pipeline='builtin.module(split-transfers)' | FileCheck %s

// A sum over all L2Bs passes the DRAMs: of the n long words of each L2B every DRAM gets a quarter. Both MVs become four
// of at least 16 steps, so that the first sums come back while others are still added up.
// CHECK-LABEL: func.func @main
// CHECK: text = "mvrffadd | n=2048 | %up.w[0] | -> %sums.w[0]"
// CHECK: text = "mvrffadd | n=2048 | %up.w[2048] | -> %sums.w[512]"
// CHECK: text = "mvrffadd | n=2048 | %up.w[4096] | -> %sums.w[1024]"
// CHECK: text = "mvrffadd | n=2048 | %up.w[6144] | -> %sums.w[1536]"
// CHECK: text = "mvb | n=2048 | %sums.w[0] | -> %down.w[0]"
// CHECK: text = "mvb | n=2048 | %sums.w[1536] | -> %down.w[6144]"

// Too short to be cut, or of a form whose parts do not lie one behind the other:
// CHECK-NEXT: text = "mvp | n=1024 | %sums.w[0] | -> %down.w[0]@.0"
// CHECK-NEXT: text = "mvd | n=2048 | %pdm.w[0]@0 | -> %down.w[0]"
func.func @main() {
  "mncore.buffer"() {alignment = 64 : i64, choices = "L2BM", size = 8192 : i64, sym_name = "up"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L2BM", size = 8192 : i64, sym_name = "down"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "DRAM", pinned, size = 2048 : i64, sym_name = "sums"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "PDM", size = 16384 : i64, sym_name = "pdm"} : () -> ()
  "mncore.instruction"() {text = "mvrffadd | n=8192 | %up.w[0] | -> %sums.w[0]"} : () -> ()
  "mncore.instruction"() {text = "mvb | n=8192 | %sums.w[0] | -> %down.w[0]"} : () -> ()
  "mncore.instruction"() {text = "mvp | n=1024 | %sums.w[0] | -> %down.w[0]@.0"} : () -> ()
  "mncore.instruction"() {text = "mvd | n=2048 | %pdm.w[0]@0 | -> %down.w[0]"} : () -> ()
  return
}
