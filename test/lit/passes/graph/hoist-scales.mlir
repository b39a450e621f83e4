// RUN: mnc-opt %s --split-input-file --pass-pipeline='builtin.module(hoist-scales)' | FileCheck %s

// The learning rate of every parameter becomes a factor of the one gradient they come from.
// CHECK-LABEL: func.func @update
// CHECK: %[[E:.*]] = "graph.exp"(%arg0)
// CHECK: %[[F:.*]] = "graph.constant"() {value = dense<-5.000000e-01> : tensor<f32>}
// CHECK: %[[M:.*]] = "graph.mul"(%[[E]], %[[F]])
// CHECK: %[[D:.*]] = "graph.neg"(%[[M]])
// CHECK: %[[P:.*]] = "graph.matmul"(%arg1, %[[D]])
// CHECK-NOT: graph.mul
// CHECK: %[[W:.*]] = "graph.add"(%arg2, %[[P]])
// CHECK: %[[S:.*]] = "graph.reduce"(%[[D]])
// CHECK: %[[B:.*]] = "graph.add"(%arg3, %[[S]])
// CHECK: return %[[W]], %[[B]]
func.func @update(%g: tensor<2x4xf32>, %x: tensor<8x2xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>)
    -> (tensor<8x4xf32>, tensor<4xf32>) {
  %rate = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %d = "graph.exp"(%g) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %e = "graph.neg"(%d) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = "graph.matmul"(%x, %e) : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.mul"(%0, %rate) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %2 = "graph.sub"(%w, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = "graph.reduce"(%e) {axes = array<i64: 0>, keepdims = false, kind = "sum"} : (tensor<2x4xf32>) -> tensor<4xf32>
  %4 = "graph.mul"(%3, %rate) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = "graph.sub"(%b, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %5 : tensor<8x4xf32>, tensor<4xf32>
}

// -----

// The factor enters constants where there are some.
// CHECK-LABEL: func.func @chosen
// CHECK: "graph.constant"() {value = dense<2.500000e-01> : tensor<f32>}
// CHECK: graph.where
// CHECK-NOT: graph.mul
// CHECK: graph.matmul
// CHECK: graph.add
func.func @chosen(%m: tensor<2x4xi1>, %x: tensor<8x2xf32>, %w: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %rate = "graph.constant"() {value = dense<-0.5> : tensor<f32>} : () -> tensor<f32>
  %d = "graph.where"(%m, %half, %zero) : (tensor<2x4xi1>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
  %0 = "graph.matmul"(%x, %d) : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.mul"(%0, %rate) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %2 = "graph.sub"(%w, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// A use that does not want the factor, and a product with fewer elements than its operands: as before.
// CHECK-LABEL: func.func @kept
// CHECK: graph.matmul
// CHECK: graph.mul
// CHECK: graph.sub
func.func @kept(%g: tensor<8x4xf32>, %x: tensor<2x8xf32>, %w: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) {
  %rate = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %e = "graph.exp"(%g) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = "graph.matmul"(%x, %e) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = "graph.mul"(%0, %rate) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = "graph.sub"(%w, %1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2, %e : tensor<2x4xf32>, tensor<8x4xf32>
}

// -----

// A mean over what is counted: the factor enters the numerator, whatever moves lie before the subtraction.
// CHECK-LABEL: func.func @mean
// CHECK: %[[R:.*]] = "graph.constant"() {value = dense<-5.000000e-01> : tensor<f32>}
// CHECK: %[[N:.*]] = "graph.div"(%[[R]], %arg4)
// CHECK: %[[D:.*]] = "graph.mul"(%arg0, %[[N]])
// CHECK-NOT: graph.mul
// CHECK: "graph.add"(%arg2, {{.*}})
// CHECK: "graph.reshape"
// CHECK: "graph.add"(%arg3, {{.*}})
func.func @mean(%g: tensor<2x4xf32>, %x: tensor<8x2xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>, %n: tensor<f32>)
    -> (tensor<8x4xf32>, tensor<4xf32>) {
  %rate = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %share = "graph.div"(%one, %n) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %d = "graph.mul"(%g, %share) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %0 = "graph.matmul"(%x, %d) : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.mul"(%0, %rate) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %2 = "graph.sub"(%w, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = "graph.reduce"(%d) {axes = array<i64: 0>, keepdims = true, kind = "sum"} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %4 = "graph.mul"(%3, %rate) : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %5 = "graph.reshape"(%4) : (tensor<1x4xf32>) -> tensor<4xf32>
  %6 = "graph.sub"(%b, %5) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %6 : tensor<8x4xf32>, tensor<4xf32>
}

// -----

// A square would have the factor twice: it enters behind it.
// CHECK-LABEL: func.func @square
// CHECK: %[[E:.*]] = "graph.exp"
// CHECK: %[[S:.*]] = "graph.mul"(%[[E]], %[[E]])
// CHECK: "graph.mul"(%[[S]],
// CHECK: graph.matmul
// CHECK: graph.add
func.func @square(%g: tensor<2x4xf32>, %x: tensor<8x2xf32>, %w: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %rate = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %e = "graph.exp"(%g) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %d = "graph.mul"(%e, %e) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = "graph.matmul"(%x, %d) : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.mul"(%0, %rate) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %2 = "graph.sub"(%w, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// Both factors of a product are multiples of one constant, of which only one may take the factor of the product; a
// multiple of a multiple is the square.
// CHECK-LABEL: func.func @twice
// CHECK: %[[A:.*]] = "graph.mul"(%arg0, %{{.*}})
// CHECK: %[[B:.*]] = "graph.mul"(%arg1, %{{.*}})
// CHECK: %[[P:.*]] = "graph.matmul"(%[[A]], %[[B]])
// CHECK: %[[T:.*]] = "graph.mul"(%[[P]], %{{.*}})
// CHECK: "graph.mul"(%[[T]], %{{.*}})
func.func @twice(%q: tensor<4x2xf32>, %k: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %c = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %f = "graph.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %a = "graph.mul"(%q, %c) : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  %b = "graph.mul"(%k, %c) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %0 = "graph.matmul"(%a, %b) : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = "graph.mul"(%0, %f) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = "graph.mul"(%1, %f) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
