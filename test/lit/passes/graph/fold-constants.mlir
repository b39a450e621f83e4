// RUN: mnc-opt %s --pass-pipeline='builtin.module(fold-constants)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(fold-constants{limit=16})' --explain 2>&1 | FileCheck %s --check-prefix=WHY

// CHECK-LABEL: func.func @chain
func.func @chain() -> tensor<2xf32> {
  // CHECK: value = dense<[1.500000e+00, 2.500000e+00]>
  // CHECK-NEXT: return
  %0 = "graph.constant"() {value = dense<[1.0, 3.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = "graph.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %2 = "graph.add"(%0, %1) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = "graph.div"(%2, %1) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// A weight made from a weight is named after it.
// CHECK-LABEL: func.func @weight
func.func @weight() -> tensor<2x1xf32> {
  // CHECK: onnx.name = "w.transpose"
  // CHECK-SAME: value = dense<{{\[\[}}1.000000e+00], [2.000000e+00]]>
  %0 = "graph.constant"() {value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>, onnx.name = "w"} : () -> tensor<1x2xf32>
  %1 = "graph.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<1x2xf32>) -> tensor<2x1xf32>
  return %1 : tensor<2x1xf32>
}

// CHECK-LABEL: func.func @not_of_arguments
func.func @not_of_arguments(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: graph.constant
  // CHECK: graph.add
  %0 = "graph.constant"() {value = dense<[1.0, 3.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = "graph.add"(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// WHY-DAG: FoldConstant refused 'graph.broadcast_to': the result has 24 bytes, more than its operands and than the limit of 16
func.func @huge() -> tensor<2x3xf32> {
  %0 = "graph.constant"() {value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>} : () -> tensor<3xf32>
  %1 = "graph.broadcast_to"(%0) : (tensor<3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// WHY-DAG: FoldConstant refused 'graph.div': an integer is divided by 0
func.func @division_by_zero() -> tensor<2xi32> {
  %0 = "graph.constant"() {value = dense<[1, 2]> : tensor<2xi32>} : () -> tensor<2xi32>
  %1 = "graph.constant"() {value = dense<[1, 0]> : tensor<2xi32>} : () -> tensor<2xi32>
  %2 = "graph.div"(%0, %1) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}

// Elements of every type take a word: this is no larger than the weight.
// WHY-LABEL: func.func @eight_bits
func.func @eight_bits() -> tensor<5xf32> {
  // WHY-NOT: graph.cast
  // WHY: value = dense<[1.000000e+00, 2.000000e+00
  %0 = "graph.constant"() {value = dense<[1, 2, 3, 4, 5]> : tensor<5xi8>} : () -> tensor<5xi8>
  %1 = "graph.cast"(%0) : (tensor<5xi8>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}
