// RUN: mnc-opt %s --pass-pipeline='builtin.module(unroll{factor=4})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(unroll{full-below=16})' | FileCheck %s --check-prefix=FULL
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(unroll{factor=0})' 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: factor and repeats must be at least 1
// CHECK: affine.for %{{.*}} = 0 to 8 step 4 {
// CHECK-COUNT-4: affine.store
// CHECK: }
// FULL-NOT: affine.for
// FULL-COUNT-8: affine.store
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %0 = affine.load %x[%i] : memref<8xf32>
    affine.store %0, %y[%i] : memref<8xf32>
  }
  return
}
