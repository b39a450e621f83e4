"""Exported training steps against torch, and through the importer."""

import copy
import importlib
import warnings
from typing import Any

import numpy as np
import onnx
import pytest

from mnc.core.context import make_context
from mnc.core.diagnostics import InternalError
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.lowering.onnx_to_graph.support import OPERATORS as IMPORTED

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
export: Any = importlib.import_module("mnc.torch").export_train_step
proof: Any = importlib.import_module("mnc.torch.proof")
MODULES: Any = importlib.import_module("torch_modules").MODULES


def _perceptron(inputs: int, hidden: int, classes: int, batch: int) -> tuple[Any, Any]:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, classes))
    return module, (torch.rand(batch, inputs), torch.randint(0, classes, (batch,)))


def _convolutional() -> tuple[Any, Any]:
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, groups=2), nn.GroupNorm(2, 6), nn.SiLU(), nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(2),
        nn.ConvTranspose2d(6, 4, 2, groups=2), nn.Flatten(), nn.Linear(16, 5),
    )  # fmt: skip
    return module, (torch.randn(4, 1, 11, 11), torch.randint(0, 5, (4,)))


class Block(nn.Module):
    """A transformer block between an embedding and the scores of a vocabulary."""

    def __init__(self, width: int = 8, heads: int = 2, vocabulary: int = 12) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.scores = nn.Linear(width, vocabulary)

    def forward(self, ids: Any) -> Any:
        x = self.embedding(ids)
        h = self.norm1(x)
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], dtype=x.dtype)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False, is_causal=True)[0]
        return self.scores(x + self.feed(self.norm2(x))).transpose(1, 2)


def _losses(step: Any, batches: list[Any]) -> tuple[list[float], dict[str, np.ndarray]]:
    """Run an exported step on several batches, each with the results of the one before."""
    runner, values, losses = proof.Runner(step.model), dict(step.initial), []
    for x, y in batches:
        results = runner.run({**values, step.data[0]: x.numpy(), step.labels[0]: y.numpy()})
        losses.append(float(results[step.loss]))
        values = {name: results[out] for name, out in step.updates.items()}
    return losses, values


def _trained(module: Any, loss: Any, optimizer: Any, batches: list[Any]) -> list[float]:
    """The plain loop of every tutorial; changes module and optimizer."""
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        result = loss(module(x), y)
        result.backward()
        optimizer.step()
        losses.append(float(result.detach()))
    return losses


def _check(module: Any, optimizer: Any, sample: Any, loss: Any = None, steps: int = 4) -> Any:
    """Export, then train in torch and with the exported graph from the same start."""
    loss = loss or nn.CrossEntropyLoss()
    before = copy.deepcopy(module.state_dict())
    step = export(module, loss, optimizer, sample)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items()), "module was changed"
    batches = [sample, *[(sample[0].roll(i, 0), sample[1]) for i in range(1, steps)]]
    losses, values = _losses(step, batches)
    np.testing.assert_allclose(losses, _trained(module, loss, optimizer, batches), rtol=1e-5)
    state = module.state_dict()
    for name in step.parameters:
        np.testing.assert_allclose(values[name], state[name].numpy(), rtol=1e-4, atol=2e-5, err_msg=name)
    _imports(step.model)
    return step


def _imports(model: onnx.ModelProto) -> None:
    assert {node.op_type for node in model.graph.node} <= set(IMPORTED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = str(import_model(model, make_context()))
    for value in (*model.graph.input, *model.graph.output):
        assert f'onnx.name = "{value.name}"' in text


@pytest.mark.parametrize(("inputs", "classes", "batch"), [(784, 10, 50), (1024, 16, 256)])
def test_perceptron(inputs: int, classes: int, batch: int) -> None:
    module, sample = _perceptron(inputs, 16, classes, batch)
    step = _check(module, torch.optim.SGD(module.parameters(), lr=0.01), sample)
    assert step.inputs == ("input", "labels", "0.weight", "0.bias", "2.weight", "2.bias")
    assert step.outputs == ("loss", *(f"{name}.updated" for name in step.parameters))
    assert [value.name for value in step.model.graph.input] == list(step.inputs)
    assert [value.name for value in step.model.graph.output] == list(step.outputs)


def test_convolutional() -> None:
    module, sample = _convolutional()
    step = _check(module, torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9, nesterov=True), sample)
    assert {"1.running_mean", "1.running_var", "0.weight.momentum_buffer"} <= set(step.state)
    assert "1.num_batches_tracked" not in step.state  # nothing reads it


