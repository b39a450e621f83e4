// RUN: mnc-opt %s --pass-pipeline='builtin.module(generalize-named)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(generalize-named{only=transpose})' | FileCheck %s --check-prefix=ONLY

// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// ONLY: linalg.generic
// ONLY: linalg.matmul
func.func @main(%x: tensor<4x5xf32>, %w: tensor<3x5xf32>) -> tensor<4x3xf32> {
  %0 = tensor.empty() : tensor<5x3xf32>
  %1 = linalg.transpose ins(%w : tensor<3x5xf32>) outs(%0 : tensor<5x3xf32>) permutation = [1, 0]
  %zero = arith.constant 0.0 : f32
  %2 = tensor.empty() : tensor<4x3xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<4x3xf32>) -> tensor<4x3xf32>
  %4 = linalg.matmul ins(%x, %1 : tensor<4x5xf32>, tensor<5x3xf32>) outs(%3 : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %4 : tensor<4x3xf32>
}
