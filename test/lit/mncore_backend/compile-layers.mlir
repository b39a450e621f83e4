// RUN: mnc-opt %s --pass-pipeline='builtin.module(compile-layers{steps=0 percent=30}(drop-empty,assign-layouts,distribute,keep-resident,hand-over,canonicalize,cse,spill-buffers,select-instructions,allocate-buffers,schedule,verify-schedule))' -o %t
// RUN: FileCheck %s --input-file %t
// RUN: mnc-translate --emit-vsm %t | FileCheck %s --check-prefix=TEXT
// RUN: mnc-opt %s --pass-pipeline='builtin.module(compile-layers{steps=0 percent=30}(assign-layouts{prefer=alike},distribute,keep-resident,hand-over,select-instructions,allocate-buffers,schedule))' --mlir-print-ir-after=assign-layouts 2>&1 | FileCheck %s --check-prefix=SHOWN
// RUN: mnc-opt %s --pass-pipeline='builtin.module(compile-layers{steps=0 percent=30 resident=state}(assign-layouts,distribute))' | FileCheck %s --check-prefix=WHOLE
// RUN: mnc-opt %s --pass-pipeline='builtin.module(compile-layers(assign-layouts,distribute))' | FileCheck %s --check-prefix=WHOLE
// RUN: mnc-opt %s --pass-pipeline='builtin.module(compile-layers{steps=0 percent=30}(assign-layouts,distribute))' -o %t2 --explain 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: FileCheck %s --input-file %t2 --check-prefix=WHOLE

// Three layers y = x + w: one is compiled, with three weights; what it hands to the next stays in local memory, where
// the part before puts it and the part after finds it.
// CHECK: module @before
// CHECK: "mncore.kept"() {base = 0 : i64, buffer = "b0", memory = "LM0", onnx.name = "carried.0"
// CHECK: mncore.statement
// CHECK: module @layer
// CHECK: mncore.trips = 3 : i64
// CHECK: "mncore.kept"() {buffer = "b0", mnc.updated = "next.0", onnx.name = "carried.0"
// CHECK: mncore.statement
// CHECK: module @after
// CHECK: "mncore.kept"() {base = 0 : i64, buffer = "b0", memory = "LM0", onnx.name = "carried.0"
// CHECK: mncore.statement

// The text has the trips of the layer with a gap in front of each, and one in front of what comes after.
// TEXT-COUNT-4: nop/5

// Passes on the parts are shown once, by the names of the parts, and what was preferred is noted for the whole.
// SHOWN: IR Dump After assign-layouts{resident=updates prefer=alike}
// SHOWN: module @layer
// SHOWN: IR Dump After assign-layouts{prefer=alike}
// SHOWN: module @before
// SHOWN: IR Dump After assign-layouts{prefer=alike}
// SHOWN: module @after
// SHOWN-NOT: IR Dump
// SHOWN: module attributes {mnc.preferences = ["alike"]}

// Parts that cannot meet are not compiled.
// REFUSED: compile-layers refused 'builtin.module': compile-layers has no pass 'hand-over' inside

// What keeps something itself, or is short, goes through the passes as a whole.
// WHOLE-NOT: module @
// WHOLE: func.func @main

#all = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %a = arith.constant {onnx.name = "a"} dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = arith.constant {onnx.name = "b"} dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %c = arith.constant {onnx.name = "c"} dense<[9.0, 8.0, 7.0, 6.0]> : tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%x, %a : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%0, %b : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%1, %c : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%2, %2 : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.mulf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
