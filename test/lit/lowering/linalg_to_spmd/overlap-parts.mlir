// RUN: mnc-opt %s --pass-pipeline='builtin.module(overlap-parts)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(overlap-parts{resident=batch})' | FileCheck %s --check-prefix=KEPT

// Twelve pairs of products: while some are computed, the next arrive, and those before are stored. Factors of the first
// products are waited for, so that they may come in parts of their own.
// CHECK-LABEL: func.func @batch
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %arg0[0, 0, 0]
// CHECK-NOT: is_part
// CHECK: tensor.extract_slice %arg0
// CHECK: linalg.generic {{.*}} attrs = {mncore.is_part}
// CHECK: linalg.generic {{.*}} attrs = {mncore.is_part}
// CHECK: tensor.concat dim(0)
// KEPT-LABEL: func.func @batch
// KEPT-NOT: tensor.extract_slice
#left = affine_map<(b, m, n, k) -> (b, m, k)>
#right = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @batch(%x: tensor<12x512x64xf32>, %y: tensor<12x64x512xf32>, %z: tensor<12x512x64xf32>) -> tensor<12x512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<12x512x512xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<12x512x512xf32>) -> tensor<12x512x512xf32>
  %s = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<12x512x64xf32>, tensor<12x64x512xf32>) outs(%i0 : tensor<12x512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<12x512x512xf32>
  %e1 = tensor.empty() : tensor<12x512x64xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<12x512x64xf32>) -> tensor<12x512x64xf32>
  %r = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %z : tensor<12x512x512xf32>, tensor<12x512x64xf32>) outs(%i1 : tensor<12x512x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<12x512x64xf32>
  return %r : tensor<12x512x64xf32>
}

// A factor that all parts want would come once for each of them: such products have tiles of their own.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @shared(%x: tensor<12x512x64xf32>, %w: tensor<64x512xf32>, %z: tensor<12x512x64xf32>) -> tensor<12x512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<12x512x512xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<12x512x512xf32>) -> tensor<12x512x512xf32>
  %s = linalg.generic {indexing_maps = [#left, affine_map<(b, m, n, k) -> (k, n)>, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<12x512x64xf32>, tensor<64x512xf32>) outs(%i0 : tensor<12x512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<12x512x512xf32>
  %e1 = tensor.empty() : tensor<12x512x64xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<12x512x64xf32>) -> tensor<12x512x64xf32>
  %r = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %z : tensor<12x512x512xf32>, tensor<12x512x64xf32>) outs(%i1 : tensor<12x512x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<12x512x64xf32>
  return %r : tensor<12x512x64xf32>
}
