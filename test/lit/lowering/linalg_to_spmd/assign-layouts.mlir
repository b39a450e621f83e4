// RUN: mnc-opt %s --pass-pipeline='builtin.module(assign-layouts)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(assign-layouts{precision=single})' | FileCheck %s --check-prefix=SINGLE
// RUN: mnc-opt %s --pass-pipeline='builtin.module(assign-layouts{resident=state})' | FileCheck %s --check-prefix=KEPT
// RUN: mnc-opt %s --pass-pipeline='builtin.module(assign-layouts{prefer=alike,cyclic})' | FileCheck %s --check-prefix=ALIKE
// RUN: mnc-opt %s --pass-pipeline='builtin.module(assign-layouts{prefer=together})' | FileCheck %s --check-prefix=TOGETHER
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(assign-layouts{prefer=quick})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: 'quick' is not one of alike, tensor-parallel, data-parallel, whole-axes, cyclic, together

// The contracted dimension fills (PE, W); element-wise work follows its operand; a hand-written layout is kept.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<512x8xf32>, %w: tensor<8x16xf32>) -> tensor<512x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x16xf32>) -> tensor<512x16xf32>
  // CHECK: mncore.matrix = "right"
  // CHECK-SAME: mncore.operands = [#mncore.layout<"([[ROWS:.*]], (4_PE:1, 2_W:1))">, #mncore.layout<"((4_PE:1, 2_W:1), {{.*}})">]
  // CHECK-SAME: mncore.precision = "pseudo-single"
  // SINGLE: mncore.precision = "single"
  // TOGETHER: mncore.operands = [#mncore.layout<"[[X:[^"]*]]">, #mncore.layout<"{{[^"]*}}">], mncore.precision = "pseudo-single", mncore.result = #mncore.layout<"[[SUM:[^"]*]]">
  // ALIKE-NOT: L2B
  // ALIKE: mncore.operands = [#mncore.layout<"({{.*}}8_L1B{{.*}}, (4_PE:1, 2_W:1))">, #mncore.layout<"((4_PE:1, 2_W:1), {{.*}})">]
  // ALIKE-NOT: L2B
  %y = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%x, %w : tensor<512x8xf32>, tensor<8x16xf32>) outs(%f: tensor<512x16xf32>) {
   ^bb0(%a: f32, %c: f32, %o: f32):
     %1 = arith.mulf %a, %c : f32
     %2 = arith.addf %o, %1 : f32
     linalg.yield %2 : f32
  } -> tensor<512x16xf32>
  // CHECK: mncore.operands = [#mncore.layout<"[[RESULT:.*]]">], mncore.result = #mncore.layout<"[[RESULT]]">
  // TOGETHER: mncore.operands = [#mncore.layout<"[[SUM]]">], mncore.result = #mncore.layout<"[[SUM]]">
  %h = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types=["parallel","parallel"]} ins(%y : tensor<512x16xf32>) outs(%e: tensor<512x16xf32>) {
   ^bb0(%a: f32, %o: f32):
     %1 = arith.maximumf %a, %z : f32
     linalg.yield %1 : f32
  } -> tensor<512x16xf32>
  return %h : tensor<512x16xf32>
}

