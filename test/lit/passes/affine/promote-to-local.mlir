// RUN: mnc-opt %s --pass-pipeline='builtin.module(promote-to-local{memory-space=3 capacity=1024})' | FileCheck %s
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(promote-to-local{capacity=100})' 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(promote-to-local{memory-space="#nothing<"})' 2>&1 | FileCheck %s --check-prefix=SPACE

// ERROR: capacity 100 is below 1024 bytes
// SPACE: cannot read the memory space '#nothing<'

// A row fits, the matrix does not: the copy is inside the outer loop.
// CHECK: affine.for %[[ROW:.*]] = 0 to 64 {
// CHECK: %[[LOCAL:.*]] = memref.alloc() : memref<1x64xf32, 3>
// CHECK: affine.load %arg0
// CHECK-NEXT: affine.store %{{.*}}, %[[LOCAL]]
// CHECK: math.exp
// CHECK: memref.dealloc
func.func @main(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %x[%i, %j] : memref<64x64xf32>
      %1 = math.exp %0 : f32
      affine.store %1, %y[%i, %j] : memref<64x64xf32>
    }
  }
  return
}