def test_transformer() -> None:
    torch.manual_seed(0)
    module = Block()
    sample = (torch.randint(0, 12, (2, 5)), torch.randint(0, 12, (2, 5)))
    step = _check(module, torch.optim.SGD(module.parameters(), lr=0.1), sample)
    assert step.data == ("ids",)


def test_gradients_are_per_sample_means() -> None:
    """The trap of exports through a flattened graph: gradients wrong by the batch size."""
    module, sample = _perceptron(6, 5, 3, 8)
    step = export(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters()), sample, gradients=True)
    found = proof.Runner(step.model).run({**step.initial, "input": sample[0].numpy(), "labels": sample[1].numpy()})
    nn.functional.cross_entropy(module(sample[0]), sample[1]).backward()
    for name, parameter in module.named_parameters():
        np.testing.assert_allclose(found[step.gradients[name]], parameter.grad.numpy(), rtol=1e-4, atol=1e-7)


LOSSES = {
    "weighted": nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]), ignore_index=1),
    "smoothed": nn.CrossEntropyLoss(label_smoothing=0.1, reduction="sum"),
    "margins": nn.MultiMarginLoss(p=2, margin=0.5),
    "likelihood": lambda scores, y: nn.functional.nll_loss(scores.log_softmax(1), y),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    module, sample = _perceptron(6, 5, 3, 8)
    _check(module, torch.optim.SGD(module.parameters(), lr=0.1), sample, LOSSES[name])


def _gaussian(y: Any, wanted: Any) -> Any:
    """Half of the variances lie below the least that counts."""
    return nn.functional.gaussian_nll_loss(y, wanted, y.square(), full=True, eps=0.1)


REGRESSIONS = [nn.MSELoss(), nn.SmoothL1Loss(), nn.BCEWithLogitsLoss(), nn.L1Loss(), nn.HuberLoss(), _gaussian]


@pytest.mark.parametrize("loss", REGRESSIONS)
def test_regression(loss: Any) -> None:
    module, sample = _perceptron(6, 5, 3, 8)
    _check(module, torch.optim.SGD(module.parameters(), lr=0.1), (sample[0], torch.rand(8, 3)), loss)


CHOSEN = {
    "gathered": lambda scores, y: -scores.log_softmax(1).gather(1, y[:, None]).mean(),
    "indexed": lambda scores, y: -scores.log_softmax(1)[torch.arange(6), y].mean(),
    "one-hot": lambda scores, y: ((scores - nn.functional.one_hot(y, 3)) ** 2).mean(),
    "divergence": lambda scores, y: nn.functional.kl_div(scores.log_softmax(1), (y[:, None] == y[:3]) / 3.0),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_losses_of_ones_own(name: str) -> None:
    module, sample = _perceptron(4, 4, 3, 6)
    _check(module, torch.optim.SGD(module.parameters(), lr=0.05), sample, CHOSEN[name])


def test_ignored_labels_count_nothing() -> None:
    module, (x, y) = _perceptron(6, 5, 3, 8)
    step = export(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters()), (x, y))
    y[2:5] = -100
    (loss,), _ = _losses(step, [(x, y)])
    np.testing.assert_allclose(loss, float(nn.functional.cross_entropy(module(x), y).detach()), rtol=1e-6)


def test_frozen_unused_tied_and_evaluated() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm, self.second, self.unused = (
                nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4), nn.Linear(4, 4)
            )  # fmt: skip
            self.second.weight = self.first.weight
            self.first.bias.requires_grad_(False)
            self.norm.eval()

        def forward(self, x: Any) -> Any:
            return self.second(self.norm(self.first(x)).relu())

    torch.manual_seed(0)
    module = Odd()
    step = _check(module, torch.optim.Adam(module.parameters()), (torch.randn(6, 4), torch.randint(0, 4, (6,))))
    assert step.parameters == ("first.weight", "norm.weight", "norm.bias", "second.bias")
    assert not any("running" in name for name in step.state)
    constants = {tensor.name for tensor in step.model.graph.initializer}
    assert {"first.bias", "norm.running_mean", "norm.running_var"} <= constants


def test_an_optimizer_of_some_parameters_only() -> None:
    module, sample = _perceptron(4, 4, 3, 6)
    step = _check(module, torch.optim.SGD(module[2].parameters(), lr=0.1), sample)
    assert step.parameters == ("2.weight", "2.bias")


