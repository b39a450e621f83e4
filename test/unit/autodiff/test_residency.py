"""State in local memory between runs: the numbers of runs from DRAM, and no traffic but the batch."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import mnc
from mnc.core.diagnostics import CompileError
from mnc.executable import Executable
from mnc.mncore_backend.emulator import Machine
from mnc.options import Options
from mnc.report import report
from mnc.training import make_model, training_step
from mnc.training.backends import EmulatedStepper, compile_program
from mnc.training.step import TrainingStep

BATCH = 6
ABSOLUTE = {"sgd": 1e-6, "momentum": 1e-6, "adam": 1e-4}
"""Adam divides by the root of squared gradients, which magnifies the rounding of small ones."""


def step_of(optimizer: str, widths: str = "mlp:9-5-3") -> TrainingStep:
    side = 3 if widths.startswith("mlp") else 4
    return training_step(make_model(widths, side, 3), batch=BATCH, optimizer=optimizer, learning_rate=0.25)


def batches(step: TrainingStep, count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        {
            step.forward.data: rng.standard_normal(step.forward.shape).astype(np.float32),
            step.labels: rng.integers(0, 3, BATCH).astype(np.int32),
        }
        for _ in range(count)
    ]


def reference(step: TrainingStep, data: list[dict[str, np.ndarray]]) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Losses and the last state of the same steps on the CPU."""
    program, state, losses = compile_program(step.module(), "cpu", Options()), step.initial, []
    for batch in data:
        outputs = program({**batch, **state})
        losses.append(outputs[step.loss])
        state = {name: outputs[output] for name, output in step.updates.items()}
    return losses, state


def resident(
    step: TrainingStep, program: Executable, data: list[dict[str, np.ndarray]], ahead: int
) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """One machine for all steps; with `ahead` 1 each step is given the batch of the next one."""
    assert program.initialise is not None and program.read_back is not None
    machine = Machine()
    program.initialise.run_on(machine, program.initialise.text, {**step.initial, **data[0]})
    given = [*data[ahead:], *data[:ahead]]
    losses = [program.run_on(machine, program.text, batch)[step.loss] for batch in given]
    outputs = program.read_back.run_on(machine, program.read_back.text, {})
    return losses, {name: outputs[output] for name, output in step.updates.items()}


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
@pytest.mark.parametrize(("kept", "ahead"), [("state", 0), ("batch", 1)])
def test_steps_on_one_machine(optimizer: str, kept: str, ahead: int) -> None:
    step = step_of(optimizer)
    data = batches(step, 3)
    program = step.compile(Options("single", resident=kept))  # pyright: ignore[reportArgumentType]
    losses, state = resident(step, program, data, ahead)
    want_losses, want = reference(step, data)
    np.testing.assert_allclose(losses, want_losses, rtol=1e-5)
    for name, value in want.items():
        np.testing.assert_allclose(state[name], value, rtol=1e-5, atol=ABSOLUTE[optimizer], err_msg=name)


@pytest.mark.parametrize("kept", ["state", "batch"])
def test_only_the_batch_moves(kept: str) -> None:
    step = step_of("momentum")
    program = step.compile(Options(resident=kept))  # pyright: ignore[reportArgumentType]
    assert {t.name for t in program.tensors} == {step.forward.data, step.labels, step.loss}
    moved = report(program)["total"]["dram_long_words"]
    assert moved == sum(tensor.image.total for tensor in program.tensors)


def test_a_batch_that_was_not_announced_is_loaded_first() -> None:
    step = step_of("momentum")
    data = batches(step, 4)
    steppers = [EmulatedStepper(step, Options()) for _ in range(2)]
    losses: list[list[bytes]] = [[], []]
    for announced, stepper, found in zip(([1, 2, 3, None], [2, None, 3, 1]), steppers, losses, strict=True):
        stepper.start(step.initial)
        for batch, following in zip(data, announced, strict=True):
            outputs = stepper.step(batch, None if following is None else data[following])
            found.append(outputs[step.loss].tobytes())
    assert losses[0] == losses[1]
    for name, value in steppers[0].state().items():
        assert value.tobytes() == steppers[1].state()[name].tobytes(), name


def test_batches_stay_outside_where_two_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    step, whole = step_of("sgd"), TrainingStep.compile

    def compile_small(self: TrainingStep, options: Options) -> Executable:
        if options.resident == "batch":
            raise CompileError("no room")
        return whole(self, options)

    monkeypatch.setattr(TrainingStep, "compile", compile_small)
    stepper, data = EmulatedStepper(step, Options("single")), batches(step, 2)
    stepper.start(step.initial)
    losses = [stepper.step(data[0], data[1])[step.loss], stepper.step(data[1])[step.loss]]
    np.testing.assert_allclose(losses, reference(step, data)[0], rtol=1e-5)


def test_convolutions_keep_their_batch_as_tiles() -> None:
    step = step_of("sgd", "cnn")
    data = batches(step, 2)
    losses, state = resident(step, step.compile(Options("single", resident="batch")), data, 1)
    want_losses, want = reference(step, data)
    np.testing.assert_allclose(losses, want_losses, rtol=1e-5)
    for name, value in want.items():
        np.testing.assert_allclose(state[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def recurrence() -> onnx.ModelProto:
    """y = s, s_new = s w + x: not a training step."""
    nodes = [
        helper.make_node("MatMul", ["s", "w"], ["product"]),
        helper.make_node("Add", ["product", "x"], ["s_new"]),
        helper.make_node("Neg", ["s"], ["y"]),
    ]
    names = ("s", "x", "s_new", "y")
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [5, 13]) for name in names}
    weight = onnx.numpy_helper.from_array(np.random.default_rng(3).standard_normal((13, 13)).astype(np.float32), "w")
    graph = helper.make_graph(nodes, "g", [values["s"], values["x"]], [values["s_new"], values["y"]], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_state_of_any_model() -> None:
    rng = np.random.default_rng(1)
    s, x = (rng.standard_normal((5, 13)).astype(np.float32) for _ in range(2))
    plain = mnc.compile(recurrence(), Options("single"))
    kept = mnc.compile(recurrence(), Options("single", resident="state", updates={"s": "s_new"}))
    assert {t.name for t in kept.tensors} == {"x", "y"}  # the weight stays as well
    assert {t.name for t in kept.inputs} == {"s", "x"} and {t.name for t in kept.outputs} == {"y", "s_new"}
    want, got = plain.run({"s": s, "x": x}), kept.run({"s": s, "x": x})
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({"q": "s_new"}, "there is no input 'q'"),
        ({"s": "q"}, "there is no output 'q'"),
    ],
)
def test_updates_of_nothing(updates: dict[str, str], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        mnc.compile(recurrence(), Options(resident="state", updates=updates))
