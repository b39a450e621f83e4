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

// -----

// Of signed integers, too: below a maximum the least number is below all of a word.
// CHECK-LABEL: func.func @signed
// CHECK: "graph.clip"(%{{.*}}) {max = 2.000000e+00 : f64} : (tensor<3xi64>) -> tensor<3xi64>
// CHECK: "graph.pad"(%{{.*}}) {{.*}}value = 0xC1E0000000000000 : f64} : (tensor<3xi64>) -> tensor<4xi64>
func.func @signed(%x: tensor<3xi64>) -> tensor<i64> {
  %0 = "graph.clip"(%x) {min = -1.0e+18 : f64, max = 2.0 : f64} : (tensor<3xi64>) -> tensor<3xi64>
  %1 = "graph.pad"(%0) {low = array<i64: 0>, high = array<i64: 1>, value = -9223372036854775808.0 : f64, mode = "constant"} : (tensor<3xi64>) -> tensor<4xi64>
  %2 = "graph.reduce"(%1) {axes = array<i64: 0>, keepdims = false, kind = "max"} : (tensor<4xi64>) -> tensor<i64>
  return %2 : tensor<i64>
}
