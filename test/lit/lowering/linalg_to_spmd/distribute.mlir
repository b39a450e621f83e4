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
// Padding must not take part in the sum; that of the rows does not matter.
// CHECK: "mncore.fill_padding"([[EXP]]) {dims = array<i64: 1>, value = 0 : i32}
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

// -----

// A result that only has another shape is stored as it is: the host counts its elements in their order.
// CHECK-LABEL: func.func @reshaped
// CHECK-NOT: mncore.gather
// CHECK-NOT: mncore.relayout
// CHECK: "mncore.ul"({{.*}}"5x7"{{.*}}-> ()
func.func @reshaped(%x: tensor<5x7xf32>) -> tensor<35xf32> {
  %e = tensor.empty() : tensor<5x7xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<5x7xf32>
  %r = tensor.collapse_shape %y [[0, 1]] : tensor<5x7xf32> into tensor<35xf32>
  return %r : tensor<35xf32>
}

// -----

// One that is the next value of an argument stays on the chip, where that has its shape.
// CHECK-LABEL: func.func @updated
// CHECK: "mncore.ul"({{.*}}"35"{{.*}}-> ()
func.func @updated(%x: tensor<35xf32> {onnx.name = "x", mnc.updated = "y"}) -> (tensor<35xf32> {onnx.name = "y"}) {
  %w = tensor.expand_shape %x [[0, 1]] output_shape [5, 7] : tensor<35xf32> into tensor<5x7xf32>
  %e = tensor.empty() : tensor<5x7xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<5x7xf32>
  %r = tensor.collapse_shape %y [[0, 1]] : tensor<5x7xf32> into tensor<35xf32>
  return %r : tensor<35xf32>
}

// -----

// Windows of one channel come from DRAM one by one, with the zeros around it.
// CHECK-LABEL: func.func @one_channel
// CHECK-NOT: mncore.gather
// CHECK: "mncore.dl"(%arg0, %[[WINDOWS:.*]]) {index_map = dense<[-1, 0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, -1]>{{.*}}padding = 0 : i32}
// CHECK: "mncore.matmul"(%[[WINDOWS]],
func.func @one_channel(%x: tensor<1x5xf32>, %w: tensor<9x1x3xf32>) -> tensor<5x9xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<1x5xf32> to tensor<1x7xf32>
  %e = tensor.empty() : tensor<5x9xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<5x9xf32>) -> tensor<5x9xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(o, m, c, k) -> (c, o + k)>, affine_map<(o, m, c, k) -> (m, c, k)>,
                                        affine_map<(o, m, c, k) -> (o, m)>],
                       iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w : tensor<1x7xf32>, tensor<9x1x3xf32>) outs(%f : tensor<5x9xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<5x9xf32>
  return %y : tensor<5x9xf32>
}

// -----

