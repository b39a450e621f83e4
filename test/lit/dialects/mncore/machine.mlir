// RUN: mnc-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// Which machine a module is for: one that exists, with numbers that differ from it.

// CHECK: module attributes {mncore.machine = "small,LM0=1024"}
module attributes {mncore.machine = "small,LM0=1024"} {}

// -----

// expected-error @+1 {{has the attribute mncore.machine = "tiny"}}
module attributes {mncore.machine = "tiny"} {}

// -----

// expected-error @+1 {{has the attribute mncore.machine = "small,LM0=1000"}}
module attributes {mncore.machine = "small,LM0=1000"} {}

// -----

// expected-error @+1 {{has the attribute mncore.machine = 3 : i64}}
module attributes {mncore.machine = 3} {}
