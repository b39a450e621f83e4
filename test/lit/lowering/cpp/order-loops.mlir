// RUN: mnc-opt %s --pass-pipeline='builtin.module(order-loops)' | FileCheck %s

// A product sums in the middle loop, so that the innermost one runs over neighbours in memory.
// CHECK-LABEL: func.func @product
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<5x7xf32>, tensor<7x9xf32>)
// CHECK: arith.mulf
func.func @product(%x: tensor<5x7xf32>, %w: tensor<7x9xf32>) -> tensor<5x9xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x9xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<5x9xf32>) -> tensor<5x9xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<5x7xf32>, tensor<7x9xf32>) outs(%f : tensor<5x9xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<5x9xf32>
  return %r : tensor<5x9xf32>
}
