"""Training on both backends: against numpy, interrupted and resumed, and every misuse."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import numpy_helper

from mnc.core.diagnostics import CompileError
from mnc.options import Options
from mnc.training import Trainer, make_model, training_step
from mnc.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from mnc.training.data import Dataset, checked
from mnc.training.interruption import interruption_waits, termination_interrupts
from mnc.training.step import TrainingStep

LEARNING_RATE = 0.25
WIDTHS = [9, 5, 3]


def small_data(count: int = 40) -> Dataset:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, count)
    images = (rng.standard_normal((count, 9)) + labels[:, None]).astype(np.float32)
    return checked("small", {"train_images": images[8:], "train_labels": labels[8:],
                             "test_images": images[:8], "test_labels": labels[:8]})  # fmt: skip


def step_of(optimizer: str = "sgd", batch: int = 8, **numbers: float) -> TrainingStep:
    model = make_model("mlp:9-5-3", 3)
    return training_step(model, batch=batch, optimizer=optimizer, learning_rate=LEARNING_RATE, **numbers)


def reference_losses(data: Dataset, batch: int, epochs: int, seed: int = 0) -> list[float]:
    """Plain gradient descent in float32 numpy with the trainer's batches."""
    layers = {t.name: numpy_helper.to_array(t).copy() for t in make_model("mlp:9-5-3", 3).graph.initializer}
    losses = []
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(data.train_images))
        for start in range(0, len(order) - batch + 1, batch):
            x, y = data.train_images[order[start : start + batch]], data.train_labels[order[start : start + batch]]
            hidden = np.maximum(x @ layers["layer0.weight"].T + layers["layer0.bias"], 0)
            logits = hidden @ layers["layer1.weight"].T + layers["layer1.bias"]
            shares = np.exp(logits - logits.max(1, keepdims=True))
            shares /= shares.sum(1, keepdims=True)
            losses.append(float(-np.log(shares[np.arange(batch), y]).mean()))
            shares[np.arange(batch), y] -= 1
            back = (shares / batch @ layers["layer1.weight"]) * (hidden > 0)
            layers["layer1.weight"] -= LEARNING_RATE * (shares / batch).T @ hidden
            layers["layer1.bias"] -= LEARNING_RATE * shares.mean(0)
            layers["layer0.weight"] -= LEARNING_RATE * back.T @ x
            layers["layer0.bias"] -= LEARNING_RATE * back.sum(0)
    return losses


@pytest.mark.parametrize(("backend", "bound"), [("cpu", 1e-5), ("emulator", 1e-5)])
def test_losses_of_plain_descent(backend: str, bound: float) -> None:
    trainer = Trainer(step_of(), small_data(), backend=backend, options=Options("single"))
    trainer.run(3)
    np.testing.assert_allclose(trainer.progress.losses, reference_losses(small_data(), 8, 3), rtol=bound)
    assert len(trainer.progress.accuracies) == 3


def test_bits_are_the_same_every_time() -> None:
    step = training_step(make_model("mlp:9-3", 3), batch=8)
    runs = [Trainer(step, small_data()) for _ in range(2)]
    for trainer in runs:
        trainer.run(1)
    for name, value in runs[0].state.items():
        assert value.tobytes() == runs[1].state[name].tobytes()


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
@pytest.mark.parametrize("stop", [2, 4, 7])
def test_interrupted_run_continues_with_the_same_bits(tmp_path: Path, optimizer: str, stop: int) -> None:
    whole = Trainer(step_of(optimizer), small_data(), backend="cpu")
    whole.run(3)

    def interrupt(trainer: Trainer) -> None:
        if len(trainer.progress.losses) == stop:
            raise KeyboardInterrupt

    path = tmp_path / "run" / "checkpoint.npz"
    first = Trainer(step_of(optimizer), small_data(), backend="cpu", checkpoint=path)
    with pytest.raises(KeyboardInterrupt):
        first.run(3, interrupt)
    second = Trainer(step_of(optimizer), small_data(), backend="cpu", checkpoint=path)
    second.resume()
    assert len(second.progress.losses) == stop
    second.run(3)
    assert second.progress == whole.progress
    for name, value in whole.state.items():
        assert value.tobytes() == second.state[name].tobytes(), name
    assert [file.name for file in path.parent.iterdir()] == ["checkpoint.npz"]


