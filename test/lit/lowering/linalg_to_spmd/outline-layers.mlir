// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(outline-layers{steps=0 percent=50})' | FileCheck %s
// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(outline-layers)' | FileCheck %s --check-prefix=SHORT

// Three layers y = x + w, with weights of their own. The first is written, with numbers for its weight: 2^28 and
// further as bits of a float. The last sum has another extent, so it belongs to what comes after.
// CHECK: module @before
// CHECK: func.func @main(%arg0: tensor<4xf32> {onnx.name = "x"})
// CHECK-SAME: -> (tensor<4xf32> {onnx.name = "carried.0"})
// CHECK: return %arg0
// CHECK: module @layer
// CHECK: func.func @main(%arg0: tensor<4xf32> {mnc.updated = "next.0", onnx.name = "carried.0"})
// CHECK-SAME: -> (tensor<4xf32> {onnx.name = "next.0"})
// CHECK-SAME: mncore.trips = 3 : i64
// CHECK-SAME: mncore.weights = [{names = ["a", "b", "c"], values = [dense<[1.000000e+00,
// CHECK-SAME: dense<[5.000000e+00,
// CHECK-SAME: dense<[9.000000e+00,
// CHECK: arith.constant {onnx.name = "a"} dense<[2.5243549E-29, 2.5243552E-29,
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: module @after
// CHECK: func.func @main(%arg0: tensor<4xf32> {onnx.name = "carried.0"})
// CHECK-SAME: -> (tensor<1xf32> {onnx.name = "y"})
// CHECK: linalg.generic
// SHORT-NOT: module @
#all = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<1xf32> {onnx.name = "y"}) {
  %a = arith.constant {onnx.name = "a"} dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = arith.constant {onnx.name = "b"} dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %c = arith.constant {onnx.name = "c"} dense<[9.0, 8.0, 7.0, 6.0]> : tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%x, %a : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%0, %b : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%1, %c : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#all, affine_map<(d0) -> (0)>], iterator_types = ["reduction"]}
      ins(%2 : tensor<4xf32>) outs(%zero : tensor<1xf32>) {
  ^bb0(%i: f32, %o: f32):
    %s = arith.addf %i, %o : f32
    linalg.yield %s : f32
  } -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

