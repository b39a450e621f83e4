// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(assign-layouts,distribute)' | FileCheck %s

// A tensor arrives once, stays in local memory, and the result leaves once.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: memref<53x20xf32, #mncore.memory<"DRAM">> {mncore.role = "input", onnx.name = "x"}
// CHECK-SAME: %[[Y:.*]]: memref<53xf32, #mncore.memory<"DRAM">> {mncore.role = "output"}
// CHECK: "mncore.dl"(%[[X]], [[LOCAL:%[a-z_0-9]+]])
// CHECK-NOT: mncore.dl
// CHECK: affine.for
// CHECK: affine.load [[LOCAL]]
// CHECK: math.exp
// CHECK: affine.store %{{.*}}, [[EXP:%[a-z_0-9]+]][
// Padding must not take part in the sum.
// CHECK: "mncore.fill_padding"([[EXP]]) {value = 0 : i32}
// A PE holds one element of each row: there is nothing to add in it.
// CHECK-NOT: affine.for
// CHECK: "mncore.reduce"(%{{.*}}, [[SUM:%[a-z_0-9]+]]) {axes = ["MAB", "PE", "W"], bits = array<i64: 12, 3, 1>, kind = "sum"}
// CHECK: "mncore.ul"([[SUM]], %[[Y]])
func.func @main(%x: tensor<53x20xf32> {onnx.name = "x"}) -> tensor<53xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<53x20xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types=["parallel","parallel"]} ins(%x : tensor<53x20xf32>) outs(%e: tensor<53x20xf32>) {
   ^bb0(%a: f32, %o: f32):
     %1 = math.exp %a : f32
     linalg.yield %1 : f32
  } -> tensor<53x20xf32>
  %e1 = tensor.empty() : tensor<53xf32>
  %f = linalg.fill ins(%z : f32) outs(%e1 : tensor<53xf32>) -> tensor<53xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m)>], iterator_types=["parallel","reduction"]} ins(%h : tensor<53x20xf32>) outs(%f: tensor<53xf32>) {
   ^bb0(%a: f32, %o: f32):
     %2 = arith.addf %o, %a : f32
     linalg.yield %2 : f32
  } -> tensor<53xf32>
  return %s : tensor<53xf32>
}

// -----

// A transposition moves nothing: it is the same memory under another layout.
// CHECK-LABEL: func.func @transposed
// CHECK: memref.memory_space_cast
// CHECK-NOT: mncore.relayout
// CHECK: "mncore.ul"
func.func @transposed(%x: tensor<64x16xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(m,n)->(n,m)>, affine_map<(m,n)->(m,n)>], iterator_types=["parallel","parallel"]} ins(%x : tensor<64x16xf32>) outs(%e: tensor<16x64xf32>) {
   ^bb0(%a: f32, %o: f32):
     linalg.yield %a : f32
  } -> tensor<16x64xf32>
  return %t : tensor<16x64xf32>
}

// -----

// Elements from elsewhere are gathered; what lies outside is filled.
// CHECK-LABEL: func.func @padded
// CHECK: "mncore.gather"(%{{.*}}, %{{.*}}) {index_map = dense<[-1, 0, 1, 2]> : tensor<4xi32>, padding = 0 : i32}
func.func @padded(%x: tensor<3xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1] high[0] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<3xf32> to tensor<4xf32>
  return %p : tensor<4xf32>
}

// -----

// The pieces of a concatenation come to one buffer.
// CHECK-LABEL: func.func @joined
// CHECK: "mncore.gather"(%{{.*}}, %[[WHOLE:.*]]) {index_map = dense<[0, 1, -1]> : tensor<3xi32>, padding = 0 : i32}
// CHECK: "mncore.gather"(%{{.*}}, %[[WHOLE]]) {index_map = dense<[-1, -1, 0]> : tensor<3xi32>, onto, padding = 0 : i32}
func.func @joined(%x: tensor<2xf32>, %y: tensor<1xf32>) -> tensor<3xf32> {
  %r = tensor.concat dim(0) %x, %y : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
