// RUN: mnc-opt %s --split-input-file --verify-diagnostics --schedule --verify-schedule

// What is no assembly is a mistake of the file, with its place.
func.func @sign() {
  "mncore.statement"() {text = "nop"} : () -> ()
  // expected-error @+1 {{expected no further operand, got '$'}}
  "mncore.statement"() {text = "nop $"} : () -> ()
  return
}

// -----

func.func @rules() {
  // expected-error @+1 {{$aluf is read before any ALU operation}}
  "mncore.statement"() {text = "fmax $aluf $lr0 $lr4v"} : () -> ()
  return
}

// -----

func.func @buffer() {
  // expected-error @+1 {{cannot be read: there is no 'none'}}
  "mncore.instruction"() {text = "lpassa | %none.l[0,2,4,6] | -> %b.l[0,2,4,6]"} : () -> ()
  return
}

// -----

func.func @latch() {
  // expected-error @+1 {{cannot be read: expected OPCODE | OPERANDS | -> RESULTS}}
  "mncore.instruction"() {text = "$"} : () -> ()
  return
}

// -----

func.func @base() {
  // expected-error @+1 {{has the attribute memory = "GRF;0"}}
  "mncore.buffer"() {alignment = 1 : i64, base = 0 : i64, choices = "GRF0", memory = "GRF;0", size = 1 : i64, sym_name = "b"} : () -> ()
  return
}

// -----

// expected-error @+1 {{has the attribute onnx.name = 3 : i64}}
func.func @name(%x: tensor<4xf32> {onnx.name = 3 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @layout(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{has the attribute mncore.result = #mncore.layout<"((4_P@:1),)">}}
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) attrs = {mncore.result = #mncore.layout<"((4_P@:1),)">} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
