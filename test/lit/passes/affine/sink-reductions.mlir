// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(sink-reductions)' | FileCheck %s

!dram = memref<16xf32, #mncore.memory<"DRAM">>
!share = memref<1x2xf32, #mncore.placed<"LM", "16", "((2_MAB:2, 4_PE:1, 2_W:1),)">>

// An update: what is added to the parts is divided among them, the PEs still exchange theirs.
// CHECK-LABEL: func.func @update
// CHECK: "mncore.reduce"(%[[P:.*]], %[[S:.*]]) {axes = ["PE"], bits = array<i64: 3>, kind = "sum"}
// CHECK: affine.for
// CHECK: %[[G:.*]] = affine.load %[[S]]
// CHECK: %[[STEP:.*]] = arith.mulf %[[G]], %{{.*}} : f32
// CHECK: %[[EIGHTH:.*]] = arith.constant 1.250000e-01 : f32
// CHECK: %[[SHARE:.*]] = arith.mulf %{{.*}}, %[[EIGHTH]] : f32
// CHECK: arith.subf %[[SHARE]], %[[STEP]] : f32
// CHECK: "mncore.ul"({{.*}}) {bits = array<i64: 7>, sum = ["L2B"]}
func.func @update(%out: !dram, %w: !share, %p: !share) {
  %rate = arith.constant 0.01 : f32
  %s = memref.alloc() : !share
  %u = memref.alloc() : !share
  "mncore.reduce"(%p, %s) {axes = ["L2B", "PE"], bits = array<i64: 7, 3>, kind = "sum"} : (!share, !share) -> ()
  affine.for %i = 0 to 2 {
    %0 = affine.load %w[0, %i] : !share
    %1 = affine.load %s[0, %i] : !share
    %2 = arith.mulf %1, %rate : f32
    %3 = arith.subf %0, %2 : f32
    affine.store %3, %u[0, %i] : !share
  }
  "mncore.ul"(%u, %out) : (!share, !dram) -> ()
  return
}

// -----

!dram = memref<16xf32, #mncore.memory<"DRAM">>
!share = memref<1x2xf32, #mncore.placed<"LM", "16", "((2_MAB:2, 4_PE:1, 2_W:1),)">>

// Nothing is left to do before the store.
// CHECK-LABEL: func.func @plain
// CHECK-NOT: mncore.reduce
// CHECK: "mncore.ul"(%arg1, %arg0) {bits = array<i64: 7, 6>, sum = ["L2B", "L1B"]}
func.func @plain(%out: !dram, %p: !share) {
  %s = memref.alloc() : !share
  "mncore.reduce"(%p, %s) {axes = ["L2B", "L1B"], bits = array<i64: 7, 6>, kind = "sum"} : (!share, !share) -> ()
  "mncore.ul"(%s, %out) : (!share, !dram) -> ()
  return
}

// -----

!dram = memref<16xf32, #mncore.memory<"DRAM">>
!share = memref<1x2xf32, #mncore.placed<"LM", "16", "((2_MAB:2, 4_PE:1, 2_W:1),)">>
!spread = memref<1x2xf32, #mncore.placed<"LM", "16", "((2_L1B:1, 4_PE:1, 2_W:1),)">>

// The movement takes values to other L1Bs: their parts must be whole before, those of the L2Bs need not.
// CHECK-LABEL: func.func @moved
// CHECK: "mncore.reduce"({{.*}}) {axes = ["L1B"], bits = array<i64: 7>, kind = "sum"}
// CHECK: mncore.relayout
// CHECK: "mncore.ul"({{.*}}) {bits = array<i64: 7>, sum = ["L2B"]}
func.func @moved(%out: !dram, %p: !share) {
  %s = memref.alloc() : !share
  %t = memref.alloc() : !spread
  "mncore.reduce"(%p, %s) {axes = ["L2B", "L1B"], bits = array<i64: 7, 7>, kind = "sum"} : (!share, !share) -> ()
  "mncore.relayout"(%s, %t) : (!share, !spread) -> ()
  "mncore.ul"(%t, %out) : (!spread, !dram) -> ()
  return
}

// -----

!dram = memref<16xf32, #mncore.memory<"DRAM">>
!share = memref<1x2xf32, #mncore.placed<"LM", "16", "((2_MAB:2, 4_PE:1, 2_W:1),)">>

