// RUN: mnc-opt %s --pass-pipeline='builtin.module(fuse-loops)' | FileCheck %s

// One nest, and the temporary is gone.
// CHECK-NOT: memref.alloc
// CHECK: affine.for
// CHECK: math.exp
// CHECK-NOT: affine.for
// CHECK: math.tanh
// CHECK: return
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %0 = affine.load %x[%i] : memref<8xf32>
    %1 = math.exp %0 : f32
    affine.store %1, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %t[%i] : memref<8xf32>
    %1 = math.tanh %0 : f32
    affine.store %1, %y[%i] : memref<8xf32>
  }
  return
}
