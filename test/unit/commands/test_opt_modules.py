"""mnc-opt on modules that no model gives: declarations, two functions, open shapes, missing attributes."""

import pytest

from mnc.registry import pass_table

from .running import Shell
from .test_bad_models import assert_refused

IN_DRAM = '#dram = #mncore.memory<"DRAM">\n'
PLACED = '#placed = #mncore.placed<"LM", "8", "((4_PE:1, 2_W:1))">\n'
MACHINE_OPERATIONS = """func.func @NAME() {
  "mncore.buffer"() {alignment = 2 : i64, choices = "GRF0", size = 4 : i64, sym_name = "a"} : () -> ()
  "mncore.instruction"() {text = "ipassa | $lr16v | -> %a.l[0,2,4,6]"} : () -> ()
  return
}
"""
MODULES = [
    """func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
    memref.global "private" @global : memref<4xf32>
    module { func.func private @inner(i32) }""",
    """func.func @scalars(%x: i32, %y: index) -> (i32, index) { return %x, %y : i32, index }
    func.func @buffer(%x: memref<4xf32>) { return }""",
    "func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
    "func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> { return %x : tensor<*xf32> }",
]


@pytest.mark.parametrize("name", sorted(pass_table()))
def test_no_module_is_a_mistake_of_ours(shell: Shell, name: str) -> None:
    for text in MODULES:
        done = shell("mnc-opt", f"--{name}", stdin=text)
        assert done.code in (0, 2), (text, done)
        assert done.code == 0 or done.err.startswith(("<stdin>", "error: pass '")), done


def test_every_pass_passes_over_declarations(shell: Shell) -> None:
    """The rest of the module is rewritten as without them."""
    own = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    own += '  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n'
    passes = "hoist-scales,join-slices,graph-to-linalg,drop-empty,expand-indices,split-elementwise,assign-layouts"
    pipeline = f"--pass-pipeline=builtin.module({passes})"
    alone = shell("mnc-opt", pipeline, stdin=own).out
    beside = shell("mnc-opt", pipeline, stdin=f"func.func private @g(i32)\n{own}").out
    assert alone and beside.replace("  func.func private @g(i32)\n", "") == alone


def test_two_programs_are_not_mixed(shell: Shell) -> None:
    one, two = (MACHINE_OPERATIONS.replace("NAME", name) for name in ("one", "two"))
    for name in ("allocate-buffers", "name-transfers", "order-operations", "split-transfers"):
        done = shell("mnc-opt", f"--{name}", stdin=one + two)
        assert_refused(done, "<stdin>:6:1", "the second function with machine operations")
        assert shell("mnc-opt", f"--{name}", stdin=f"func.func @main() {{ return }}\n{one}").code == 0


def test_buffers_go_where_the_program_is(shell: Shell) -> None:
    text = "func.func @main() { return }\n" + MACHINE_OPERATIONS.replace("NAME", "a")
    done = shell("mnc-opt", "--allocate-buffers", stdin=text)
    assert "func.func @main() {\n    return" in done.out and 'memory = "GRF0"' in done.out


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("distribute", "func.func @f(%x: tensor<4x?xf32>) { return }", ["argument 0 has the open shape tensor<4x?x"]),
        ("assign-layouts", "func.func @f(%x: tensor<*xf32>) { return }", ["argument 0 has the open shape tensor<*x"]),
        ("count-work", "func.func @f(%x: tensor<?xf32>) { return }", ["open shape"]),
        ("tensor-to-memref", "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
         ["result 0 of shape tensor<?xf32> cannot become a parameter", "results-to-parameters=false"]),
        ("graph-autodiff", "func.func private @main(i32)", ["there is no function 'main'"]),
        ("graph-autodiff", "func.func @main() { return }", ["there are no initializers"]),
        ("select-instructions", IN_DRAM + "func.func @f(%x: memref<4x0xf32, #dram>) { return }",
         ["argument 0 has no role"]),
        ("select-instructions", "func.func @f(%x: memref<4xf32>) { return }", ["run assign-layouts and distribute"]),
        ("keep-resident=what=updates",
         IN_DRAM + 'func.func @f(%x: memref<8xf32, #dram> {mnc.updated = "new"}) { return }',
         ["argument 0 has mnc.updated and no name"]),
        ("hand-over", IN_DRAM + "func.func @f(%x: memref<8xf32, #dram> {mncore.homes = []}) { return }",
         ["argument 0 has mncore.homes and no name"]),
        ("hand-over",
         IN_DRAM + 'func.func @f(%x: memref<8xf32, #dram> {onnx.name = "x", mncore.homes = [{}]}) { return }',
         ["has the attribute mncore.homes", "memory ="]),
        ("hand-over",
         IN_DRAM + 'func.func @f(%x: memref<8xf32, #dram> {onnx.name = "x", mncore.homes = [{type = memref<1x2xf32, '
         '#mncore.placed<"LM0", "4", "((bad))">>, memory = "LM0", base = 0 : i64}]}) { return }',
         ["has the attribute mncore.homes", "memory ="]),
        ("allocate-buffers", MACHINE_OPERATIONS.replace("NAME", "f").replace("$lr16v", "$aluf"),
         ["cannot be placed", "before any result"]),
        ("assign-layouts", """func.func @f(%x: tensor<16xf32>, %e: tensor<16xf32>) -> tensor<16xf32> {
           %h = linalg.generic
             {indexing_maps = [affine_map<(m)->(m)>, affine_map<(m)->(m)>], iterator_types=["parallel"]}
             ins(%x : tensor<16xf32>) outs(%e: tensor<16xf32>)
             attrs = {mncore.result = #mncore.layout<"((16:1),)">} {
             ^b(%a: f32, %o: f32): linalg.yield %a : f32 } -> tensor<16xf32>
           return %h : tensor<16xf32> }""", ["has a layout for its result, and 0 for its 1 operands"]),
        ("assign-layouts", """func.func @f(%x: tensor<16xf32>, %e: tensor<16xf32>) -> tensor<16xf32> {
           %h = linalg.generic
             {indexing_maps = [affine_map<(m)->(m)>, affine_map<(m)->(m)>], iterator_types=["parallel"]}
             ins(%x : tensor<16xf32>) outs(%e: tensor<16xf32>)
             attrs = {mncore.operands = [#mncore.layout<"((8:1),)">], mncore.result = #mncore.layout<"((16:1),)">} {
             ^b(%a: f32, %o: f32): linalg.yield %a : f32 } -> tensor<16xf32>
           return %h : tensor<16xf32> }""", ['"((8:1),)"', "does not fit 16: digits of", "hold fewer than 16"]),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(shell: Shell, name: str, text: str, words: list[str]) -> None:
    assert_refused(shell("mnc-opt", f"--{name}", stdin=text), "<stdin>", *words)


