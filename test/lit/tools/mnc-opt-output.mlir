// Statistics, elided constants and bytecode.
// RUN: mnc-opt %s --cse --mlir-pass-statistics 2>&1 >/dev/null | FileCheck %s --check-prefix=STATISTICS
// STATISTICS: Pass statistics report
// STATISTICS: 8 7 cse
// STATISTICS-NEXT: -1 graph.exp
// STATISTICS-NOT: graph

// RUN: mnc-opt %s --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=ELIDE
// ELIDE: dense_resource<__elided__>

// RUN: mnc-opt %s --cse --emit-bytecode -o %t.mlirbc
// RUN: mnc-opt %t.mlirbc | FileCheck %s --check-prefix=BYTECODE
// RUN: mnc-opt --emit-bytecode < %t.mlirbc | mnc-opt | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: func.func @twice
// BYTECODE-COUNT-1: graph.exp
// BYTECODE: dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "graph.add"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
func.func @constant() -> tensor<4xf32> {
  %0 = "graph.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
