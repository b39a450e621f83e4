// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(fuse-addends)' | FileCheck %s

!x = memref<4x2xf32, #mncore.placed<"LM", "4x8", "((4:1,), (4_PE:1, 2_W:1))">>
!w = memref<8x2xf32, #mncore.placed<"LM", "8x8", "((8:1,), (4_PE:1, 2_W:1))">>
!y = memref<4x2xf32, #mncore.placed<"LM", "4x8", "((4:1,), (4_PE:1, 2_W:1))">>
!b = memref<1x2xf32, #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1),)">>

// CHECK-LABEL: func.func @bias
// CHECK: affine.for %[[I:.*]] = 0 to 4
// CHECK: affine.for %[[J:.*]] = 0 to 2
// CHECK: %[[B:.*]] = affine.load %arg2[0, %[[J]]]
// CHECK-NEXT: affine.store %[[B]], %[[OUT:.*]][%[[I]], %[[J]]]
// CHECK: "mncore.matmul"(%arg0, %arg1, %[[OUT]], %[[OUT]])
func.func @bias(%x: !x, %w: !w, %b: !b) {
  %y = memref.alloc() : !y
  %out = memref.alloc() : !y
  "mncore.matmul"(%x, %w, %y) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, precision = "pseudo-single",
    x_dims = ["m0", "k2"], w_dims = ["n1", "k2"], y_dims = ["m0", "n1"]} : (!x, !w, !y) -> ()
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 2 {
      %0 = affine.load %y[%i, %j] : !y
      %1 = affine.load %b[0, %j] : !b
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %out[%i, %j] : !y
    }
  }
  return
}

// -----

!x = memref<4x2xf32, #mncore.placed<"LM", "4x8", "((4:1,), (4_PE:1, 2_W:1))">>
!w = memref<8x2xf32, #mncore.placed<"LM", "8x8", "((8:1,), (4_PE:1, 2_W:1))">>
!y = memref<4x2xf32, #mncore.placed<"LM", "4x8", "((4:1,), (4_PE:1, 2_W:1))">>
!b = memref<1x2xf32, #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1),)">>

// The sum is bounded afterwards, and another use wants the product itself.
// CHECK-LABEL: func.func @kept
// CHECK: "mncore.matmul"(%arg0, %arg1, %{{[^,]*}}) {
// CHECK: arith.addf
// CHECK: "mncore.matmul"(%arg0, %arg1, %{{[^,]*}}) {
// CHECK: arith.addf
func.func @kept(%x: !x, %w: !w, %b: !b, %zero: f32) {
  %y = memref.alloc() : !y
  %out = memref.alloc() : !y
  "mncore.matmul"(%x, %w, %y) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, precision = "pseudo-single",
    x_dims = ["m0", "k2"], w_dims = ["n1", "k2"], y_dims = ["m0", "n1"]} : (!x, !w, !y) -> ()
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 2 {
      %0 = affine.load %y[%i, %j] : !y
      %1 = affine.load %b[0, %j] : !b
      %2 = arith.addf %0, %1 : f32
      %3 = arith.maximumf %2, %zero : f32
      affine.store %3, %out[%i, %j] : !y
    }
  }
  %z = memref.alloc() : !y
  %more = memref.alloc() : !y
  %moved = memref.alloc() : !y
  "mncore.matmul"(%x, %w, %z) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, precision = "pseudo-single",
    x_dims = ["m0", "k2"], w_dims = ["n1", "k2"], y_dims = ["m0", "n1"]} : (!x, !w, !y) -> ()
  "mncore.relayout"(%z, %moved) : (!y, !y) -> ()
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 2 {
      %0 = affine.load %z[%i, %j] : !y
      %1 = affine.load %b[0, %j] : !b
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %more[%i, %j] : !y
    }
  }
  return
}

// -----

!x = memref<4x2xf32, #mncore.placed<"LM", "4x8", "((4:1,), (4_PE:1, 2_W:1))">>
!w = memref<8x2xf32, #mncore.placed<"LM", "8x8", "((8:1,), (4_PE:1, 2_W:1))">>
!y = memref<4x2xf32, #mncore.placed<"LM", "4x8", "((4:1,), (4_PE:1, 2_W:1))">>

// The sum of the first product is not read again: the second adds to it where it is. The third is read afterwards, so
// the fourth starts from a copy.
// CHECK-LABEL: func.func @chain
// CHECK: "mncore.matmul"(%arg0, %arg1, %[[FIRST:[^,)]*]])
// CHECK-NOT: affine.for
// CHECK: "mncore.matmul"(%arg0, %arg1, %[[FIRST]], %[[FIRST]])
// CHECK: "mncore.matmul"(%arg0, %arg1, %[[THIRD:[^,)]*]])
// CHECK: affine.load %[[THIRD]]
// CHECK-NEXT: affine.store %{{.*}}, %[[COPY:[^\[]*]][
// CHECK: "mncore.matmul"(%arg0, %arg1, %[[COPY]], %[[COPY]])
func.func @chain(%x: !x, %w: !w, %out: memref<4x8xf32, #mncore.memory<"DRAM">>) {
  %a = memref.alloc() : !y
  "mncore.matmul"(%x, %w, %a) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, precision = "pseudo-single",
    x_dims = ["m0", "k2"], w_dims = ["n1", "k2"], y_dims = ["m0", "n1"]} : (!x, !w, !y) -> ()
  %b = memref.alloc() : !y
  "mncore.matmul"(%x, %w, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, precision = "pseudo-single",
    x_dims = ["m0", "k2"], w_dims = ["n1", "k2"], y_dims = ["m0", "n1"]} : (!x, !w, !y) -> ()
  %sum = memref.alloc() : !y
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 2 {
      %0 = affine.load %b[%i, %j] : !y
      %1 = affine.load %a[%i, %j] : !y
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %sum[%i, %j] : !y
    }
  }
  %c = memref.alloc() : !y
  "mncore.matmul"(%x, %w, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, precision = "pseudo-single",
    x_dims = ["m0", "k2"], w_dims = ["n1", "k2"], y_dims = ["m0", "n1"]} : (!x, !w, !y) -> ()
  %d = memref.alloc() : !y
  "mncore.matmul"(%x, %w, %d) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, precision = "pseudo-single",
    x_dims = ["m0", "k2"], w_dims = ["n1", "k2"], y_dims = ["m0", "n1"]} : (!x, !w, !y) -> ()
  %more = memref.alloc() : !y
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 2 {
      %0 = affine.load %d[%i, %j] : !y
      %1 = affine.load %c[%i, %j] : !y
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %more[%i, %j] : !y
    }
  }
  "mncore.ul"(%sum, %out) : (!y, memref<4x8xf32, #mncore.memory<"DRAM">>) -> ()
  "mncore.ul"(%more, %out) : (!y, memref<4x8xf32, #mncore.memory<"DRAM">>) -> ()
  "mncore.ul"(%c, %out) : (!y, memref<4x8xf32, #mncore.memory<"DRAM">>) -> ()
  return
}
