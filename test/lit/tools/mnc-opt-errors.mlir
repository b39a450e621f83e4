// Every mistake gives one message with a place, exit code 2, and no traceback.
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | FileCheck %s --check-prefix=PAREN
// PAREN: <pipeline>:1:19: error: expected ',' or ')'
// PAREN-NOT: Traceback

// RUN: not mnc-opt %s --pass-pipeline='canonicalize' 2>&1 | FileCheck %s --check-prefix=ROOT
// ROOT: <pipeline>:1:1: error: a pipeline starts with 'builtin.module('

// RUN: not mnc-opt %s --pass-pipeline='builtin.module(cse,no-such-pass)' 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: <pipeline>:1:20: error: there is no pass 'no-such-pass'
// PASS-NEXT: hint:

// RUN: not mnc-opt %s --pass-pipeline='builtin.module(cse{no-such-option=1})' 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: <pipeline>:1:16: error: pass 'cse': no such option no-such-option
// OPTION-NEXT: hint: its options are: none

// RUN: not mnc-opt %s --pass-pipeline='builtin.module(canonicalize{maximum=1})' 2>&1 | FileCheck %s --check-prefix=NATIVE
// NATIVE: error: pass 'canonicalize': no such option maximum
// NATIVE-NEXT: hint: its options are: {{.*}}max-iterations

// RUN: not mnc-opt %s --pass-pipeline='builtin.module(affine-parallelize{parallel-reductions=1})' 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: error: pass 'affine-parallelize' runs on func.func, not on builtin.module
// NESTED-NEXT: hint: write func.func(affine-parallelize{parallel-reductions=1})

// RUN: not mnc-opt %t.absent.mlir 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: error: cannot read '{{.*}}absent.mlir': No such file or directory

// RUN: printf 'func.func @f() {\n  return %%%%x\n}' > %t.mlir
// RUN: not mnc-opt %t.mlir 2>&1 | FileCheck %s --check-prefix=PARSE
// PARSE: {{.*}}.mlir:2:{{[0-9]+}}: error:
// PARSE-NOT: Traceback

// RUN: printf 'func.func @f(%%%%x: tensor<2xf32>) {\n  %%%%0 = "graph.exp"(%%%%x) : (tensor<2xf32>) -> tensor<3xf32>\n  return\n}' | not mnc-opt 2>&1 | FileCheck %s --check-prefix=VERIFY
// VERIFY: <stdin>:2:8: error: 'graph.exp' op result type is tensor<3xf32>

// RUN: printf '// expected-error @below {{never said}}\nfunc.func @f() { return }' > %t.expect.mlir
// RUN: not mnc-opt %t.expect.mlir --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=EXPECT
// EXPECT: expect.mlir:1: expected error "never said" was not produced
