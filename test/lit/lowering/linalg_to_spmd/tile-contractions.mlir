// RUN: mnc-opt %s --pass-pipeline='builtin.module(tile-contractions)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(tile-contractions{percent=1})' | FileCheck %s --check-prefix=LITTLE

#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#w = affine_map<(d0, d1, d2) -> (d2, d1)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#e = affine_map<(d0, d1) -> (d0, d1)>

// Slices of both factors, products that add to each other, layouts that assign-layouts keeps.
// CHECK-LABEL: func.func @large
// CHECK: tensor.extract_slice %arg0[0, 0]
// CHECK: tensor.extract_slice %arg1[0, 0]
// CHECK: linalg.generic
// CHECK-SAME: mncore.matrix
// CHECK-SAME: mncore.result
// CHECK: tensor.extract_slice %arg0[0, {{[1-9]}}
// CHECK: linalg.generic
func.func @large(%a: tensor<1280x1280xf32>, %b: tensor<1280x1280xf32>) -> tensor<1280x1280xf32> {
  %zero = arith.constant dense<0.0> : tensor<1280x1280xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<1280x1280xf32>, tensor<1280x1280xf32>) outs(%zero : tensor<1280x1280xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %m = arith.mulf %p, %q : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<1280x1280xf32>
  return %c : tensor<1280x1280xf32>
}

// What fits, and is not worth the latencies of several loads, stays one product.
// CHECK-LABEL: func.func @small
// CHECK-NOT: tensor.extract_slice
func.func @small(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%zero : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %m = arith.mulf %p, %q : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}

// A factor that somebody else reads as well arrives once, and whole, if there is room for it.
// LITTLE-LABEL: func.func @read_twice
// LITTLE: tensor.extract_slice %arg0[0, 0] [512, 32]
// CHECK-LABEL: func.func @read_twice
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @read_twice(%a: tensor<512x1024xf32>, %b: tensor<1024x64xf32>) -> (tensor<512x64xf32>, tensor<512x1024xf32>) {
  %zero = arith.constant dense<0.0> : tensor<512x64xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x1024xf32>, tensor<1024x64xf32>) outs(%zero : tensor<512x64xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %m = arith.mulf %p, %q : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<512x64xf32>
  %empty = tensor.empty() : tensor<512x1024xf32>
  %d = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<512x1024xf32>) outs(%empty : tensor<512x1024xf32>) {
  ^bb0(%p: f32, %s: f32):
    %m = arith.mulf %p, %p : f32
    linalg.yield %m : f32
  } -> tensor<512x1024xf32>
  return %c, %d : tensor<512x64xf32>, tensor<512x1024xf32>
}