def test_a_parameter_called_like_a_result_keeps_its_name() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loss, self.output, self.inner = (
                nn.Parameter(torch.ones(3)),
                nn.Parameter(torch.ones(3)),
                nn.Linear(4, 3),
            )

        def forward(self, loss: Any) -> Any:
            return self.inner(loss) * self.loss * self.output

    module, (_, sample) = Named(), _perceptron(4, 4, 3, 6)
    step = _check(module, torch.optim.SGD(module.parameters(), lr=0.1), sample)
    assert step.loss == "loss_" and step.data == ("loss__",) and step.updates["loss"] == "loss.updated"
    model = importlib.import_module("mnc.torch").export_inference(module, sample[0])
    assert [value.name for value in model.graph.output] == ["output_"]


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(0)
    module = make()
    x = torch.randn(shape)
    labels = torch.zeros(shape[0], dtype=torch.int64)
    _check(module, torch.optim.SGD(module.parameters(), lr=0.05), (x, labels))


def test_names_of_nodes_tell_the_module() -> None:
    module, sample = _convolutional()
    step = export(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters()), sample)
    names = {node.op_type: node.name for node in step.model.graph.node}
    assert names["LogSoftmax"].startswith("loss/")
    assert [node.name for node in step.model.graph.node if node.op_type == "MaxPool"] == ["3/MaxPool", "7/MaxPool"]


@pytest.mark.parametrize("operator", ["sub", "relu", "exp", "le", "sum", "div"])
def test_a_wrong_translation_is_refused_by_name(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operator in turn gives a result that is off by a part in ten thousand, or turned round."""
    table = importlib.import_module("mnc.torch.operators").OPERATORS
    original = table[operator]

    def wrong(c: Any) -> Any:
        result = original(c)
        return c.op("Not", result) if operator == "le" else c.op("Mul", result, c.value(1.0001, c.dtype))

    monkeypatch.setitem(table, operator, wrong)
    module, sample = _perceptron(6, 5, 3, 8)
    with pytest.raises(InternalError, match=r"disagrees with torch: '[\w.]*' differs"):
        export(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters(), lr=0.1), sample)


def test_a_loss_off_by_the_batch_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = importlib.import_module("mnc.torch.decompositions.loss")
    original = loss.row_gradients
    monkeypatch.setattr(loss, "row_gradients", lambda *a: original(*a) * 8)
    module, sample = _perceptron(6, 5, 3, 8)
    with pytest.raises(InternalError, match=r"'0\.weight\.gradient' differs|'0\.weight\.updated' differs"):
        export(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters(), lr=0.1), sample)


def test_foreign_attributes_are_tolerated_with_a_warning() -> None:
    module, sample = _perceptron(6, 5, 3, 8)
    model = export(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters()), sample).model
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("origin", "elsewhere"))
    with pytest.warns(UserWarning, match="attribute 'origin' is unknown and ignored"):
        import_model(model, make_context())


def test_saved_model_reads_back(tmp_path: Any) -> None:
    module, sample = _perceptron(6, 5, 3, 8)
    step = export(module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters()), sample)
    step.save(tmp_path / "step.onnx")
    assert onnx.load(tmp_path / "step.onnx") == step.model
    assert "tensors equal torch's" in step.proof.summary()


def test_adam_is_judged_by_the_gradients_of_the_graph() -> None:
    """An error that a gradient may have moves a parameter by more than a parameter may be off: 1e-9 beside a gradient
    of 1 are rounding, but Adam divides by 1e-9 + 1e-8. With the same gradients torch does the same."""
    reference_type: Any = importlib.import_module("mnc.torch.reference").StepReference
    rate, eps = 1e-2, 1e-8
    after, gradient = [], np.array([[1.0, 1e-9]])
    for found in (None, {"weight.gradient": gradient}):
        torch.manual_seed(0)
        module = nn.Linear(2, 1, bias=False).double()
        before = module.weight.detach().numpy().copy()
        optimizer = torch.optim.Adam(module.parameters(), rate, eps=eps)
        reference = reference_type(module, nn.L1Loss(), optimizer, torch.float64)
        x, y = torch.tensor([[1.0, 0.0]], dtype=torch.float64), torch.tensor([[-9.0]], dtype=torch.float64)
        results = reference.differentiate([x], [y], "loss")
        np.testing.assert_array_equal(results["weight.gradient"], [[1.0, 0.0]], "torch's own is what is compared")
        reference.update(found)
        after.append(module.weight.detach().numpy() - before)
    bound = proof.DOUBLE_BOUND * np.abs(before).max()
    np.testing.assert_allclose(after[1], -rate * gradient / (np.abs(gradient) + eps), rtol=1e-6)
    assert np.abs(after[0] - after[1]).max() > 100 * bound