// The host arranges what only products read, backwards and with zeros around it, also under other dimensions.
// CHECK-LABEL: func.func @backwards
// CHECK-NOT: mncore.gather
// CHECK: "mncore.dl"(%arg1, %[[KERNELS:.*]]) {index_map = dense<[-1, 2, 5, -1, 1, 4, -1, 0, 3]> : tensor<9xi32>, padding = 0 : i32}
// CHECK-NOT: mncore.gather
// CHECK: "mncore.matmul"(
func.func @backwards(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %w low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<2x3xf32> to tensor<3x3xf32>
  %e = tensor.empty() : tensor<3x3xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<3x3xf32>) outs(%e : tensor<3x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (2 - i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<3x3xf32>) outs(%e : tensor<3x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x3xf32>
  %f = tensor.empty() : tensor<4x3xf32>
  %g = linalg.fill ins(%z : f32) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %r : tensor<4x3xf32>, tensor<3x3xf32>) outs(%g : tensor<4x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// A constant that comes in parts: the contracted dimension is cut, and the second product is added to the first.
// CHECK-LABEL: func.func @parts
// CHECK: %[[W0:.*]] = "mncore.constant"() {onnx.name = "w[part 0]"{{.*}} memref<8x8xf32
// CHECK: "mncore.dl"(%[[W0]], %[[P0:[a-z_0-9]+]])
// CHECK: "mncore.matmul"(%[[X:[a-z_0-9]+]], %[[P0]], %[[Y:[a-z_0-9]+]]) {operandSegmentSizes = array<i32: 1, 1, 1, 0>, part = {k2 = array<i64: 0, 0, 1>}, part_of = "w"
// CHECK: %[[W1:.*]] = "mncore.constant"() {onnx.name = "w[part 1]"
// CHECK: "mncore.dl"(%[[W1]], %[[P1:[a-z_0-9]+]])
// CHECK: "mncore.matmul"(%[[X]], %[[P1]], %[[Y]], %[[Y]]) {{.*}}part = {k2 = array<i64: 0, 1, 1>}
// CHECK: "mncore.ul"(%[[Y]]
func.func @parts(%x: tensor<4x16xf32> {onnx.name = "x"}) -> tensor<4x8xf32> {
  %w = arith.constant {onnx.name = "w"} dense<[[0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.], [16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27., 28., 29., 30., 31.], [32., 33., 34., 35., 36., 37., 38., 39., 40., 41., 42., 43., 44., 45., 46., 47.], [48., 49., 50., 51., 52., 53., 54., 55., 56., 57., 58., 59., 60., 61., 62., 63.], [64., 65., 66., 67., 68., 69., 70., 71., 72., 73., 74., 75., 76., 77., 78., 79.], [80., 81., 82., 83., 84., 85., 86., 87., 88., 89., 90., 91., 92., 93., 94., 95.], [96., 97., 98., 99., 100., 101., 102., 103., 104., 105., 106., 107., 108., 109., 110., 111.], [112., 113., 114., 115., 116., 117., 118., 119., 120., 121., 122., 123., 124., 125., 126., 127.]]> : tensor<8x16xf32>
  %z = arith.constant dense<0.0> : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x16xf32>, tensor<8x16xf32>) outs(%z : tensor<4x8xf32>) attrs = {mncore.operands = [#mncore.layout<"((4_L2B:2,), (2:1, 4_PE:1, 2_W:1))">, #mncore.layout<"((8:2,), (2:1, 4_PE:1, 2_W:1))">], mncore.result = #mncore.layout<"((4_L2B:2,), (4_PE:1, 2_W:1))">, mncore.matrix = "right", mncore.precision = "pseudo-single", mncore.parts = array<i64: 1, 8>} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// What is read through windows comes from DRAM as tiles with halos, also where a view of it is read.
// CHECK-LABEL: func.func @windows
// CHECK-SAME: %[[X:.*]]: memref<4x400xf32, #mncore.memory<"DRAM">> {mncore.role = "input"
// CHECK: "mncore.dl"(%[[X]], %{{[a-z_0-9]+}}) {index_map = {{.*}}, padding = 0 : i32}
// CHECK-NOT: mncore.relayout
// CHECK-NOT: mncore.gather
// CHECK: "mncore.ul"
func.func @windows(%x: tensor<4x400xf32> {onnx.name = "x"}) -> tensor<4x1x400xf32> {
  %z = arith.constant 0.0 : f32
  %v = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 1, 400] : tensor<4x400xf32> into tensor<4x1x400xf32>
  %p = tensor.pad %v low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %z : f32
  } : tensor<4x1x400xf32> to tensor<4x1x402xf32>
  %e = tensor.empty() : tensor<4x1x400xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x1x400xf32>) -> tensor<4x1x400xf32>
  %w = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c + d)>, affine_map<(a, b, c, d) -> (d)>, affine_map<(a, b, c, d) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %w : tensor<4x1x402xf32>, tensor<3xf32>) outs(%f : tensor<4x1x400xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<4x1x400xf32>
  return %s : tensor<4x1x400xf32>
}

// -----

// Both factors come from DRAM, and nobody else reads them: parts of both arrive in turn.
// CHECK-LABEL: func.func @joint
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<1024x1024xf32
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<8x1024xf32
// CHECK: "mncore.dl"(%[[X]], %[[X0:[a-z_0-9]+]]) {index_map
// CHECK: "mncore.dl"(%[[W]], %[[W0:[a-z_0-9]+]]) {index_map
// CHECK: "mncore.matmul"(%[[X0]], %[[W0]], %[[Y:[a-z_0-9]+]]) {operandSegmentSizes = array<i32: 1, 1, 1, 0>
// CHECK: "mncore.dl"(%[[X]], %[[X1:[a-z_0-9]+]]) {index_map
// CHECK: "mncore.dl"(%[[W]], %[[W1:[a-z_0-9]+]]) {index_map
// CHECK: "mncore.matmul"(%[[X1]], %[[W1]], %[[Y]], %[[Y]])
func.func @joint(%x: tensor<1024x1024xf32>, %w: tensor<8x1024xf32>) -> tensor<1024x8xf32> {
  %z = arith.constant dense<0.0> : tensor<1024x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<1024x1024xf32>, tensor<8x1024xf32>) outs(%z : tensor<1024x8xf32>) attrs = {mncore.operands = [#mncore.layout<"((8_L2B:1, 16_MAB:1, 8:128), (128:1, 4_PE:1, 2_W:1))">, #mncore.layout<"((8:128,), (128:1, 4_PE:1, 2_W:1))">], mncore.result = #mncore.layout<"((8_L2B:1, 16_MAB:1, 8:1), (4_PE:1, 2_W:1))">, mncore.matrix = "right", mncore.precision = "pseudo-single"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<1024x8xf32>
  return %y : tensor<1024x8xf32>
}
