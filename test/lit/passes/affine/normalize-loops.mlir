// RUN: mnc-opt %s --pass-pipeline='builtin.module(normalize-loops)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(normalize-loops{keep-single=true})' | FileCheck %s --check-prefix=KEEP

// CHECK: affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NOT: affine.for
// CHECK: affine.load %{{.*}}[%[[I]] * 4 + 4, 0]
// KEEP: affine.for
// KEEP: affine.for
func.func @main(%x: memref<20x1xf32>, %y: memref<20x1xf32>) {
  affine.for %i = 4 to 20 step 4 {
    affine.for %j = 0 to 1 {
      %0 = affine.load %x[%i, %j] : memref<20x1xf32>
      affine.store %0, %y[%i, %j] : memref<20x1xf32>
    }
  }
  return
}
