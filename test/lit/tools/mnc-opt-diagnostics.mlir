// Expected diagnostics may hold regular expressions, and the note with the current operation is not unexpected.
// RUN: mnc-opt %s --split-input-file --verify-diagnostics --one-shot-bufferize
// RUN: not mnc-opt %s --split-input-file --one-shot-bufferize --reproducer-dir=%T 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: op was not bufferized
// ORDER-NEXT: note: see current operation

// RUN: printf '// expected-error-re @below {{op was {{[0-9]+}} bufferized}}\nfunc.func @f() { return }' > %t.mlir
// RUN: not mnc-opt %t.mlir --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=UNSEEN
// UNSEEN: expected error "op was {{.*}} bufferized" was not produced

// RUN: printf '// expected-error-re {{op {{[}}}}\nfunc.func @f() { return }' > %t.mlir
// RUN: not mnc-opt %t.mlir --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: error: line 1: 'op {{.*}}' holds no regular expression

// Notes stand behind their error.
// RUN: not mnc-opt %S/Inputs/unknown-dialect.mlir 2>&1 | FileCheck %s --check-prefix=NOTES
// NOTES: unknown-dialect.mlir:2:3: error: Dialect `nosuch' not found
// NOTES-NEXT: unknown-dialect.mlir:2:3: note: Available dialects:
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error-re @+1 {{op was {{no[tn]}} {{.+}}ized}}
  %0 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// Only what is expected is looked for.
// RUN: mnc-opt %s --split-input-file --verify-diagnostics=only-expected --one-shot-bufferize
func.func @g(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "graph.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32> // expected-error {{was not bufferized}}
  return %0 : tensor<2xf32>
}