// The square of a sum is not the sum of squares; the other result of the same sum needs it whole, too.
// CHECK-LABEL: func.func @square
// CHECK: "mncore.reduce"({{.*}}) {axes = ["L2B"], bits = array<i64: 7>, kind = "sum"}
// CHECK-NOT: sum = ["L2B"]
func.func @square(%out: !dram, %sums: !dram, %p: !share) {
  %s = memref.alloc() : !share
  %u = memref.alloc() : !share
  "mncore.reduce"(%p, %s) {axes = ["L2B"], bits = array<i64: 7>, kind = "sum"} : (!share, !share) -> ()
  affine.for %i = 0 to 2 {
    %0 = affine.load %s[0, %i] : !share
    %1 = arith.mulf %0, %0 : f32
    affine.store %1, %u[0, %i] : !share
  }
  "mncore.ul"(%s, %sums) : (!share, !dram) -> ()
  "mncore.ul"(%u, %out) : (!share, !dram) -> ()
  return
}

// -----

!dram = memref<16xf32, #mncore.memory<"DRAM">>
!share = memref<1x2xf32, #mncore.placed<"LM", "16", "((2_MAB:2, 4_PE:1, 2_W:1),)">>

// Maxima are combined where they are.
// CHECK-LABEL: func.func @maximum
// CHECK: "mncore.reduce"({{.*}}) {axes = ["L2B"], bits = array<i64: 7>, kind = "max"}
// CHECK-NOT: sum = ["L2B"]
func.func @maximum(%out: !dram, %p: !share) {
  %s = memref.alloc() : !share
  "mncore.reduce"(%p, %s) {axes = ["L2B"], bits = array<i64: 7>, kind = "max"} : (!share, !share) -> ()
  "mncore.ul"(%s, %out) : (!share, !dram) -> ()
  return
}

// -----

!dram = memref<16xf32, #mncore.memory<"DRAM">>
!share = memref<1x2xf32, #mncore.placed<"LM", "16", "((2_MAB:2, 4_PE:1, 2_W:1),)">>

// A store adds over one set of L1Bs: of two sums over different sets the second is made before.
// CHECK-LABEL: func.func @two_sets
// CHECK-NOT: bits = array<i64: 6>, kind
// CHECK: "mncore.reduce"({{.*}}) {axes = ["L1B"], bits = array<i64: 7>, kind = "sum"}
// CHECK: arith.constant 2.500000e-01
// CHECK-NOT: arith.constant 1.250000e-01
// CHECK: "mncore.ul"({{.*}}) {bits = array<i64: 6>, sum = ["L1B"]}
func.func @two_sets(%out: !dram, %p: !share, %q: !share) {
  %s = memref.alloc() : !share
  %t = memref.alloc() : !share
  %u = memref.alloc() : !share
  "mncore.reduce"(%p, %s) {axes = ["L1B"], bits = array<i64: 6>, kind = "sum"} : (!share, !share) -> ()
  "mncore.reduce"(%q, %t) {axes = ["L1B"], bits = array<i64: 7>, kind = "sum"} : (!share, !share) -> ()
  affine.for %i = 0 to 2 {
    %0 = affine.load %s[0, %i] : !share
    %1 = affine.load %t[0, %i] : !share
    %2 = arith.addf %0, %1 : f32
    affine.store %2, %u[0, %i] : !share
  }
  "mncore.ul"(%u, %out) : (!share, !dram) -> ()
  return
}

// -----

!dram = memref<f32, #mncore.memory<"DRAM">>
!number = memref<1x2xf32, #mncore.placed<"LM", "scalar", "()">>

// A mean over what is counted: the total may stay in parts, the count by which they are divided may not.
// CHECK-LABEL: func.func @mean
// CHECK: "mncore.reduce"(%arg2, %[[COUNT:.*]]) {axes = ["L2B"], bits = array<i64: 7>, kind = "sum"}
// CHECK-NOT: mncore.reduce
// CHECK: affine.load %arg1
// CHECK: affine.load %[[COUNT]]
// CHECK: "mncore.ul"({{.*}}) {bits = array<i64: 7>, sum = ["L2B"]}
func.func @mean(%out: !dram, %total: !number, %hits: !number) {
  %s = memref.alloc() : !number
  %n = memref.alloc() : !number
  %u = memref.alloc() : !number
  "mncore.reduce"(%total, %s) {axes = ["L2B"], bits = array<i64: 7>, kind = "sum"} : (!number, !number) -> ()
  "mncore.reduce"(%hits, %n) {axes = ["L2B"], bits = array<i64: 7>, kind = "sum"} : (!number, !number) -> ()
  affine.for %i = 0 to 2 {
    %0 = affine.load %s[0, %i] : !number
    %1 = affine.load %n[0, %i] : !number
    %2 = arith.divf %0, %1 : f32
    affine.store %2, %u[0, %i] : !number
  }
  "mncore.ul"(%u, %out) : (!number, !dram) -> ()
  return
}
