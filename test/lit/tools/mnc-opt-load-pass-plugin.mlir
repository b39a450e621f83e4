// RUN: mnc-opt %s --load-pass-plugin=%S/Inputs/site_passes.py --pass-pipeline='builtin.module(name-site{site=lab},cse)' | FileCheck %s
// RUN: mnc-opt %s --load-pass-plugin=%S/Inputs/site_passes.py --name-site | FileCheck %s --check-prefix=FLAG
// RUN: mnc-opt --load-pass-plugin=%S/Inputs/site_passes.py --list-passes | FileCheck %s --check-prefix=LIST
// RUN: not mnc-opt %s --name-site 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mnc-opt %s --load-pass-plugin=%S/Inputs/no_passes.py 2>&1 | FileCheck %s --check-prefix=MISSING

// CHECK: module attributes {test.site = "lab"}
// FLAG: module attributes {test.site = "here"}
// LIST: name-site {{ *}}Write on the module where it was compiled.
// UNKNOWN: no option and no pass '--name-site'
// MISSING: no_passes.py: error: there is no such file

func.func @nothing() {
  return
}