// What one layer makes is read behind the next one, too: these are no layers.
// CHECK-LABEL: func.func @read_again
// CHECK-NOT: module @layer
#all = affine_map<(d0) -> (d0)>
func.func @read_again(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%0, %0 : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%1, %0 : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.mulf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Two rows, of sums and of products: what the last sum hands over is what the first product takes.
// CHECK: module @before
// CHECK: -> (tensor<4xf32> {onnx.name = "carried.0"})
// CHECK: module @layer.0
// CHECK: func.func @main(%arg0: tensor<4xf32> {mnc.updated = "next.0", onnx.name = "carried.0"})
// CHECK-SAME: mncore.trips = 3 : i64
// CHECK: arith.addf
// CHECK: module @between.1
// CHECK: func.func @main(%arg0: tensor<4xf32> {onnx.name = "carried.0"})
// CHECK-SAME: -> (tensor<4xf32> {onnx.name = "carried.1"})
// CHECK-NEXT: return %arg0
// CHECK: module @layer.1
// CHECK: func.func @main(%arg0: tensor<4xf32> {mnc.updated = "next.1", onnx.name = "carried.1"})
// CHECK-SAME: mncore.trips = 2 : i64
// CHECK: arith.mulf
// CHECK: module @after
// CHECK: func.func @main(%arg0: tensor<4xf32> {onnx.name = "carried.1"})
#all = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"}) {
  %a = arith.constant {onnx.name = "a"} dense<[0.0, 0.5, 0.25, 0.75]> : tensor<4xf32>
  %b = arith.constant {onnx.name = "b"} dense<[1.0, 1.5, 1.25, 1.75]> : tensor<4xf32>
  %c = arith.constant {onnx.name = "c"} dense<[2.0, 2.5, 2.25, 2.75]> : tensor<4xf32>
  %d = arith.constant {onnx.name = "d"} dense<[3.0, 3.5, 3.25, 3.75]> : tensor<4xf32>
  %e = arith.constant {onnx.name = "e"} dense<[4.0, 4.5, 4.25, 4.75]> : tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%x, %a : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%0, %b : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%1, %c : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %3 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%2, %d : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.mulf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %4 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%3, %e : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.mulf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// Four steps of a recurrence: each multiplies what it carries by a row of %x, and leaves a row of the result. All rows
// but the first are those of trips. What comes before leaves the state and the rows of %x, and what comes after finds
// the rows that were made.
// CHECK: module @before
// CHECK: -> (tensor<1x4xf32> {onnx.name = "carried.0"}, tensor<5x4xf32> {onnx.name = "scanned.0"}
// CHECK-SAME: tensor<1x1x4xf32> {mncore.first_row = 0 : i64, onnx.name = "stacked.0"})
// CHECK: module @layer
// CHECK: tensor<1x4xf32> {mnc.updated = "next.0", onnx.name = "carried.0"}
// CHECK-SAME: tensor<1x4xf32> {mncore.kept, mncore.slice = {shape = array<i64: 5, 4>, starts = array<i64: 1, 0, 2, 0, 3, 0, 4, 0>}
// CHECK-SAME: onnx.name = "scanned.0"
// CHECK-SAME: -> (tensor<1x4xf32> {onnx.name = "next.0"}, tensor<1x1x4xf32> {mncore.kept
// CHECK-SAME: mncore.slice = {shape = array<i64: 5, 1, 4>, starts = array<i64: 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0>}
// CHECK-SAME: onnx.name = "stacked.0"
// CHECK-SAME: mncore.trips = 4 : i64
// CHECK: module @after
// CHECK: func.func @main(%arg0: tensor<5x1x4xf32> {onnx.name = "stacked.0"})
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<5x4xf32> {onnx.name = "x"}, %h: tensor<1x4xf32> {onnx.name = "h"}) -> (tensor<5x1x4xf32> {onnx.name = "y"}) {
  %empty = tensor.empty() : tensor<1x4xf32>
  %r0 = tensor.extract_slice %x[0, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
  %h0 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h, %r0 : tensor<1x4xf32>, tensor<1x4xf32>) outs(%empty : tensor<1x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %r1 = tensor.extract_slice %x[1, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
  %h1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %r1 : tensor<1x4xf32>, tensor<1x4xf32>) outs(%empty : tensor<1x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.mulf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %r2 = tensor.extract_slice %x[2, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
  %h2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %r2 : tensor<1x4xf32>, tensor<1x4xf32>) outs(%empty : tensor<1x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.mulf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %r3 = tensor.extract_slice %x[3, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
  %h3 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %r3 : tensor<1x4xf32>, tensor<1x4xf32>) outs(%empty : tensor<1x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.mulf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %r4 = tensor.extract_slice %x[4, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
  %h4 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%h3, %r4 : tensor<1x4xf32>, tensor<1x4xf32>) outs(%empty : tensor<1x4xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.mulf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %e0 = tensor.expand_shape %h0 [[0], [1, 2]] output_shape [1, 1, 4] : tensor<1x4xf32> into tensor<1x1x4xf32>
  %e1 = tensor.expand_shape %h1 [[0], [1, 2]] output_shape [1, 1, 4] : tensor<1x4xf32> into tensor<1x1x4xf32>
  %e2 = tensor.expand_shape %h2 [[0], [1, 2]] output_shape [1, 1, 4] : tensor<1x4xf32> into tensor<1x1x4xf32>
  %e3 = tensor.expand_shape %h3 [[0], [1, 2]] output_shape [1, 1, 4] : tensor<1x4xf32> into tensor<1x1x4xf32>
  %e4 = tensor.expand_shape %h4 [[0], [1, 2]] output_shape [1, 1, 4] : tensor<1x4xf32> into tensor<1x1x4xf32>
  %y = tensor.concat dim(0) %e0, %e1, %e2, %e3, %e4 : (tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> tensor<5x1x4xf32>
  return %y : tensor<5x1x4xf32>
}
