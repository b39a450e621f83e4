// RUN: mnc-opt %s --pass-pipeline='builtin.module(shortest(split-contractions,assign-layouts,distribute,canonicalize,cse,spill-buffers,select-instructions,allocate-buffers,schedule,verify-schedule))' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(shortest{least-cycles=100000}(assign-layouts,distribute,select-instructions,allocate-buffers,schedule))' --mlir-print-ir-after=assign-layouts -o %t 2>&1 | FileCheck %s --check-prefix=SHOWN
// RUN: mnc-opt %t | FileCheck %s
// RUN: mnc-opt %t | mnc-translate --emit-vsm | FileCheck %s --check-prefix=TEXT
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(shortest(schedule))' 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(schedule(cse))' 2>&1 | FileCheck %s --check-prefix=PLAIN

// All tensors are tiny, so nothing is divided among the L2Bs, and that is noted. What is left are statements.
// CHECK: module attributes {mnc.preferences = ["alike"]}
// CHECK-LABEL: func.func @main
// CHECK-NOT: linalg
// CHECK: mncore.statement
// TEXT: mvb{{.*}} $d0

// However often the passes run inside, what leads to the program is shown, and once.
// SHOWN: IR Dump After assign-layouts{prefer=alike}
// SHOWN-NOT: IR Dump

// NOTHING: error: shortest has no pass 'assign-layouts' inside
// NOTHING-NEXT: hint: write shortest(assign-layouts,...,schedule)
// PLAIN: <pipeline>:1:16: error: pass 'schedule' runs no passes of its own

func.func @main(%x: tensor<32x16xf32> {onnx.name = "x"}, %w: tensor<16x8xf32> {onnx.name = "w"})
    -> (tensor<32x8xf32> {onnx.name = "y"}) {
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %y = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %w : tensor<32x16xf32>, tensor<16x8xf32>) outs(%zero : tensor<32x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<32x8xf32>
  return %y : tensor<32x8xf32>
}
