// A failing pass leaves a file whose first line is the command that fails again.
// RUN: rm -rf %t.dir && mkdir %t.dir
// RUN: not mnc-opt %s --reproducer-dir=%t.dir --pass-pipeline='builtin.module(canonicalize,one-shot-bufferize,cse)' 2>&1 | FileCheck %s
// CHECK: internal error:
// CHECK: in pass: one-shot-bufferize
// CHECK: after: canonicalize
// CHECK: reproducer: {{.*}}mnc-reproducer-{{.*}}.mlir
// RUN: FileCheck %s --check-prefix=FILE < %t.dir/mnc-reproducer-*.mlir
// FILE: // mnc-opt --pass-pipeline='builtin.module(canonicalize,one-shot-bufferize)' {{.*}}mnc-reproducer-
// FILE: "graph.exp"
// FILE: {{mlir_}}reproducer: {
// FILE-NEXT: pipeline: "builtin.module(canonicalize,one-shot-bufferize)"

// The pipeline is noted in the file, too, as mlir-opt has it; a file of our choice may hold it.
// RUN: not mnc-opt %s -canonicalize -one-shot-bufferize -mlir-pass-pipeline-crash-reproducer=%t.mlir --verify-each=0 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: reproducer: {{.*}}reproducer.mlir.tmp.mlir
// RUN: not mnc-opt --run-reproducer %t.mlir --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: Pass Manager with 2 passes:
// AGAIN: error: op was not bufferized
// AGAIN-NOT: warning
// AGAIN: in pass: one-shot-bufferize
// AGAIN-NOT: reproducer:
// RUN: grep -q 'verify_each: false' %t.mlir

// RUN: not mnc-opt --run-reproducer %s 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: the file holds no pipeline
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
