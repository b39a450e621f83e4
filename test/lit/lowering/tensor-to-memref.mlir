// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,tensor-to-memref)' | FileCheck %s
// RUN: mnc-opt %s --pass-pipeline='builtin.module(graph-to-linalg,tensor-to-memref{memory-space=1 local-space=2 deallocate=true})' | FileCheck %s --check-prefix=SPACE
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(tensor-to-memref{memory-space="#nothing<"})' 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: cannot read the memory space '#nothing<'
// ERROR-NEXT: hint:

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<2x3xf32> {onnx.name = "x"}
// CHECK-SAME: %[[Y:.*]]: memref<2x6xf32> {mnc.result, onnx.name = "y"}
func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<2x6xf32> {onnx.name = "y"}) {
  %0 = "graph.exp"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: memref.subview %[[Y]]
  // CHECK-NOT: memref.copy
  // CHECK: linalg.copy
  %1 = "graph.concat"(%x, %0) {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK: return{{$}}
  return %1 : tensor<2x6xf32>
}

// An argument that is returned is copied into the result.
// CHECK-LABEL: func.func @identity
// CHECK: linalg.copy {{.*}}ins(%arg0 : memref<4xf32>) outs(%arg1 : memref<4xf32>)
func.func @identity(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func @local
// SPACE-LABEL: func.func @local(
// SPACE-SAME: memref<2x3xf32, 1>, %{{.*}}: memref<2xf32, 1> {mnc.result})
// SPACE: %[[BUFFER:.*]] = memref.alloc() {{.*}}: memref<2x3xf32, 2>
// SPACE: linalg.generic {{.*}} outs(%[[BUFFER]] : memref<2x3xf32, 2>)
// SPACE: memref.dealloc %[[BUFFER]]
func.func @local(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = "graph.exp"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "graph.reduce"(%0) {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
