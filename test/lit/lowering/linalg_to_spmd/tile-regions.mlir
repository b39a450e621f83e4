// RUN: mnc-opt %s --pass-pipeline='builtin.module(tile-regions{percent=1})' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(tile-regions)' | FileCheck %s --check-prefix=ROOM

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#left = affine_map<(d0, d1, d2) -> (d0, d2)>
#right = affine_map<(d0, d1, d2) -> (d2, d1)>
#made = affine_map<(d0, d1, d2) -> (d0, d1)>

// The exponentials of some rows are made and added up before those of the next rows: they are never all there.
// CHECK-LABEL: func.func @chain
// CHECK: tensor.extract_slice %arg0[0, 0] [{{[0-9]+}}, 1024]
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: tensor.extract_slice %arg0[{{[1-9][0-9]*}}, 0]
// CHECK: math.exp
// CHECK: tensor.concat dim(0)
// ROOM-LABEL: func.func @chain
// ROOM-NOT: tensor.extract_slice
func.func @chain(%x: tensor<1024x1024xf32>) -> tensor<1024xf32> {
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %e = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<1024x1024xf32>
  %s = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<1024x1024xf32>) outs(%zero : tensor<1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<1024xf32>
  return %s : tensor<1024xf32>
}

// Windows reach into the neighbours of a part: they are made for both.
// CHECK-LABEL: func.func @windows
// CHECK: tensor.extract_slice %arg0[0, 0] [4, 40961]
// CHECK: tensor.pad {{.*}} low[0, 1] high[0, 0]
// CHECK: tensor.extract_slice %arg0[0, 40959] [4, 40962]
func.func @windows(%x: tensor<4x262144xf32>) -> tensor<4x262144xf32> {
  %zero = arith.constant 0.0 : f32
  %kernel = tensor.empty() : tensor<3xf32>
  %start = arith.constant dense<0.0> : tensor<4x262144xf32>
  %p = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x262144xf32> to tensor<4x262146xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1 + d2)>, affine_map<(d0, d1, d2) -> (d2)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %kernel : tensor<4x262146xf32>, tensor<3xf32>) outs(%start : tensor<4x262144xf32>) {
  ^bb0(%a: f32, %k: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4x262144xf32>
  return %y : tensor<4x262144xf32>
}

// A concatenation is cut along the other dimensions: every part joins the same part of both pieces.
// CHECK-LABEL: func.func @joined
// CHECK: tensor.extract_slice %arg0[0, 0] [[[ROWS:[0-9]+]], 512]
// CHECK: tensor.extract_slice %arg1[0, 0] [[[ROWS]], 512]
// CHECK: tensor.concat dim(1) {{.*}} : (tensor<[[ROWS]]x512xf32>, tensor<[[ROWS]]x512xf32>) -> tensor<[[ROWS]]x1024xf32>
// CHECK: arith.addf
func.func @joined(%x: tensor<1024x512xf32>, %y: tensor<1024x512xf32>) -> tensor<1024xf32> {
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %j = tensor.concat dim(1) %x, %y : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<1024x1024xf32>
  %e = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%j : tensor<1024x1024xf32>) outs(%empty : tensor<1024x1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<1024x1024xf32>
  %s = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<1024x1024xf32>) outs(%zero : tensor<1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<1024xf32>
  return %s : tensor<1024xf32>
}

// What all parts of the second product need whole is made before it, itself in parts.
// CHECK-LABEL: func.func @twice
// CHECK: tensor.extract_slice %arg0[0, 0] [{{[0-9]+}}, 1024]
// CHECK: arith.mulf
// CHECK: tensor.extract_slice %arg0[{{[1-9][0-9]*}}, 0]
// CHECK: arith.mulf
// CHECK: %[[FIRST:.*]] = tensor.concat dim(0)
// CHECK: arith.maximumf
// CHECK: tensor.extract_slice %arg0[0, 0] [{{[0-9]+}}, 1024]
// CHECK: arith.mulf
// CHECK: tensor.extract_slice %arg0[{{[1-9][0-9]*}}, 0]
// CHECK: arith.mulf
// CHECK: tensor.concat dim(0)
func.func @twice(%a: tensor<1024x1024xf32>, %x: tensor<1024x8xf32>) -> tensor<1024x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<1024x8xf32>
  %empty = tensor.empty() : tensor<1024x8xf32>
  %h = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1024x8xf32>) outs(%empty : tensor<1024x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  } -> tensor<1024x8xf32>
  %p = linalg.generic {indexing_maps = [#left, #right, #made], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %h : tensor<1024x1024xf32>, tensor<1024x8xf32>) outs(%zero : tensor<1024x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1024x8xf32>
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<1024x8xf32>) outs(%empty : tensor<1024x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.maximumf %i, %i : f32
    linalg.yield %0 : f32
  } -> tensor<1024x8xf32>
  %y = linalg.generic {indexing_maps = [#left, #right, #made], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %r : tensor<1024x1024xf32>, tensor<1024x8xf32>) outs(%zero : tensor<1024x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1024x8xf32>
  return %y : tensor<1024x8xf32>
}
