// What is printed between passes, and where.
// RUN: mnc-opt %s --cse --canonicalize --mlir-print-ir-before=canonicalize --mlir-print-ir-after=cse 2>&1 >/dev/null | FileCheck %s --check-prefix=NAMED
// NAMED-NOT: Before cse
// NAMED: IR Dump After cse
// NAMED: IR Dump Before canonicalize
// NAMED-NOT: After canonicalize

// RUN: mnc-opt %s --cse --canonicalize --mlir-print-ir-before-all 2>&1 >/dev/null | FileCheck %s --check-prefix=BEFORE
// BEFORE: IR Dump Before cse
// BEFORE: graph.exp
// BEFORE: graph.exp
// BEFORE: IR Dump Before canonicalize
// BEFORE-NOT: After

// The second cse has nothing to do.
// RUN: mnc-opt %s --cse --cse --mlir-print-ir-after-all --mlir-print-ir-after-change 2>&1 >/dev/null | FileCheck %s --check-prefix=CHANGE
// RUN: mnc-opt %s --cse --cse --mlir-print-ir-after-change 2>&1 >/dev/null | FileCheck %s --check-prefix=CHANGE
// CHANGE: IR Dump After cse
// CHANGE-NOT: IR Dump

// RUN: not mnc-opt %s --cse --one-shot-bufferize --reproducer-dir=%T --mlir-print-ir-after-failure 2>&1 >/dev/null | FileCheck %s --check-prefix=FAILURE
// FAILURE-NOT: IR Dump After cse
// FAILURE: IR Dump After one-shot-bufferize Failed
// FAILURE: "builtin.module"() ({

// RUN: rm -rf %t.tree
// RUN: mnc-opt %s --cse --canonicalize --mlir-print-ir-tree-dir=%t.tree 2>&1 | FileCheck %s --check-prefix=QUIET
// QUIET-NOT: IR Dump
// RUN: FileCheck %s --check-prefix=TREE < %t.tree/builtin_module_no-symbol-name/1_canonicalize.mlir
// RUN: ls %t.tree/builtin_module_no-symbol-name/0_cse.mlir
// TREE: IR Dump After canonicalize

func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "graph.add"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
