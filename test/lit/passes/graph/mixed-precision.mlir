// RUN: mnc-opt %s --pass-pipeline='builtin.module(mixed-precision{rules=head*:single default=pseudo-single single-up-to=8})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(mixed-precision{default=single})' --explain 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: mnc-opt %s --pass-pipeline='builtin.module(mixed-precision{default=single},graph-to-linalg,fuse-elementwise,assign-layouts{precision=pseudo-single})' | FileCheck %s --check-prefix=LOWER
// RUN: mnc-opt %s --pass-pipeline='builtin.module(mixed-precision{rules=body*:half})' | FileCheck %s --check-prefix=HALF
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(mixed-precision{rules=head})' 2>&1 | FileCheck %s --check-prefix=RULE
// RULE: 'head' is not a rule
// WHY: MixedPrecision refused 'graph.matmul'{{.*}}: it already has a precision

// CHECK-LABEL: func.func @main
// LOWER-LABEL: func.func @main
func.func @main(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>, %v: tensor<5x2xf32>) -> (tensor<4x2xf32>, tensor<1x1xf32>) {
  %t = "graph.transpose"(%w) {permutation = array<i64: 1, 0>} : (tensor<5x3xf32>) -> tensor<3x5xf32>
  // CHECK: graph.matmul{{.*}} {mnc.precision = "pseudo-single"}
  // HALF: graph.matmul{{.*}} {mnc.precision = "half"}
  // LOWER: mncore.precision = "single"
  %0 = "graph.matmul"(%x, %t) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32> loc("body")
  // CHECK: graph.matmul{{.*}} {mnc.precision = "single"}
  // LOWER: mncore.precision = "single"
  %1 = "graph.matmul"(%0, %v) : (tensor<4x5xf32>, tensor<5x2xf32>) -> tensor<4x2xf32> loc("head.0")
  // CHECK: graph.slice
  %2 = "graph.slice"(%1) {starts = array<i64: 0, 0>, limits = array<i64: 1, 2>, steps = array<i64: 1, 1>} : (tensor<4x2xf32>) -> tensor<1x2xf32>
  %3 = "graph.slice"(%1) {starts = array<i64: 0, 0>, limits = array<i64: 2, 1>, steps = array<i64: 1, 1>} : (tensor<4x2xf32>) -> tensor<2x1xf32>
  // CHECK: graph.matmul{{.*}} {mnc.precision = "pseudo-single"}
  // LOWER: mncore.precision = "pseudo-single"
  %4 = "graph.matmul"(%2, %3) {mnc.precision = "pseudo-single"} : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> loc("tail")
  return %1, %4 : tensor<4x2xf32>, tensor<1x1xf32>
}