def test_a_memory_space_that_cannot_be_read_is_named(shell: Shell) -> None:
    for name in ("sliding-window", "promote-to-local", "tensor-to-memref"):
        done = shell("mnc-opt", f"--{name}=memory-space=#x<", stdin="func.func @f() { return }")
        assert_refused(done, f"pass '{name}': cannot read the memory space '#x<'")


def test_numbers_that_mlir_does_not_hold_are_refused(shell: Shell) -> None:
    done = shell("mnc-opt", "--unroll=repeats=999999999999", stdin="func.func @f() { return }")
    assert_refused(done, "MLIR does not read the pass", "32 bits")


def test_a_nest_that_stores_nothing_does_nothing(shell: Shell) -> None:
    text = IN_DRAM + PLACED + """func.func @f(%x: memref<8xf32, #dram> {mncore.role = "input"}) {
      %a = memref.alloc() : memref<1x2xf32, #placed>
      "mncore.dl"(%x, %a) : (memref<8xf32, #dram>, memref<1x2xf32, #placed>) -> ()
      affine.for %i = 0 to 2 {
        %0 = affine.load %a[0, %i] : memref<1x2xf32, #placed>
        %1 = arith.addf %0, %0 : f32
      }
      return
    }"""
    done = shell("mnc-opt", "--select-instructions", stdin=text)
    assert done.code == 0 and "fvadd" not in done.out, done


def test_arguments_in_local_memory_stay_where_they_are(shell: Shell) -> None:
    text = PLACED + """func.func @f(%x: memref<1x2xf32, #placed>, %y: memref<1x2xf32, #placed>) {
      "mncore.reduce"(%x, %y) {axes = ["MAB"], bits = array<i64: 1>, kind = "sum"}
        : (memref<1x2xf32, #placed>, memref<1x2xf32, #placed>) -> ()
      return
    }"""
    for name in ("spill-buffers", "plan-movements"):
        assert shell("mnc-opt", f"--{name}", stdin=text).code == 0


def test_results_without_names_replace_no_argument(shell: Shell) -> None:
    text = IN_DRAM + PLACED + """func.func @f(
        %x: memref<8xf32, #dram> {mncore.role = "input"}, %y: memref<8xf32, #dram> {mncore.role = "output"}) {
      %a = memref.alloc() : memref<1x2xf32, #placed>
      "mncore.dl"(%x, %a) : (memref<8xf32, #dram>, memref<1x2xf32, #placed>) -> ()
      "mncore.ul"(%a, %y) : (memref<1x2xf32, #placed>, memref<8xf32, #dram>) -> ()
      return
    }"""
    done = shell("mnc-opt", "--keep-resident=what=state", stdin=text)
    assert done.code == 0 and "mncore.ul" in done.out and "resident" not in done.out, done