// CHECK-LABEL: func.func @by_hand
func.func @by_hand(%x: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  // CHECK: mncore.operands = [#mncore.layout<"((16:1),)">], mncore.result = #mncore.layout<"((16:1),)">
  %h = linalg.generic {indexing_maps = [affine_map<(m)->(m)>, affine_map<(m)->(m)>], iterator_types=["parallel"]} ins(%x : tensor<16xf32>) outs(%e: tensor<16xf32>) attrs = {mncore.operands = [#mncore.layout<"((16:1),)">], mncore.result = #mncore.layout<"((16:1),)">} {
   ^bb0(%a: f32, %o: f32):
     %1 = arith.negf %a : f32
     linalg.yield %1 : f32
  } -> tensor<16xf32>
  return %h : tensor<16xf32>
}

// Element-wise work on free operands waits until something with a place needs it, and is done there: %mask has the
// layout of the product, not one of its own.
// CHECK-LABEL: func.func @follows
func.func @follows(%x: tensor<512x8xf32>, %w: tensor<8x16xf32>, %a: tensor<512x16xf32>, %b: tensor<512x16xf32>) -> tensor<512x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x16xf32>) -> tensor<512x16xf32>
  // CHECK: mncore.operands = [#mncore.layout<"[[PLACE:[^"]*]]">, #mncore.layout<"[[PLACE]]">], mncore.result = #mncore.layout<"[[PLACE]]">
  // CHECK: arith.mulf
  %mask = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types=["parallel","parallel"]} ins(%a, %b : tensor<512x16xf32>, tensor<512x16xf32>) outs(%e: tensor<512x16xf32>) {
   ^bb0(%p: f32, %q: f32, %o: f32):
     %1 = arith.mulf %p, %q : f32
     linalg.yield %1 : f32
  } -> tensor<512x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%x, %w : tensor<512x8xf32>, tensor<8x16xf32>) outs(%f: tensor<512x16xf32>) {
   ^bb0(%p: f32, %c: f32, %o: f32):
     %1 = arith.mulf %p, %c : f32
     %2 = arith.addf %o, %1 : f32
     linalg.yield %2 : f32
  } -> tensor<512x16xf32>
  // CHECK: mncore.matrix
  // CHECK: mncore.operands = [#mncore.layout<"[[PLACE]]">, #mncore.layout<"[[PLACE]]">], mncore.result = #mncore.layout<"[[PLACE]]">
  // CHECK: arith.subf
  %h = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types=["parallel","parallel"]} ins(%mask, %y : tensor<512x16xf32>, tensor<512x16xf32>) outs(%e: tensor<512x16xf32>) {
   ^bb0(%p: f32, %q: f32, %o: f32):
     %1 = arith.subf %p, %q : f32
     linalg.yield %1 : f32
  } -> tensor<512x16xf32>
  return %h : tensor<512x16xf32>
}

// The gradient of a weight that all L1Bs keep is the sum of what they hold, and every one of them needs all of it.
// KEPT-LABEL: func.func @gradient
// KEPT: outs(%{{.*}} : tensor<16x256xf32>) attrs = {{.*}}mncore.partial = #mncore.layout<"[[PARTS:[^"]*]]">
// KEPT-SAME: mncore.result = #mncore.layout<"[[PARTS]]">
// KEPT: arith.subf
func.func @gradient(%x: tensor<64x256xf32>, %w: tensor<16x256xf32> {onnx.name = "w", mnc.updated = "w_new"}) -> (tensor<16x256xf32> {onnx.name = "w_new"}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %ew = tensor.empty() : tensor<16x256xf32>
  %fw = linalg.fill ins(%z : f32) outs(%ew : tensor<16x256xf32>) -> tensor<16x256xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%x, %w : tensor<64x256xf32>, tensor<16x256xf32>) outs(%f: tensor<64x16xf32>) {
   ^bb0(%p: f32, %c: f32, %o: f32):
     %1 = arith.mulf %p, %c : f32
     %2 = arith.addf %o, %1 : f32
     linalg.yield %2 : f32
  } -> tensor<64x16xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(k,m)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%y, %x : tensor<64x16xf32>, tensor<64x256xf32>) outs(%fw: tensor<16x256xf32>) {
   ^bb0(%p: f32, %c: f32, %o: f32):
     %1 = arith.mulf %p, %c : f32
     %2 = arith.addf %o, %1 : f32
     linalg.yield %2 : f32
  } -> tensor<16x256xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types=["parallel","parallel"]} ins(%w, %g : tensor<16x256xf32>, tensor<16x256xf32>) outs(%ew: tensor<16x256xf32>) {
   ^bb0(%p: f32, %q: f32, %o: f32):
     %1 = arith.subf %p, %q : f32
     linalg.yield %1 : f32
  } -> tensor<16x256xf32>
  return %n : tensor<16x256xf32>
}

