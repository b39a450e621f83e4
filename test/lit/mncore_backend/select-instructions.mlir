// RUN: mnc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(select-instructions)' | FileCheck %s

// A transfer in, a nest, a transfer out: buffers without addresses, tensors of the host, a flat list of operations. Small tensors take whole steps: cycles without work write behind them.
// CHECK-LABEL: func.func @main()
// CHECK: "mncore.buffer"() {{.*}}choices = "LM0,LM1", size = 4 : i64, sym_name = "[[X:[a-z0-9]+]]"
// CHECK-NEXT: "mncore.buffer"() {{.*}}choices = "LM0,LM1", size = 4 : i64, sym_name = "[[Y:[a-z0-9]+]]"
// CHECK: "mncore.image"() {{.*}}role = "input", {{.*}}shape = array<i64: 16, 8>, sym_name = "x"
// CHECK: "mncore.image"() {{.*}}role = "output", {{.*}}shape = array<i64: 16, 8>, sym_name = "y"
// CHECK: text = "mv{{[bp][24]*}} | n={{[0-9]+}} | %image
// CHECK: text = "fvadd | %[[X]].l[0,0,0,0] | %[[X]].l[0,0,0,0] | -> %{{[a-z0-9]+}}.l[
// CHECK: text = "mvp | n={{[0-9]+}} | %{{.*}} | -> %image
// CHECK-NOT: affine.for
#rows = #mncore.placed<"LM", "16x8", "((8_L2B:1, 2_L1B:4), (4_PE:1, 2_W:1))">
func.func @main(%x: memref<16x8xf32, #mncore.memory<"DRAM">> {mncore.role = "input", onnx.name = "x"}, %y: memref<16x8xf32, #mncore.memory<"DRAM">> {mncore.role = "output", onnx.name = "y"}) {
  %a = memref.alloc() : memref<1x2xf32, #rows>
  %b = memref.alloc() : memref<1x2xf32, #rows>
  "mncore.dl"(%x, %a) : (memref<16x8xf32, #mncore.memory<"DRAM">>, memref<1x2xf32, #rows>) -> ()
  affine.for %i = 0 to 2 {
    %0 = affine.load %a[0, %i] : memref<1x2xf32, #rows>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[0, %i] : memref<1x2xf32, #rows>
  }
  "mncore.ul"(%b, %y) : (memref<1x2xf32, #rows>, memref<16x8xf32, #mncore.memory<"DRAM">>) -> ()
  return
}

// -----

// A clean-up makes differences of sums of negated values. Their parts are sums: the first value is negated, too.
// CHECK-LABEL: func.func @main()
// CHECK: "mncore.buffer"() {{.*}}choices = "LM0,LM1", size = 4 : i64, sym_name = "[[X:[a-z0-9]+]]"
// CHECK: text = "ixor | $msb1 | %[[X]].l[0,2,0,0] | -> %[[SUMS:[a-z0-9]+]].l[0,2,4,6]"
// CHECK-NEXT: text = "fvadd | %[[SUMS]].l[0,2,4,6] | -%[[X]].l[4,6,4,4] | -> %[[SUMS]].l[0,2,4,6]"
// CHECK-NEXT: text = "ipassa | %[[SUMS]].l[2,2,2,2] | -> %[[SECOND:[a-z0-9]+]].l[0,2,4,6]"
// CHECK-NEXT: text = "fvadd | %[[SUMS]].l[0,0,0,0] | %[[SECOND]].l[0,2,4,6] |
#many = #mncore.placed<"LM", "16x8x4", "((8_L2B:1, 2_L1B:4), (4_PE:1, 2_W:1), (4:1,))">
#few = #mncore.placed<"LM", "16x8", "((8_L2B:1, 2_L1B:4), (4_PE:1, 2_W:1))">
func.func @main(%x: memref<16x8x4xf32, #mncore.memory<"DRAM">> {mncore.role = "input", onnx.name = "x"}, %y: memref<16x8xf32, #mncore.memory<"DRAM">> {mncore.role = "output", onnx.name = "y"}) {
  %zero = arith.constant 0.000000e+00 : f32
  %a = memref.alloc() : memref<4x2xf32, #many>
  %b = memref.alloc() : memref<1x2xf32, #few>
  "mncore.dl"(%x, %a) : (memref<16x8x4xf32, #mncore.memory<"DRAM">>, memref<4x2xf32, #many>) -> ()
  affine.for %i = 0 to 2 {
    %sum = affine.for %k = 0 to 4 iter_args(%sofar = %zero) -> (f32) {
      %0 = affine.load %a[%k, %i] : memref<4x2xf32, #many>
      %1 = arith.subf %sofar, %0 : f32
      affine.yield %1 : f32
    }
    affine.store %sum, %b[0, %i] : memref<1x2xf32, #few>
  }
  "mncore.ul"(%b, %y) : (memref<1x2xf32, #few>, memref<16x8xf32, #mncore.memory<"DRAM">>) -> ()
  return
}
