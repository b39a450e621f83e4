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
