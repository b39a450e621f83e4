// RUN: mnc-opt %s --pass-pipeline='builtin.module(verify-schedule)' | FileCheck %s
// RUN: sed 's/nop.2/nop/' %s | not mnc-opt --pass-pipeline='builtin.module(verify-schedule)' 2>&1 | FileCheck %s --check-prefix=BROKEN

// A result in local memory may be read three steps later, not two: the pass reads the text, not the schedule.
// CHECK: text = "nop/2"
// What stands in a file is the mistake of who wrote it, and the place is there.
// BROKEN: <stdin>:[[#]]:[[#]]: error: {{.*}}1 rules broken, first at line 3: {{.*}}
func.func @main() {
  "mncore.statement"() {text = "ipassa $lr8v $lm0v"} : () -> ()
  "mncore.statement"() {text = "nop/2"} : () -> ()
  "mncore.statement"() {text = "ipassa $lm0v $lr0v"} : () -> ()
  return
}
