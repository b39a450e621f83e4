"""Every pass on what every pass of the pipeline leaves: it works, or says which one has to come before it."""

import functools

import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.nesting_pass import NestingPass
from mnc.options import Options
from mnc.registry import parse_pipeline, pass_table
from mnc.stages import default_pipeline

MODEL = """
func.func @main(%x: tensor<6x5xf32> {onnx.name = "x"}, %i: tensor<3xi64> {onnx.name = "i"})
    -> (tensor<3x4xf32> {onnx.name = "y"}, tensor<6xf32> {onnx.name = "z"}) {
  %w = "graph.constant"() {onnx.name = "w", value = dense<0.5> : tensor<5x4xf32>} : () -> tensor<5x4xf32>
  %e = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %p = "graph.matmul"(%e, %w) : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
  %g = "graph.gather"(%p, %i) {axis = 0 : i64} : (tensor<6x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %y = "graph.relu"(%g) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %z = "graph.reduce"(%x) {kind = "max", axes = array<i64: 1>, keepdims = false} : (tensor<6x5xf32>) -> tensor<6xf32>
  return %y, %z : tensor<3x4xf32>, tensor<6xf32>
}
"""


REFUSES_ALL = ("graph-autodiff", "shortest")
"""There is no loss in the model; there are no passes inside."""
PLAIN = default_pipeline(Options(prefer=()))


@functools.cache
def levels() -> tuple[ir.Context, dict[str, str]]:
    """The module as text before the first pass and after each of them."""
    context = make_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse(MODEL)
        found = {"import": str(module)}
        passes = [entry for entry in PLAIN.all_entries if not isinstance(entry, NestingPass)]
        for number, entry in enumerate(passes):
            type(PLAIN)((entry,)).run(module, reproducer=False)
            found[f"{number}. {entry}"] = str(module)
    return context, found


@pytest.mark.parametrize("name", pass_table())
def test_pass_works_or_refuses(name: str) -> None:
    context, texts = levels()
    pipeline = parse_pipeline(f"builtin.module({name})")
    worked = 0
    for text in texts.values():
        with context, ir.Location.unknown():
            module = ir.Module.parse(text)
            try:
                pipeline.run(module, reproducer=False)
                assert module.operation.verify()
                worked += 1
                pipeline.run(module, reproducer=False)  # once more on its own result
                assert module.operation.verify()
            except CompileError as error:
                assert error.hint or "one" in str(error), str(error)
    assert worked or name in REFUSES_ALL, f"{name} refuses everything"
