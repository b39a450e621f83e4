// Upstream passes run where they are nested; printing and timing go to stderr.
// RUN: mnc-opt %s --pass-pipeline='builtin.module(func.func(cse),canonicalize{max-iterations=2})' --mlir-print-ir-after-all --mlir-timing 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=LOG < %t

// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[E:.*]] = "graph.exp"(%arg0)
// CHECK-NEXT: "graph.add"(%[[E]], %[[E]])
func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "graph.add"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// LOG: IR Dump After cse
// LOG: IR Dump After canonicalize{max-iterations=2}
// LOG: Execution time report
// LOG: cse
// LOG: total

// RUN: mnc-opt %s --large-elements-limit=2 --pass-pipeline='builtin.module()' | FileCheck %s --check-prefix=ELIDE
// ELIDE: dense_resource<__elided__>
func.func @constant() -> tensor<4xf32> {
  %0 = "graph.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
