// RUN: mnc-opt %s --pass-pipeline='builtin.module(hand-over)' | FileCheck %s

#dram = #mncore.memory<"DRAM">
#rows = #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1))">
#copies = #mncore.placed<"LM", "8", "((4:1, 2_W:1))">

// The argument is where another program left it, in two layouts; one of them is what is wanted.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[ROWS:.*]] = "mncore.resident"() {base = 0 : i64, memory = "LM0", onnx.name = "x"} : () -> memref<1x2xf32, #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1))">>
// CHECK-DAG: %[[COPIES:.*]] = "mncore.resident"() {base = 2 : i64, memory = "LM0", onnx.name = "x"}
// CHECK-DAG: %[[Y:.*]] = "mncore.resident"() {base = 8 : i64, memory = "LM1", onnx.name = "y"}
// CHECK-DAG: %[[TABLE:.*]] = "mncore.resident"() {base = 4 : i64, memory = "LM1", onnx.name = "table"}
// CHECK-NOT: mncore.dl"(%arg0
// CHECK: "mncore.relayout"(%[[COPIES]], %[[A:.*]]) :
// CHECK-NOT: mncore.ul
// CHECK: %[[B:.*]] = memref.alloc() : memref<1x2xf32
// CHECK: "mncore.relayout"(%[[A]], %[[B]]) :
// CHECK: "mncore.relayout"(%[[B]], %[[Y]]) :
// CHECK: %[[C:.*]] = "mncore.constant"() {onnx.name = "table", value = dense<7> : tensor<8xi32>}
// CHECK: "mncore.dl"(%[[C]], %[[TABLE]])
func.func @main(
    %x: memref<8xf32, #dram> {onnx.name = "x", mncore.role = "input", mncore.homes = [
      {type = memref<1x2xf32, #rows>, memory = "LM0", base = 0 : i64},
      {type = memref<4x2xf32, #copies>, memory = "LM0", base = 2 : i64}]},
    %y: memref<8xf32, #dram> {onnx.name = "y", mncore.role = "output", mncore.homes = [
      {type = memref<1x2xf32, #rows>, memory = "LM1", base = 8 : i64}]})
    attributes {mncore.tables = [{type = memref<1x2xi32, #rows>, memory = "LM1", base = 4 : i64, onnx.name = "table",
                                  value = dense<7> : tensor<8xi32>}]} {
  %a = memref.alloc() : memref<4x2xf32, #copies>
  "mncore.dl"(%x, %a) : (memref<8xf32, #dram>, memref<4x2xf32, #copies>) -> ()
  "mncore.ul"(%a, %y) : (memref<4x2xf32, #copies>, memref<8xf32, #dram>) -> ()
  return
}
