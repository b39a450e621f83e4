// RUN: mnc-opt %s --pass-pipeline='builtin.module(hoist-views)' | FileCheck %s

// Views of products, with or without a bias, stand behind them, in the order of the views; others stay.
// CHECK-LABEL: func.func @heads
// CHECK: %[[QP:.*]] = "graph.matmul"(%arg0, %arg1)
// CHECK-NEXT: %[[Q:.*]] = "graph.add"(%[[QP]], %{{.*}})
// CHECK-NEXT: %[[QH:.*]] = "graph.reshape"(%[[Q]])
// CHECK-NEXT: %[[QT:.*]] = "graph.transpose"(%[[QH]])
// CHECK-NEXT: %[[K:.*]] = "graph.matmul"(%arg0, %arg1)
// CHECK-NEXT: %[[KH:.*]] = "graph.reshape"(%[[K]])
// CHECK-NEXT: %[[KF:.*]] = "graph.reshape"(%[[K]])
// CHECK-NEXT: %[[E:.*]] = "graph.exp"(%arg0)
// CHECK-NEXT: %[[N:.*]] = "graph.neg"(%arg0)
// CHECK-NEXT: %[[EF:.*]] = "graph.reshape"(%[[E]])
// CHECK-NEXT: return %[[QT]], %[[KH]], %[[KF]], %[[EF]], %[[N]]
func.func @heads(%x: tensor<5x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<2x5x4xf32>, tensor<5x2x4xf32>, tensor<40xf32>, tensor<40xf32>, tensor<5x8xf32>) {
  %b = "graph.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32>
  %p = "graph.matmul"(%x, %w) : (tensor<5x8xf32>, tensor<8x8xf32>) -> tensor<5x8xf32>
  %q = "graph.add"(%p, %b) : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  %k = "graph.matmul"(%x, %w) : (tensor<5x8xf32>, tensor<8x8xf32>) -> tensor<5x8xf32>
  %e = "graph.exp"(%x) : (tensor<5x8xf32>) -> tensor<5x8xf32>
  %n = "graph.neg"(%x) : (tensor<5x8xf32>) -> tensor<5x8xf32>
  %0 = "graph.reshape"(%q) : (tensor<5x8xf32>) -> tensor<5x2x4xf32>
  %1 = "graph.reshape"(%k) : (tensor<5x8xf32>) -> tensor<5x2x4xf32>
  %2 = "graph.transpose"(%0) {permutation = array<i64: 1, 0, 2>} : (tensor<5x2x4xf32>) -> tensor<2x5x4xf32>
  %3 = "graph.reshape"(%k) : (tensor<5x8xf32>) -> tensor<40xf32>
  %4 = "graph.reshape"(%e) : (tensor<5x8xf32>) -> tensor<40xf32>
  return %2, %1, %3, %4, %n : tensor<2x5x4xf32>, tensor<5x2x4xf32>, tensor<40xf32>, tensor<40xf32>, tensor<5x8xf32>
}
