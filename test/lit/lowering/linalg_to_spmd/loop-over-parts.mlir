// RUN: mnc-opt %s --pass-pipeline='builtin.module(loop-over-parts{steps=20})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(loop-over-parts)' | FileCheck %s --check-prefix=SHORT
// RUN: mnc-opt %s --pass-pipeline='builtin.module(loop-over-parts{steps=20 resident=state})' | \
// RUN:   FileCheck %s --check-prefix=SHORT

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// Rows are independent of each other. The weight is whole in every trip, and the last part overlaps that before it.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %arg0: tensor<[[SIZE:[0-9]+]]x64xf32> {mncore.slice = {shape = array<i64: 1000, 64>, starts = array<i64: 0, 0, [[SIZE]], 0,
// CHECK-SAME: -> (tensor<[[SIZE]]x64xf32> {mncore.slice = {shape = array<i64: 1000, 64>
// CHECK-SAME: attributes {mncore.trips = {{[0-9]+}} : i64}
// CHECK: arith.constant dense<2.0
// CHECK: ins(%arg0, %{{.*}} : tensor<[[SIZE]]x64xf32>, tensor<64xf32>)
// SHORT-LABEL: func.func @rows
// SHORT-NOT: mncore
func.func @rows(%x: tensor<1000x64xf32>) -> tensor<1000x64xf32> {
  %w = arith.constant dense<2.0> : tensor<64xf32>
  %empty = tensor.empty() : tensor<1000x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<1000x64xf32>, tensor<64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<1000x64xf32>
  return %y : tensor<1000x64xf32>
}

// The sum runs over all rows: of a column, every trip would need all of them, so columns are cut.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %arg0: tensor<4096x{{[0-9]+}}xf32> {mncore.slice = {shape = array<i64: 4096, 4096>
func.func @columns(%x: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %zero = arith.constant dense<0.0> : tensor<4096xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4096x4096xf32>) outs(%zero : tensor<4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// One number is made of all elements: there are no parts.
// CHECK-LABEL: func.func @total
// CHECK-SAME: (%arg0: tensor<4096x4096xf32>) -> tensor<1xf32> {
func.func @total(%x: tensor<4096x4096xf32>) -> tensor<1xf32> {
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  %y = linalg.generic {indexing_maps = [#all, affine_map<(d0, d1) -> (0)>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<4096x4096xf32>) outs(%zero : tensor<1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// A scalar, as the loss of a training step, has no dimensions that could be cut.
// CHECK-LABEL: func.func @scalar
// CHECK-NOT: mncore.trips
// CHECK: tensor.collapse_shape
func.func @scalar(%x: tensor<1000x64xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<1x1xf32>
  %y = linalg.generic {indexing_maps = [#all, affine_map<(d0, d1) -> (0, 0)>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<1000x64xf32>) outs(%zero : tensor<1x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<1x1xf32>
  %s = tensor.collapse_shape %y [] : tensor<1x1xf32> into tensor<f32>
  return %s : tensor<f32>
}

// A chain: whose parts are made is not asked of operations that are gone.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: attributes {mncore.trips
// CHECK-COUNT-12: math.absf
// CHECK-NOT: math.absf
func.func @chain(%x: tensor<1000x64xf32>) -> tensor<1000x64xf32> {
  %empty = tensor.empty() : tensor<1000x64xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %2 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %3 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %4 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%3 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %5 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%4 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %6 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%5 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %7 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%6 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %8 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%7 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %9 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%8 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %10 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%9 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  %11 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%10 : tensor<1000x64xf32>) outs(%empty : tensor<1000x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x64xf32>
  return %11 : tensor<1000x64xf32>
}

// Columns are taken of all rows: every trip takes them of its own.
// CHECK-LABEL: func.func @taken_apart
// CHECK-SAME: %arg0: tensor<[[ROWS:[0-9]+]]x64xf32>
// CHECK: tensor.extract_slice %arg0[0, 24] {{\[}}[[ROWS]], 16] [1, 1]
func.func @taken_apart(%x: tensor<1000x64xf32>) -> tensor<1000x16xf32> {
  %empty = tensor.empty() : tensor<1000x16xf32>
  %columns = tensor.extract_slice %x[0, 24] [1000, 16] [1, 1] : tensor<1000x64xf32> to tensor<1000x16xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%columns : tensor<1000x16xf32>) outs(%empty : tensor<1000x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.exp %a : f32
    linalg.yield %b : f32
  } -> tensor<1000x16xf32>
  return %y : tensor<1000x16xf32>
}