// Were the features the same in all L2Bs, nothing had to be exchanged between those; but then every L1B would need the
// whole gradient of a large weight, which is worse.
// KEPT-LABEL: func.func @update
// KEPT: ins(%{{.*}}, %{{.*}} : tensor<50x784xf32>, tensor<16x784xf32>)
// KEPT-SAME: mncore.operands = [#mncore.layout<"({{.*}}, (8_L2B:1, 16_MAB:1, 4_PE:1, 2_W:1))">
func.func @update(%x: tensor<50x784xf32>, %w: tensor<16x784xf32> {onnx.name = "w", mnc.updated = "w_new"}) -> (tensor<16x784xf32> {onnx.name = "w_new"}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<50x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<50x16xf32>) -> tensor<50x16xf32>
  %ew = tensor.empty() : tensor<16x784xf32>
  %fw = linalg.fill ins(%z : f32) outs(%ew : tensor<16x784xf32>) -> tensor<16x784xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%x, %w : tensor<50x784xf32>, tensor<16x784xf32>) outs(%f: tensor<50x16xf32>) {
   ^bb0(%p: f32, %c: f32, %o: f32):
     %1 = arith.mulf %p, %c : f32
     %2 = arith.addf %o, %1 : f32
     linalg.yield %2 : f32
  } -> tensor<50x16xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(k,m)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%y, %x : tensor<50x16xf32>, tensor<50x784xf32>) outs(%fw: tensor<16x784xf32>) {
   ^bb0(%p: f32, %c: f32, %o: f32):
     %1 = arith.mulf %p, %c : f32
     %2 = arith.addf %o, %1 : f32
     linalg.yield %2 : f32
  } -> tensor<16x784xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types=["parallel","parallel"]} ins(%w, %g : tensor<16x784xf32>, tensor<16x784xf32>) outs(%ew: tensor<16x784xf32>) {
   ^bb0(%p: f32, %q: f32, %o: f32):
     %1 = arith.subf %p, %q : f32
     linalg.yield %1 : f32
  } -> tensor<16x784xf32>
  return %n : tensor<16x784xf32>
}

// What is contracted by the gradient later is placed for both: whole blocks of rows, though padding of the columns makes
// the first product alone a little dearer.
// CHECK-LABEL: func.func @shared
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<256x784xf32>, tensor<16x784xf32>)
// CHECK-SAME: mncore.operands = [#mncore.layout<"((8_L2B:1, 32:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))">
func.func @shared(%x: tensor<256x784xf32>, %w: tensor<16x784xf32>) -> tensor<16x784xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x16xf32>) -> tensor<256x16xf32>
  %ew = tensor.empty() : tensor<16x784xf32>
  %fw = linalg.fill ins(%z : f32) outs(%ew : tensor<16x784xf32>) -> tensor<16x784xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%x, %w : tensor<256x784xf32>, tensor<16x784xf32>) outs(%f: tensor<256x16xf32>) {
   ^bb0(%p: f32, %c: f32, %o: f32):
     %1 = arith.mulf %p, %c : f32
     %2 = arith.addf %o, %1 : f32
     linalg.yield %2 : f32
  } -> tensor<256x16xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(k,m)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%y, %x : tensor<256x16xf32>, tensor<256x784xf32>) outs(%fw: tensor<16x784xf32>) {
   ^bb0(%p: f32, %c: f32, %o: f32):
     %1 = arith.mulf %p, %c : f32
     %2 = arith.addf %o, %1 : f32
     linalg.yield %2 : f32
  } -> tensor<16x784xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>, affine_map<(m,n)->(m,n)>], iterator_types=["parallel","parallel"]} ins(%w, %g : tensor<16x784xf32>, tensor<16x784xf32>) outs(%ew: tensor<16x784xf32>) {
   ^bb0(%p: f32, %q: f32, %o: f32):
     %1 = arith.subf %p, %q : f32
     linalg.yield %1 : f32
  } -> tensor<16x784xf32>
  return %n : tensor<16x784xf32>
}
