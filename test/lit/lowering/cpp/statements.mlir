// RUN: mnc-translate --emit-cpp %s | FileCheck %s

// A value read before a store keeps what it read; bounds may be minima; conditions and carried values are variables.
// CHECK-LABEL: void compute(
// CHECK: for (std::int64_t i = 1; i < 8; i += 2) {
// CHECK-NEXT: const float element = x[i];
// CHECK-NEXT: y[i] = 0.5f;
// CHECK-NEXT: y[i - 1] = element;
// CHECK-NEXT: }
// CHECK-NEXT: for (std::int64_t i = 0; i < 8; ++i) {
// CHECK-NEXT: float total = 0.5f;
// CHECK-NEXT: for (std::int64_t j = i; j < std::min<std::int64_t>(i + 3, 8); ++j) {
// CHECK-NEXT: total = total + x[j];
// CHECK-NEXT: }
// CHECK-NEXT: if (-i + 6 >= 0 && i - 2 >= 0) {
// CHECK-NEXT: y[i] = total;
// CHECK-NEXT: } else {
// CHECK-NEXT: y[i] = x[within(k[0], 8)];
// CHECK: void run(const float* x, const std::int64_t* k, float* y) {
#inner = affine_set<(d0) : (6 - d0 >= 0, d0 - 2 >= 0)>
func.func @main(%x: memref<8xf32> {onnx.name = "x"}, %k: memref<1xi64> {onnx.name = "k"},
                %y: memref<8xf32> {mnc.result, onnx.name = "y"}) {
  %half = arith.constant 0.5 : f32
  affine.for %i = 1 to 8 step 2 {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %half, %y[%i] : memref<8xf32>
    affine.store %a, %y[%i - 1] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %sum = affine.for %j = affine_map<(d0) -> (d0)>(%i) to min affine_map<(d0) -> (d0 + 3, 8)>(%i) iter_args(%total = %half) -> (f32) {
      %a = affine.load %x[%j] : memref<8xf32>
      %next = arith.addf %total, %a : f32
      affine.yield %next : f32
    }
    affine.if #inner(%i) {
      affine.store %sum, %y[%i] : memref<8xf32>
    } else {
      %0 = affine.load %k[0] : memref<1xi64>
      %1 = arith.index_cast %0 : i64 to index
      %a = memref.load %x[%1] : memref<8xf32>
      affine.store %a, %y[%i] : memref<8xf32>
    }
  }
  return
}
