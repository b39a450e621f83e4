// RUN: mnc-opt %s --split-input-file --verify-diagnostics

func.func @wrong_size(%x: memref<64x16xf32, #mncore.memory<"DRAM">>, %a: memref<3x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))">>) {
  // expected-error @+1 {{fills 2x2 words per PE, not [3, 2]}}
  "mncore.dl"(%x, %a) : (memref<64x16xf32, #mncore.memory<"DRAM">>, memref<3x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))">>) -> ()
  return
}

// -----

func.func @not_dram(%x: memref<64x16xf32>, %a: memref<2x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))">>) {
  // expected-error @+1 {{needs a buffer in a memory of the machine}}
  "mncore.dl"(%x, %a) : (memref<64x16xf32>, memref<2x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))">>) -> ()
  return
}

// -----

func.func @two_digits_on_one_axis(%x: memref<64x8xf32, #mncore.memory<"DRAM">>, %a: memref<1x2xf32, #mncore.placed<"LM", "64x8", "((8_L2B:1, 8_L2B:1), (4_PE:1, 2_W:1))">>) {
  // expected-error @+1 {{selects a coordinate of L2B twice}}
  "mncore.dl"(%x, %a) : (memref<64x8xf32, #mncore.memory<"DRAM">>, memref<1x2xf32, #mncore.placed<"LM", "64x8", "((8_L2B:1, 8_L2B:1), (4_PE:1, 2_W:1))">>) -> ()
  return
}

// -----

func.func @too_large(%x: memref<4096x2xf32, #mncore.memory<"DRAM">>, %a: memref<4096x2xf32, #mncore.placed<"LM0", "4096x2", "((4096:1), (2_W:1))">>) {
  // expected-error @+1 {{4096 long words do not fit LM0, which has 2048}}
  "mncore.dl"(%x, %a) : (memref<4096x2xf32, #mncore.memory<"DRAM">>, memref<4096x2xf32, #mncore.placed<"LM0", "4096x2", "((4096:1), (2_W:1))">>) -> ()
  return
}

// -----

func.func @relayout_shapes(%a: memref<1x2xf32, #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1),)">>, %b: memref<1x2xf32, #mncore.placed<"LM", "2x4", "((2_L1B:1), (4_PE:1))">>) {
  // expected-error @+1 {{moves a tensor of shape [8] into one of shape [2, 4]}}
  "mncore.relayout"(%a, %b) : (memref<1x2xf32, #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1),)">>, memref<1x2xf32, #mncore.placed<"LM", "2x4", "((2_L1B:1), (4_PE:1))">>) -> ()
  return
}

// -----

func.func @reduce_axis(%a: memref<1x2xf32, #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1),)">>) {
  // expected-error @+1 {{axes must name some of L2B, L1B, MAB, PE, W}}
  "mncore.reduce"(%a, %a) {kind = "sum", axes = ["GROUP"], bits = array<i64: 3>} : (memref<1x2xf32, #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1),)">>, memref<1x2xf32, #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1),)">>) -> ()
  return
}

// -----

func.func @counts(%x: memref<2xf32>) {
  // expected-error @+1 {{'mncore.dl' op expects 2 operands, found 1}}
  "mncore.dl"(%x) : (memref<2xf32>) -> ()
  return
}
