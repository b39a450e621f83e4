// RUN: mnc-opt %s --pass-pipeline='builtin.module(sliding-window)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(sliding-window)' --explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// CHECK-LABEL: func.func @sum
// CHECK: %[[RING:.*]] = memref.alloc() : memref<3xf32>
// Two elements before the loop, one more in each iteration.
// CHECK-NEXT: affine.for %[[K:.*]] = 0 to 2 {
// CHECK-NEXT: %[[FIRST:.*]] = affine.load %arg0[%[[K]]]
// CHECK-NEXT: affine.store %[[FIRST]], %[[RING]][%[[K]] mod 3]
// CHECK: affine.for %[[O:.*]] = 0 to 8 {
// CHECK-NEXT: affine.for %[[N:.*]] = 0 to 1 {
// CHECK-NEXT: affine.load %arg0[%[[O]] + %[[N]] + 2]
// CHECK-NEXT: affine.store %{{.*}}, %[[RING]][(%[[O]] + %[[N]] + 2) mod 3]
// CHECK: affine.for %[[W:.*]] = 0 to 3 {
// CHECK-NEXT: affine.load %[[RING]][(%[[O]] + %[[W]]) mod 3]
// CHECK: memref.dealloc %[[RING]]
func.func @sum(%x: memref<10xf32>, %y: memref<8xf32>) {
  affine.for %o = 0 to 8 {
    affine.for %k = 0 to 3 {
      %0 = affine.load %x[%o + %k] : memref<10xf32>
      %1 = affine.load %y[%o] : memref<8xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %y[%o] : memref<8xf32>
    }
  }
  return
}

// Windows side by side share nothing.
// CHECK-LABEL: func.func @no_overlap
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @no_overlap(%x: memref<9xf32>, %y: memref<3xf32>) {
  affine.for %o = 0 to 3 {
    affine.for %k = 0 to 3 {
      %0 = affine.load %x[%o * 3 + %k] : memref<9xf32>
      affine.store %0, %y[%o] : memref<3xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @written
// CHECK-NOT: memref.alloc
// WHY: SlidingWindow refused 'affine.load': the source is written inside the loop
func.func @written(%x: memref<10xf32>) {
  affine.for %o = 0 to 8 {
    affine.for %k = 0 to 3 {
      %0 = affine.load %x[%o + %k] : memref<10xf32>
      affine.store %0, %x[%o] : memref<10xf32>
    }
  }
  return
}
