// RUN: mnc-opt %s --pass-pipeline='builtin.module(overlap-stores)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(overlap-stores{resident=batch})' | FileCheck %s --check-prefix=KEPT

// What is read through windows, and a result that only the host reads: the first channels are stored while the PEs compute
// the others.
// CHECK-LABEL: func.func @windows
// CHECK: %[[FILTERS:.*]] = arith.constant {{.*}} : tensor<256x256x9xf32>
// CHECK: tensor.extract_slice %[[FILTERS]][0, 0, 0] [128, 256, 9]
// CHECK: %[[FIRST:.*]] = linalg.generic
// CHECK: tensor.extract_slice %[[FILTERS]][128, 0, 0] [128, 256, 9]
// CHECK: %[[SECOND:.*]] = linalg.generic
// CHECK: tensor.concat dim(1) %[[FIRST]], %[[SECOND]] {{.*}} -> tensor<8x256x512xf32>
// KEPT-LABEL: func.func @windows
// KEPT-NOT: tensor.concat
func.func @windows(%x: tensor<8x256x520xf32>) -> tensor<8x256x512xf32> {
  %w = arith.constant dense<2.0> : tensor<256x256x9xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x256x512xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x256x512xf32>) -> tensor<8x256x512xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(n, o, x, i, k) -> (n, i, x + k)>, affine_map<(n, o, x, i, k) -> (o, i, k)>, affine_map<(n, o, x, i, k) -> (n, o, x)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<8x256x520xf32>, tensor<256x256x9xf32>) outs(%f : tensor<8x256x512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<8x256x512xf32>
  return %s : tensor<8x256x512xf32>
}

// A transfer takes longer than what is computed of it, and loads and stores share the port of DRAM: nothing is hidden.
// CHECK-LABEL: func.func @few_products
// CHECK-NOT: tensor.concat
func.func @few_products(%x: tensor<64x16384xf32>) -> tensor<64x16384xf32> {
  %z = arith.constant 0.0 : f32
  %w = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %p = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<64x16384xf32> to tensor<64x16386xf32>
  %e = tensor.empty() : tensor<64x16384xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x16384xf32>) -> tensor<64x16384xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b + c)>, affine_map<(a, b, c) -> (c)>, affine_map<(a, b, c) -> (a, b)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %w : tensor<64x16386xf32>, tensor<3xf32>) outs(%f : tensor<64x16384xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x16384xf32>
  return %s : tensor<64x16384xf32>
}

// Nothing is read through windows.
// CHECK-LABEL: func.func @element_wise
// CHECK-NOT: tensor.concat
func.func @element_wise(%x: tensor<64x16384xf32>) -> tensor<64x16384xf32> {
  %e = tensor.empty() : tensor<64x16384xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x16384xf32>) outs(%e : tensor<64x16384xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<64x16384xf32>
  return %s : tensor<64x16384xf32>
}

// The argument is wanted elsewhere, too: it comes once.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: tensor.concat
func.func @shared(%x: tensor<64x16384xf32>) -> (tensor<64x16382xf32>, tensor<64x16384xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x16382xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x16382xf32>) -> tensor<64x16382xf32>
  %w = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b + c)>, affine_map<(a, b, c) -> (c)>, affine_map<(a, b, c) -> (a, b)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<64x16384xf32>, tensor<3xf32>) outs(%f : tensor<64x16382xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<64x16382xf32>
  return %s, %x : tensor<64x16382xf32>, tensor<64x16384xf32>
}
