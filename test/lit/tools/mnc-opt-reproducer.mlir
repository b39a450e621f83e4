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
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
