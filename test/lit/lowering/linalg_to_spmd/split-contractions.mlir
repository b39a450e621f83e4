// RUN: mnc-opt %s --pass-pipeline='builtin.module(split-contractions{words=16 longs=16})' | FileCheck %s

// The columns of a product whose result does not fit go into pieces of whole vectors, with the part of the constant and of the start of each.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4096x2xf32>, %[[S:[a-z0-9]+]]: tensor<4096x20xf32>
// CHECK-DAG: %[[W0:.*]] = arith.constant {{.*}}dense<{{.*}}1.500000e+01{{.*}}> : tensor<8x2xf32>
// CHECK: %[[S0:.*]] = tensor.extract_slice %[[S]][0, 0] [4096, 8] [1, 1]
// CHECK: %[[Y0:.*]] = linalg.generic {{.*}} ins(%[[X]], %{{.*}} : tensor<4096x2xf32>, tensor<8x2xf32>) outs(%[[S0]] : tensor<4096x8xf32>)
// CHECK: %[[S1:.*]] = tensor.extract_slice %[[S]][0, 8] [4096, 8] [1, 1]
// CHECK: %[[Y1:.*]] = linalg.generic {{.*}} outs(%[[S1]] : tensor<4096x8xf32>)
// CHECK: %[[S2:.*]] = tensor.extract_slice %[[S]][0, 16] [4096, 4] [1, 1]
// CHECK: %[[Y2:.*]] = linalg.generic {{.*}} ins(%[[X]], %{{.*}} : tensor<4096x2xf32>, tensor<4x2xf32>) outs(%[[S2]] : tensor<4096x4xf32>)
// CHECK: %[[Y:.*]] = tensor.concat dim(1) %[[Y0]], %[[Y1]], %[[Y2]]
// CHECK: return %[[Y]]
func.func @columns(%x: tensor<4096x2xf32>, %s: tensor<4096x20xf32>) -> tensor<4096x20xf32> {
  %w = arith.constant dense<[[0., 1.], [2., 3.], [4., 5.], [6., 7.], [8., 9.], [10., 11.], [12., 13.], [14., 15.], [16., 17.], [18., 19.], [20., 21.], [22., 23.], [24., 25.], [26., 27.], [28., 29.], [30., 31.], [32., 33.], [34., 35.], [36., 37.], [38., 39.]]> : tensor<20x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4096x2xf32>, tensor<20x2xf32>) outs(%s : tensor<4096x20xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<4096x20xf32>
  return %y : tensor<4096x20xf32>
}

// Without a constant nothing is cut.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: tensor.concat
func.func @whole(%x: tensor<4096x2xf32>, %v: tensor<20x2xf32>, %s: tensor<4096x20xf32>) -> tensor<4096x20xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %v : tensor<4096x2xf32>, tensor<20x2xf32>) outs(%s : tensor<4096x20xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<4096x20xf32>
  return %y : tensor<4096x20xf32>
}

// A table that is read at computed indices comes in pieces, to whose rows the indices are relative.
// CHECK-LABEL: func.func @table
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<4xi64>, %[[S:[a-z0-9]+]]: tensor<4x2xf32>
// CHECK: %[[Y0:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[I]], %{{.*}} : tensor<5x2xf32>, tensor<4xi64>, tensor<5xi64>) outs(%[[S]] : tensor<4x2xf32>)
// CHECK: %[[J:.*]] = linalg.generic {{.*}} ins(%[[I]] : tensor<4xi64>)
// CHECK: arith.subi
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[J]], %{{.*}} : tensor<5x2xf32>, tensor<4xi64>, tensor<5xi64>) outs(%[[Y0]] : tensor<4x2xf32>)
func.func @table(%i: tensor<4xi64>, %s: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = arith.constant dense<[[0., 1.], [2., 3.], [4., 5.], [6., 7.], [8., 9.], [10., 11.], [12., 13.], [14., 15.], [16., 17.], [18., 19.]]> : tensor<10x2xf32>
  %n = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]> : tensor<10xi64>
  %z = arith.constant 0.0 : f32
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, v) -> (v, n)>, affine_map<(m, n, v) -> (m)>, affine_map<(m, n, v) -> (v)>, affine_map<(m, n, v) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w, %i, %n : tensor<10x2xf32>, tensor<4xi64>, tensor<10xi64>) outs(%s : tensor<4x2xf32>) attrs = {mncore.chosen = 1 : i64} {
  ^bb0(%a: f32, %b: i64, %c: i64, %o: f32):
    %h = arith.cmpi eq, %b, %c : i64
    %p = arith.select %h, %a, %z : f32
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
