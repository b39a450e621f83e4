// Every pass is a flag, in the order of the command line, with one dash or two; options are attached.
// RUN: mnc-opt %s -cse --canonicalize='max-iterations=2 top-down=false' --dump-pass-pipeline 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=PIPELINE < %t
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[E:.*]] = "graph.exp"(%arg0)
// CHECK-NEXT: "graph.add"(%[[E]], %[[E]])
// PIPELINE: Pass Manager with 2 passes:
// PIPELINE-NEXT: builtin.module(
// PIPELINE-NEXT:   cse,
// PIPELINE-NEXT:   canonicalize{max-iterations=2 top-down=false}
// PIPELINE-NEXT: )

// Our passes take part; a pass that runs on functions is nested in them.
// RUN: mnc-opt %s --graph-to-linalg --affine-parallelize --tile='sizes=1,2' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=MIXED
// MIXED: builtin.module(
// MIXED-NEXT: graph-to-linalg,
// MIXED-NEXT: func.func(
// MIXED-NEXT: affine-parallelize
// MIXED-NEXT: ),
// MIXED-NEXT: tile{sizes=1,2}

// RUN: mnc-opt %s '-pass-pipeline=any(cse,func.func(canonicalize))' -verify-each=0 -split-input-file | FileCheck %s
// RUN: mnc-opt %s '-pass-pipeline=builtin.module(any(cse))' -verify-each=true -mlir-timing=false | FileCheck %s

// RUN: mnc-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// DIALECTS: Available Dialects: {{.*}}affine,{{.*}}graph,{{.*}}linalg,{{.*}}mncore
// RUN: mnc-opt -version | FileCheck %s --check-prefix=VERSION
// VERSION: mnc {{[0-9]+\.[0-9]+}}
// VERSION-NEXT: torch-mlir {{[0-9]+}}
func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "graph.add"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
