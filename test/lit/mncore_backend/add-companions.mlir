// RUN: mnc-opt %s --pass-pipeline='builtin.module(assign-layouts{resident=state},distribute,keep-resident{what=state},select-instructions,allocate-buffers,schedule,add-companions)' -o %t
// RUN: FileCheck %s --input-file %t
// RUN: mnc-opt %t --pass-pipeline='builtin.module(add-companions)' | FileCheck %s
// RUN: mnc-translate --emit-vsm %t | FileCheck %s --check-prefix=MAIN
// RUN: mnc-translate --emit-vsm --program initialise %t | FileCheck %s --check-prefix=INITIALISE
// RUN: mnc-translate --emit-vsm --program read_back %t | FileCheck %s --check-prefix=READ
// RUN: mnc-opt %s --pass-pipeline='builtin.module(assign-layouts,distribute,keep-resident,select-instructions,allocate-buffers,schedule,add-companions)' -o %t2
// RUN: FileCheck %s --input-file %t2 --check-prefix=NOTHING
// RUN: not mnc-translate --emit-vsm --program read_back %t2 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mnc-opt %s --pass-pipeline='builtin.module(assign-layouts{resident=state},distribute,keep-resident{what=state},select-instructions,add-companions)' 2>&1 | FileCheck %s --check-prefix=EARLY

// The state stays where it is. One program brings it there, another fetches it; the program itself is as it was.
// CHECK: module @main
// CHECK: "mncore.kept"() {{.*}}mnc.updated = "s_new", onnx.name = "s"
// CHECK: text = "fvadd
// CHECK: module @initialise
// CHECK: "mncore.image"() {{.*}}role = "input"{{.*}}sym_name = "s"
// CHECK-NOT: text = "fvadd
// CHECK: module @read_back
// CHECK: "mncore.image"() {{.*}}role = "output"{{.*}}sym_name = "s_new"
// CHECK-NOT: module @
// MAIN: fvadd
// INITIALISE: mv{{[bp]}}/{{.*}} $d0 $lc0
// INITIALISE-NOT: fvadd
// READ: mv{{[bp]}}/{{.*}} $lc0@{{.*}} $d0

// NOTHING-NOT: module @
// NOTHING: func.func @main
// NONE: error: the module has no program 'read_back'
// EARLY: error: {{.*}}keeps buffers that have no addresses yet
// EARLY-NEXT: hint: run allocate-buffers and schedule first

#all = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<64xf32> {onnx.name = "x"}, %s: tensor<64xf32> {onnx.name = "s", mnc.updated = "s_new"})
    -> (tensor<64xf32> {onnx.name = "s_new"}) {
  %empty = tensor.empty() : tensor<64xf32>
  %new = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}
      ins(%x, %s : tensor<64xf32>, tensor<64xf32>) outs(%empty : tensor<64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %sum = arith.addf %i, %j : f32
    linalg.yield %sum : f32
  } -> tensor<64xf32>
  return %new : tensor<64xf32>
}
