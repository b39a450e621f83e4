"""What training asks of the chip: reductions of computed values under padding, stored constants, optimizer state."""

import numpy as np
import pytest

from mnc.compiler import run_stages, to_executable
from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.options import Options
from mnc.training import Trainer, make_model, training_step
from mnc.training.backends import compile_program

from .test_training import small_data


def run_text(text: str, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    """Compile graph text for the emulator and run it."""
    context = make_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
    run_stages(module, Options("single"))
    return to_executable(module).run(inputs)


LOG_SOFTMAX = """
func.func @main(%x: tensor<{0}x{1}xf32> {{onnx.name = "x"}}) -> (tensor<{0}x{1}xf32> {{onnx.name = "y"}}) {{
  %y = "graph.log_softmax"(%x) {{axis = {2} : i64}} : (tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32>
  return %y : tensor<{0}x{1}xf32>
}}
"""


@pytest.mark.parametrize(("rows", "columns", "axis"), [(16, 10, 1), (5, 1, 1), (3, 37, 0)])
def test_exponentials_of_padding_are_not_summed(rows: int, columns: int, axis: int) -> None:
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    wide = x.astype(np.float64)
    want = wide - np.log(np.exp(wide).sum(axis, keepdims=True))
    got = run_text(LOG_SOFTMAX.format(rows, columns, axis), x=x)["y"]
    # Roundings are relative to the operands, of which a result near 0 is the difference.
    np.testing.assert_allclose(got, want, rtol=0, atol=32 * 2.0**-23 * (1 + np.abs(x).max()))


def test_constant_operands_are_written_out() -> None:
    text = """
    func.func @main(%x: tensor<4x3xf32> {onnx.name = "x"}) -> (tensor<4x6xf32> {onnx.name = "y"}) {
      %c = "graph.constant"() {value = dense<2.5> : tensor<4x3xf32>} : () -> tensor<4x3xf32>
      %y = "graph.concat"(%x, %c) {axis = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    """
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(run_text(text, x=x)["y"], np.hstack([x, np.full((4, 3), 2.5)]))


def test_optimizer_state() -> None:
    """A few steps on the emulator: every tensor of the state as on the CPU."""
    step = training_step(make_model("mlp:9-5-3", 3), batch=8, optimizer="adam", learning_rate=0.05)
    runs = {b: Trainer(step, small_data(), backend=b, options=Options("single")) for b in ("cpu", "emulator")}
    for trainer in runs.values():
        trainer.run(1)
    for name, want in runs["cpu"].state.items():
        got = runs["emulator"].state[name]
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-4 * max(np.abs(want).max(), 1e-2), err_msg=name)


def test_program_is_reused() -> None:
    """Running again on the same machine gives the same bits, and follows its inputs."""
    step = training_step(make_model("mlp:9-3", 3), batch=8)
    program = compile_program(step.module(), "emulator", Options())
    data = small_data()
    feeds = {"image": data.train_images[:8], "labels": data.train_labels[:8], **step.initial}
    first = program(feeds)
    other = program({**feeds, "labels": data.train_labels[8:16]})
    again = program(feeds)
    assert first["loss"] != other["loss"]
    for name, value in first.items():
        assert value.tobytes() == again[name].tobytes(), name
