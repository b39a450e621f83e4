// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(narrow-unsigned)' | FileCheck %s

// CHECK-LABEL: func.func @words
// CHECK-SAME: (%[[X:.*]]: tensor<3xui32>, %[[Z:.*]]: tensor<3xi64>) -> (tensor<3xui32>, tensor<3xf32>, tensor<3xi64>)
// CHECK: %[[C:.*]] = "graph.constant"() {value = dense<[3000000000, 1, 2]> : tensor<3xui32>}
// CHECK: %[[S:.*]] = "graph.add"(%[[X]], %[[C]]) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
// CHECK: %[[F:.*]] = "graph.cast"(%[[S]]) : (tensor<3xui32>) -> tensor<3xf32>
// CHECK: return %[[S]], %[[F]], %[[Z]]
func.func @words(%x: tensor<3xui64>, %z: tensor<3xi64>) -> (tensor<3xui64>, tensor<3xf32>, tensor<3xi64>) {
  %0 = "graph.constant"() {value = dense<[3000000000, 1, 2]> : tensor<3xui64>} : () -> tensor<3xui64>
  %1 = "graph.add"(%x, %0) : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
  %2 = "graph.cast"(%1) : (tensor<3xui64>) -> tensor<3xf32>
  return %1, %2, %z : tensor<3xui64>, tensor<3xf32>, tensor<3xi64>
}

// -----

// No limit stays none.
// CHECK-LABEL: func.func @limits
// CHECK: "graph.constant"() {value = dense<4294967295> : tensor<ui32>}
// CHECK: "graph.clip"(%{{.*}}) {min = 2.000000e+00 : f32} : (tensor<3xui32>) -> tensor<3xui32>
func.func @limits(%x: tensor<3xui64>) -> tensor<3xui64> {
  %0 = "graph.constant"() {value = dense<18446744073709551615> : tensor<ui64>} : () -> tensor<ui64>
  %1 = "graph.min"(%x, %0) : (tensor<3xui64>, tensor<ui64>) -> tensor<3xui64>
  %2 = "graph.clip"(%1) {min = 2.000000e+00 : f32, max = 1.000000e+10 : f32} : (tensor<3xui64>) -> tensor<3xui64>
  return %2 : tensor<3xui64>
}
