// RUN: mnc-opt %s | mnc-opt | FileCheck %s

// CHECK-LABEL: func.func @movement
func.func @movement(%x: memref<64x16xf32, #mncore.memory<"DRAM">>, %y: memref<64x16xf32, #mncore.memory<"DRAM">>) {
  // CHECK: memref<2x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))">>
  %a = memref.alloc() : memref<2x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))">>
  %b = memref.alloc() : memref<1x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2_MAB:1, 4_PE:1, 2_W:1))">>
  // CHECK: "mncore.dl"(%arg0, %{{.*}})
  "mncore.dl"(%x, %a) : (memref<64x16xf32, #mncore.memory<"DRAM">>, memref<2x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))">>) -> ()
  // CHECK: "mncore.relayout"
  "mncore.relayout"(%a, %b) : (memref<2x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))">>, memref<1x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2_MAB:1, 4_PE:1, 2_W:1))">>) -> ()
  // CHECK: "mncore.fill_padding"(%{{.*}}) {value = 0 : i32}
  // CHECK: "mncore.fill_padding"(%{{.*}}) {dims = array<i64: 1>, value = 0 : i32}
  "mncore.fill_padding"(%b) {value = 0 : i32} : (memref<1x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2_MAB:1, 4_PE:1, 2_W:1))">>) -> ()
  "mncore.fill_padding"(%b) {dims = array<i64: 1>, value = 0 : i32} : (memref<1x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2_MAB:1, 4_PE:1, 2_W:1))">>) -> ()
  // CHECK: "mncore.ul"(%{{.*}}, %arg1)
  "mncore.ul"(%b, %y) : (memref<1x2xf32, #mncore.placed<"LM", "64x16", "((8_L2B:1, 8_L1B:1), (2_MAB:1, 4_PE:1, 2_W:1))">>, memref<64x16xf32, #mncore.memory<"DRAM">>) -> ()
  return
}

// CHECK-LABEL: func.func @kernels
func.func @kernels(%x: memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>, %w: memref<8x2xf32, #mncore.placed<"LM", "8x8", "((8:1), (4_PE:1, 2_W:1))">>) {
  %y = memref.alloc() : memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>
  %z = memref.alloc() : memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>
  %a = memref.alloc() : memref<1x2xi32, #mncore.placed<"LM", "4", "((4_L1B:1),)">>
  // CHECK: "mncore.matmul"
  "mncore.matmul"(%x, %w, %y) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, x_dims = ["m", "k"], w_dims = ["n", "k"], y_dims = ["m", "n"], precision = "single"} : (memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>, memref<8x2xf32, #mncore.placed<"LM", "8x8", "((8:1), (4_PE:1, 2_W:1))">>, memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>) -> ()
  // CHECK: "mncore.lookup"(%{{.*}}, %{{.*}}, %{{.*}}) {address_steps = array<i64: 1>, sizes = array<i64: 1>, table_steps = array<i64: 0>, target_steps = array<i64: 1>}
  "mncore.lookup"(%y, %a, %z) {sizes = array<i64: 1>, table_steps = array<i64: 0>, address_steps = array<i64: 1>, target_steps = array<i64: 1>} : (memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>, memref<1x2xi32, #mncore.placed<"LM", "4", "((4_L1B:1),)">>, memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>) -> ()
  // CHECK: "mncore.reduce"(%{{.*}}, %{{.*}}) {axes = ["MAB"], bits = array<i64: 15>, kind = "sum"}
  "mncore.reduce"(%y, %z) {kind = "sum", axes = ["MAB"], bits = array<i64: 15>} : (memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>, memref<1x2xf32, #mncore.placed<"LM", "4x8", "((4_L1B:1), (4_PE:1, 2_W:1))">>) -> ()
  return
}

// CHECK-LABEL: func.func @machine
func.func @machine() {
  // CHECK: "mncore.buffer"() {alignment = 2 : i64, choices = "LM0,LM1", size = 4 : i64, sym_name = "b0"}
  "mncore.buffer"() {sym_name = "b0", size = 4 : i64, choices = "LM0,LM1", alignment = 2 : i64} : () -> ()
  // CHECK: "mncore.instruction"() {text = "fvadd | %b0.l[0,2,4,6] | $aluf | -> %b0.l[0,2,4,6]"}
  "mncore.instruction"() {text = "fvadd | %b0.l[0,2,4,6] | $aluf | -> %b0.l[0,2,4,6]"} : () -> ()
  // CHECK: "mncore.statement"() {text = "nop/3"}
  "mncore.statement"() {text = "nop/3"} : () -> ()
  return
}
