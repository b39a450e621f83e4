// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(count-work)' | FileCheck %s
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(count-work{precision=single resident=state})' | FileCheck %s --check-prefix=KEPT
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(count-work{precision=half})' | FileCheck %s --check-prefix=HALF

// 3 * 4 * 5 multiply-adds at 65536 a cycle; x 10, w 6 and the result 8 long words; nobody needs the second product.
// With the state kept, w is there already, and its new value stays.
// CHECK: mnc.work = {compute_cycles = 9.1552734375E-4 : f64, dram_long_words = 24 : i64, multiply_adds = 60 : i64}
// KEPT: mnc.work = {compute_cycles = 0.0018310546875 : f64, dram_long_words = 16 : i64, multiply_adds = 60 : i64}
func.func @product(%x: tensor<4x5xf32>, %w: tensor<5x3xf32> {mnc.updated = "new"}) -> (tensor<4x3xf32>) {
  %0 = "graph.matmul"(%x, %w) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %1 = "graph.matmul"(%x, %w) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// Two of the 1000 rows are read, the indices are known; one row at most per index that is not. One number is free.
// CHECK: mnc.work = {compute_cycles = 0.000000e+00 : f64, dram_long_words = 50 : i64, multiply_adds = 0 : i64}
func.func @lookup(%table: tensor<1000x8xf32>, %i: tensor<3xi32>) -> (tensor<4x8xf32>, tensor<3x8xf32>) {
  %known = "graph.constant"() {value = dense<[7, 7, 9, -991]> : tensor<4xi32>} : () -> tensor<4xi32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32>
  %0 = "graph.gather"(%table, %known) {axis = 0} : (tensor<1000x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %1 = "graph.gather"(%table, %i) {axis = 0} : (tensor<1000x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  %2 = "graph.add"(%0, %one) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %2, %1 : tensor<4x8xf32>, tensor<3x8xf32>
}

// -----

// A transposed convolution multiplies its 2 * 9 elements by 3 * 4 weights each; the zeros between them do not count.
// CHECK: multiply_adds = 216 : i64
func.func @spread(%x: tensor<1x2x3x3xf32>, %w: tensor<2x3x2x2xf32>) -> tensor<1x3x6x6xf32> {
  %0 = "graph.conv_transpose"(%x, %w) {dilations = array<i64: 1, 1>, group = 1, output_padding = array<i64: 0, 0>,
      pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}
      : (tensor<1x2x3x3xf32>, tensor<2x3x2x2xf32>) -> tensor<1x3x6x6xf32>
  return %0 : tensor<1x3x6x6xf32>
}

// -----

// Of weights that only products of halves read half a word per element: x 2, w 1 and the result 2 long words.
// CHECK: dram_long_words = 6 : i64
// HALF: mnc.work = {compute_cycles = 3.0517578125E-5 : f64, dram_long_words = 5 : i64, multiply_adds = 8 : i64}
func.func @halves(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = "graph.constant"() {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>} : () -> tensor<2x2xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
