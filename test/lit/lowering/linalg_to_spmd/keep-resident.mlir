// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(assign-layouts{resident=state},distribute,keep-resident{what=state})' | FileCheck %s
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(assign-layouts,distribute,keep-resident)' | FileCheck %s --check-prefix=NOTHING
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(assign-layouts{resident=batch},distribute,keep-resident{what=batch})' | FileCheck %s --check-prefix=BATCH
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(assign-layouts{resident=state},distribute,keep-resident{what=state percent=0})' | FileCheck %s --check-prefix=LESS

// A state that an element-wise operation updates is rewritten in its place; everything else comes and goes as before.
// CHECK-LABEL: func.func @counter
// CHECK-SAME: %[[X:.*]]: memref<64xf32, #mncore.memory<"DRAM">> {mncore.role = "input", onnx.name = "x"}
// CHECK: %[[S:.*]] = "mncore.resident"() {mnc.updated = "s_new", onnx.name = "s"}
// CHECK: "mncore.dl"(%[[X]], %[[XL:[a-z_0-9]+]])
// CHECK-NOT: mncore.dl
// CHECK: affine.load %[[XL]]
// CHECK: affine.load %[[S]]
// CHECK: affine.store %{{.*}}, %[[S]]
// CHECK-NOT: mncore.relayout
// CHECK-NOT: mncore.ul

// NOTHING-LABEL: func.func @counter
// NOTHING-NOT: mncore.resident
// NOTHING-COUNT-2: mncore.dl
// NOTHING: mncore.ul

// The other inputs are those of the run before; what this run is given is loaded and takes their place at the end.
// BATCH-LABEL: func.func @counter
// BATCH-SAME: %[[X:[a-z_0-9]+]]: memref<64xf32
// BATCH: "mncore.dl"(%[[X]], %[[NEXT:[a-z_0-9]+]])
// BATCH: %[[NOW:.*]] = "mncore.resident"() {onnx.name = "x"}
// BATCH: affine.load %[[NOW]]
// BATCH: "mncore.relayout"(%[[NEXT]], %[[NOW]])
// BATCH: return
func.func @counter(%x: tensor<64xf32> {onnx.name = "x"}, %s: tensor<64xf32> {onnx.name = "s", mnc.updated = "s_new"}) -> (tensor<64xf32> {onnx.name = "s_new"}) {
  %e = tensor.empty() : tensor<64xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>], iterator_types=["parallel"]} ins(%x, %s : tensor<64xf32>, tensor<64xf32>) outs(%e: tensor<64xf32>) {
   ^bb0(%a: f32, %b: f32, %o: f32):
     %1 = arith.addf %a, %b : f32
     linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %n : tensor<64xf32>
}

// -----

// Two states that change places: the old values are saved before the first is overwritten.
// CHECK-LABEL: func.func @exchange
// CHECK-DAG: %[[A:.*]] = "mncore.resident"() {mnc.updated = "a_new", onnx.name = "a"}
// CHECK-DAG: %[[B:.*]] = "mncore.resident"() {mnc.updated = "b_new", onnx.name = "b"}
// CHECK: "mncore.relayout"(%[[B]], %[[B_OLD:[a-z_0-9]+]])
// CHECK: "mncore.relayout"(%[[A]], %[[A_OLD:[a-z_0-9]+]])
// CHECK: "mncore.relayout"(%[[B_OLD]], %[[A]])
// CHECK: "mncore.relayout"(%[[A_OLD]], %[[B]])
func.func @exchange(%a: tensor<64xf32> {onnx.name = "a", mnc.updated = "a_new"}, %b: tensor<64xf32> {onnx.name = "b", mnc.updated = "b_new"}) -> (tensor<64xf32> {onnx.name = "a_new"}, tensor<64xf32> {onnx.name = "b_new"}, tensor<64xf32> {onnx.name = "sum"}) {
  %e = tensor.empty() : tensor<64xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>], iterator_types=["parallel"]} ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%e: tensor<64xf32>) {
   ^bb0(%p: f32, %q: f32, %o: f32):
     %1 = arith.addf %p, %q : f32
     linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %b, %a, %n : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// The new value of the first state reads the second, whose old value it needs: the second is copied, not rewritten.
// CHECK-LABEL: func.func @crossed
// CHECK-DAG: %[[A:.*]] = "mncore.resident"() {mnc.updated = "a_new", onnx.name = "a"}
// CHECK-DAG: %[[B:.*]] = "mncore.resident"() {mnc.updated = "b_new", onnx.name = "b"}
// CHECK: affine.load %[[A]]
// CHECK: affine.store %{{[0-9]+}}, %[[B_NEW:[a-z_0-9]+]]
// CHECK: affine.load %[[B]]
// CHECK: affine.store
// CHECK: "mncore.relayout"(%[[B_NEW]], %[[B]])
func.func @crossed(%a: tensor<64xf32> {onnx.name = "a", mnc.updated = "a_new"}, %b: tensor<64xf32> {onnx.name = "b", mnc.updated = "b_new"}) -> (tensor<64xf32> {onnx.name = "a_new"}, tensor<64xf32> {onnx.name = "b_new"}) {
  %e = tensor.empty() : tensor<64xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>], iterator_types=["parallel"]} ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%e: tensor<64xf32>) {
   ^bb0(%p: f32, %q: f32, %o: f32):
     %1 = arith.subf %p, %q : f32
     linalg.yield %1 : f32
  } -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>], iterator_types=["parallel"]} ins(%b, %a : tensor<64xf32>, tensor<64xf32>) outs(%e: tensor<64xf32>) {
   ^bb0(%p: f32, %q: f32, %o: f32):
     %1 = arith.mulf %p, %q : f32
     linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %m, %n : tensor<64xf32>, tensor<64xf32>
}

// -----

// Weights stay: nothing is read of the loads that were erased for the first when the others are looked for.
// CHECK-LABEL: func.func @weights
// CHECK-COUNT-6: "mncore.resident"() {onnx.name = "constant
// CHECK: "mncore.dl"
// CHECK-NOT: mncore.dl

// Without room for constants all of them are loaded.
// LESS-LABEL: func.func @weights
// LESS-NOT: mncore.resident
// LESS-COUNT-7: "mncore.dl"
// LESS-NOT: mncore.dl
func.func @weights(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %w0 = arith.constant dense<[0.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w1 = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w2 = arith.constant dense<[2.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w3 = arith.constant dense<[3.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w4 = arith.constant dense<[4.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w5 = arith.constant dense<[5.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>, affine_map<(m)->(m)>], iterator_types=["parallel"]} ins(%x, %w0, %w1, %w2, %w3, %w4, %w5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e: tensor<4xf32>) {
   ^bb0(%a: f32, %b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %o: f32):
     %1 = arith.addf %a, %b0 : f32
     %2 = arith.addf %1, %b1 : f32
     %3 = arith.addf %2, %b2 : f32
     %4 = arith.addf %3, %b3 : f32
     %5 = arith.addf %4, %b4 : f32
     %6 = arith.addf %5, %b5 : f32
     linalg.yield %6 : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
