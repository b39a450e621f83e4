// RUN: mnc-opt %s --split-input-file --verify-diagnostics --allocate-buffers --schedule --verify-schedule

// Buffers get the alignment that is written; if the instruction takes another, the place of the buffer is named.
func.func @l2bm() {
  "mncore.buffer"() {alignment = 1 : i64, base = 0 : i64, memory = "L2BM", choices = "L2BM", size = 3 : i64, pinned, sym_name = "first"} : () -> ()
  // expected-error @+1 {{$lc5: l2bmb takes addresses that are multiples of 16}}
  "mncore.buffer"() {alignment = 5 : i64, choices = "L2BM", pinned, size = 64 : i64, sym_name = "a"} : () -> ()
  "mncore.buffer"() {alignment = 64 : i64, choices = "L1BM", size = 64 : i64, sym_name = "b"} : () -> ()
  "mncore.instruction"() {text = "l2bmb | %a.l[0] | -> %b.l[0]"} : () -> ()
  return
}

// -----

func.func @local() {
  "mncore.buffer"() {alignment = 1 : i64, base = 0 : i64, memory = "LM0", choices = "LM0", size = 1 : i64, pinned, sym_name = "first"} : () -> ()
  // expected-error @+1 {{addresses and strides must be multiples of 4 words}}
  "mncore.buffer"() {alignment = 3 : i64, choices = "LM0", pinned, size = 8 : i64, sym_name = "a"} : () -> ()
  "mncore.buffer"() {alignment = 2 : i64, choices = "GRF0", size = 8 : i64, sym_name = "b"} : () -> ()
  "mncore.instruction"() {text = "lpassa | %a.ll[0,2,4,6] | -> %b.ll[0,2,4,6]"} : () -> ()
  return
}