def test_a_request_to_end_is_taken_for_an_interruption() -> None:
    """Batch systems send SIGTERM: it waits for the end of a step as well."""
    finished = False
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), termination_interrupts(), interruption_waits():
        os.kill(os.getpid(), signal.SIGTERM)
        finished = True
    assert finished and signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("signals", [1, 2])
@pytest.mark.parametrize("backend", ["cpu", "emulator"])
def test_interruption_in_the_middle_of_a_step(
    tmp_path: Path, backend: str, signals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first Ctrl-C lets the step finish; a second one loses it, but nothing that was complete before."""
    path = tmp_path / "checkpoint.npz"
    trainer = Trainer(step_of(), small_data(), backend=backend, checkpoint=path)
    take = trainer._stepper.step

    def interrupted(*batches: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if len(trainer.progress.losses) == 5:  # the second of the second epoch
            for _ in range(signals):
                os.kill(os.getpid(), signal.SIGINT)
        return take(*batches)

    monkeypatch.setattr(trainer._stepper, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trainer.run(3)
    again = Trainer(step_of(), small_data(), backend=backend, checkpoint=path)
    again.resume()
    assert len(again.progress.losses) == (6 if signals == 1 else 4)
    again.run(2)
    whole = Trainer(step_of(), small_data(), backend=backend)
    whole.run(2)
    assert again.progress == whole.progress
    for name, value in whole.state.items():
        assert value.tobytes() == again.state[name].tobytes(), name


def test_damaged_and_foreign_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    trainer = Trainer(step_of(), small_data(), backend="cpu", checkpoint=path)
    with pytest.raises(CompileError, match="there is no checkpoint"):
        trainer.resume()
    trainer.run(1)
    whole = path.read_bytes()
    for data in (b"", b"noise", whole[:-30], whole[:400] + bytes([whole[400] ^ 255]) + whole[401:]):
        path.write_bytes(data)
        with pytest.raises(CompileError, match="is damaged"):
            trainer.resume()
    path.write_bytes(whole)
    other = Trainer(step_of(), small_data(), backend="cpu", checkpoint=path, seed=5)
    with pytest.raises(CompileError, match="was made with seed 0, this run has 5"):
        other.resume()
    state = {**trainer.state, "layer0.bias": np.zeros(6, np.float32)}
    with pytest.raises(CompileError, match=r"of another model: 'layer0\.bias' differs"):
        load_checkpoint(path, state, trainer.settings, trainer.steps_per_epoch)


@pytest.mark.parametrize(
    "changed",
    [
        {"epoch": -1}, {"epoch": 2}, {"epoch": 1.0}, {"position": 4}, {"position": 1}, {"losses": []},
        {"accuracies": [0.5, 0.5]}, {"losses": ["0.1"] * 4}, {"losses": [float("nan")] * 4},
    ],
)  # fmt: skip
def test_checkpoints_whose_numbers_disagree(tmp_path: Path, changed: dict[str, object]) -> None:
    path = tmp_path / "checkpoint.npz"
    trainer = Trainer(step_of(), small_data(), backend="cpu", checkpoint=path)
    trainer.run(1)
    save_checkpoint(path, trainer.state, replace(trainer.progress, **changed), trainer.settings)
    with pytest.raises(CompileError, match="counts of steps and epochs disagree"):
        trainer.resume()


def test_of_settings_that_differ_the_cause_is_told(tmp_path: Path) -> None:
    """Another seed splits the data otherwise; another optimizer has other numbers."""
    path, state = tmp_path / "checkpoint.npz", {"w": np.zeros(2, np.float32)}
    made = {"data": "digits", "momentum": 0.9, "optimizer": "momentum", "samples": "12ab", "seed": 0}
    save_checkpoint(path, state, Progress(), made)
    for changed, message in (
        ({"samples": "34cd", "seed": 1}, "made with seed 0, this run has 1"),
        ({"momentum": None, "optimizer": "adam"}, "made with optimizer momentum, this run has adam"),
        ({"samples": "34cd"}, "made with other images or labels"),
    ):
        with pytest.raises(CompileError, match=message):
            load_checkpoint(path, state, {**made, **changed}, 3)


def test_checkpoint_with_a_parameter_that_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    trainer = Trainer(step_of(), small_data(), backend="cpu", checkpoint=path)
    trainer.run(1)
    state = {**trainer.state, "layer0.bias": np.full(5, np.nan, np.float32)}
    save_checkpoint(path, state, trainer.progress, trainer.settings)
    with pytest.raises(CompileError, match=r"'layer0\.bias' holds NaN or infinity"):
        trainer.resume()


def test_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    trainer = Trainer(step_of(), small_data(), backend="cpu", checkpoint=tmp_path / "file" / "checkpoint.npz")
    with pytest.raises(CompileError, match="cannot write"):
        trainer.run(1)


def test_diverging_loss_stops_the_run() -> None:
    step = training_step(make_model("mlp:9-5-3", 3), batch=8, learning_rate=1e30)
    with pytest.raises(CompileError, match=r"the loss is (nan|inf) in step") as caught:
        Trainer(step, small_data(), backend="cpu").run(3)
    assert "learning rate" in str(caught.value.hint)


def test_data_that_do_not_fit_the_model() -> None:
    data = small_data()
    with pytest.raises(CompileError, match="takes 16 values per image, the images have 9"):
        Trainer(training_step(make_model("mlp:16-3", 4), batch=8), data)
    with pytest.raises(CompileError, match="classes 0 to 1"):
        Trainer(training_step(make_model("mlp:9-2", 3), batch=8), data)
    with pytest.raises(CompileError, match="a batch of 64 is more than the 32 training images"):
        Trainer(step_of(batch=64), data)
    with pytest.raises(CompileError, match="no backend 'fpga'"):
        Trainer(step_of(), data, backend="fpga")


def _changed(change) -> onnx.ModelProto:
    model = make_model("mlp:9-3", 3)
    change(model.graph)
    return model


def fix_batch(graph: onnx.GraphProto) -> None:
    graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_changed(fix_batch), "fixed to 4 samples"),
        (_changed(lambda g: g.input.append(g.output[0])), "one input and one output"),
        (_changed(lambda g: [t.__setattr__("data_type", 10) for t in g.initializer]), "no float initializers"),
        (_changed(lambda g: g.node[0].__setattr__("op_type", "Softmax")), "computed from logits"),
    ],
)
def test_models_that_cannot_be_trained(model: onnx.ModelProto, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        training_step(model, batch=8)


def test_a_training_graph_is_refused_in_a_few_words() -> None:
    """A graph that somebody else made has dozens of inputs."""
    model = _changed(lambda g: g.input.extend(onnx.ValueInfoProto(name=f"parameter{i}") for i in range(40)))
    with pytest.raises(CompileError, match=r"41 inputs \(.*, \.\.\.\) and 1 output") as refusal:
        training_step(model, batch=8)
    assert "parameter1'" in str(refusal.value) and "parameter2" not in str(refusal.value)


def test_statistics_of_batch_normalization_are_no_parameters() -> None:
    def add_norm(graph: onnx.GraphProto) -> None:
        graph.node[0].output[0] = "hidden"
        graph.node.append(onnx.helper.make_node("BatchNormalization", ["hidden", "s", "b", "m", "v"], ["logits"]))
        graph.initializer.extend(numpy_helper.from_array(np.ones(3, np.float32), name) for name in "sbmv")

    step = training_step(_changed(add_norm), batch=8)
    assert set(step.initial) == {"layer0.weight", "layer0.bias", "s", "b"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "mnist"], "--data mnist needs the directory"),
        (["--path", "."], "--path belongs to --data mnist"),
        (["--data", "cats"], "there is no data set 'cats'"),
        (["--model", "mlp:64-x"], "'mlp:64-x' is no perceptron"),
        (["--model", "lost.onnx"], "there is no model 'lost.onnx'"),
        (["--image-size", "28"], "takes 64 values per image, the images have 784"),
        (["--resume"], "there is no checkpoint"),
        (["--epochs", "0"], "--epochs 0 is not possible"),
        (["--batch", "0"], "a batch of 0 samples"),
        (["--lr", "nan"], "--lr nan is not possible"),
        (["--lr", "-0.1"], "--lr -0.1 is not possible"),
        (["--momentum", "1"], "--momentum 1 is not possible"),
        (["--weight-decay", "inf"], "--weight-decay inf is not possible"),
        (["--seed", "-1"], "--seed -1 is not possible"),
        (["--image-size", "0"], "--image-size 0 is not possible"),
        (["--backend", "board"], "no backend 'board'"),
        (["--backend", "vendor"], "cannot start the vendor's tools"),
        (["--model", "mlp:64-8"], "but the model has classes 0 to 7"),
    ],
)
def test_command_misuse(tmp_path: Path, arguments: list[str], message: str) -> None:
    from mnc.tools.commands.train import command

    result = CliRunner().invoke(command, [*arguments, "-o", str(tmp_path)])
    assert isinstance(result.exception, CompileError) and message in result.exception.message


def test_command_writes_model_checkpoint_and_curve(tmp_path: Path) -> None:
    from mnc.tools.commands.train import command

    arguments = ["--backend", "cpu", "--epochs", "2", "-o", str(tmp_path)]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0 and "accuracy on test images" in result.output
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
    trained = {t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "model.onnx").graph.initializer}
    with np.load(tmp_path / "checkpoint.npz") as file:
        np.testing.assert_array_equal(trained["layer0.weight"], file["state/layer0.weight"])
    result = CliRunner().invoke(command, [*arguments, "--epochs", "3", "--resume"], catch_exceptions=False)
    assert "continuing after 44 steps" in result.output


def test_what_stands_in_the_way_is_told_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnc.tools.commands.train import command

    def fail(*_: object) -> None:
        raise AssertionError("compiled")

    file, damaged = tmp_path / "file", tmp_path / "damaged"
    file.touch()
    damaged.mkdir()
    (damaged / "checkpoint.npz").touch()
    monkeypatch.setattr("mnc.training.trainer.compile_step", fail)
    for arguments, message in (
        (["-o", str(file)], "cannot write into"),
        (["-o", str(file / "inside")], "cannot write into"),
        (["-o", str(damaged), "--resume"], "is damaged"),
    ):
        result = CliRunner().invoke(command, arguments)
        assert isinstance(result.exception, CompileError) and message in result.exception.message, arguments


def test_resuming_a_finished_run_trains_nothing(tmp_path: Path) -> None:
    from mnc.tools.commands.train import command

    arguments = ["--model", "mlp:64-10", "--backend", "cpu", "--epochs", "1", "--batch", "512", "-o", str(tmp_path)]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    before = (tmp_path / "checkpoint.npz").read_bytes()
    result = CliRunner().invoke(command, [*arguments, "--resume"])
    assert result.exit_code == 0 and "all 1 epochs are in the checkpoint" in result.output
    assert "nan" not in result.output and (tmp_path / "checkpoint.npz").read_bytes() == before
