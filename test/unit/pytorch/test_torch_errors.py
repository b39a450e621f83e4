"""What people do wrong, and what they are told."""

import importlib
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import onnx
import pytest

import mnc.torch
from mnc.core.diagnostics import CompileError


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mnc.torch, "is_available", lambda: False)
    monkeypatch.delitem(vars(mnc.torch), "export_train_step", raising=False)
    with pytest.raises(CompileError) as caught:
        _ = mnc.torch.export_train_step
    assert caught.value.hint is not None and "mnc[torch]" in caught.value.hint
    with pytest.raises(AttributeError, match="no attribute 'export_nothing'"):
        _ = mnc.torch.export_nothing


torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn


def test_the_package_does_not_hide_torch() -> None:
    code = "import mnc.torch.train_step, torch; print(torch.__file__ != mnc.torch.__file__, torch.ones(2).sum())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "True tensor(2.)"


class Forward(nn.Module):
    """A linear layer and a function of its result."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.inner, self.function = nn.Linear(4, 3), function

    def forward(self, x: Any) -> Any:
        return self.function(self.inner(x))


X, Y = torch.arange(8.0).reshape(2, 4) / 8, torch.tensor([0, 2])


def _step(module: Any, sample: Any = (X, Y), loss: Any = None, optimizer: Any = None) -> Any:
    optimizer = optimizer or torch.optim.SGD(module.parameters())
    return mnc.torch.export_train_step(module, loss or nn.CrossEntropyLoss(), optimizer, sample)


def _refused(*arguments: Any, **options: Any) -> str:
    with pytest.raises(CompileError) as caught:
        _step(*arguments, **options)
    return caught.value.render()


MODULES = {
    "unknown": (lambda x: torch.special.i0(x), "aten.i0.default: this operator is not supported, in the"),
    "large": (lambda x: torch.det(torch.eye(17) + x.mean()) + x, "hint: determinants of up to 16 rows have gradients"),
    "far": (lambda x: (x.int() << 31).float() + x, "integers have 32 bits: shift by 0 to 30"),
    "branch": (lambda x: x if x.sum() > 0 else -x, "the module cannot be traced"),
    "windows": (
        lambda x: nn.functional.avg_pool2d(x[None], 3, padding=1, ceil_mode=True).sum() + x, "leaves a window out in",
    ),
    "item": (lambda x: x * x.max().item(), "must not read values of tensors"),
    "noise": (lambda x: x + torch.randn_like(x), "draws no random numbers"),
    "numpy": (lambda x: x + torch.from_numpy(x.detach().numpy()), "the module cannot be traced"),
    "crash": (lambda x: x[7], "module or loss fails on the sample: IndexError"),
    "generator": (
        lambda x: x + torch.rand(2, 3, generator=torch.Generator().manual_seed(0)), "random numbers with a generator",
    ),
    "eigenvalues": (lambda x: torch.linalg.eigvals(x.T @ x).real.sum() + x, "hint: give singular values and eigenv"),
    "autocast": (lambda x: nn.functional.linear(x, x).bfloat16().float().sum() + x, "no torch.autocast"),
    "sparse": (lambda x: (x.relu().to_sparse() @ x.T).sum() + x, "hint: "),
    "infinite": (lambda x: x / 0, "the loss of the sample is nan"),
    "constant": (lambda x: x.detach(), "does not depend on a parameter"),
    "in place": (lambda x: x.relu().sqrt_().relu_().exp().mul_(x), "torch cannot compute the gradients of the sample"),
    "half": (lambda x: x.half().float(), "element type torch.float16 is not supported"),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    function, message = MODULES[name]
    assert message in _refused(Forward(function))


def test_an_unsupported_operator_names_its_module_and_the_remedy() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Dropout(0.5)), nn.Linear(4, 3))
    text = _refused(module)
    assert "in module '1.1' (Dropout)" in text and "hint: set the dropout probability to 0" in text
    with pytest.raises(CompileError, match=r"in module '0' \(EmbeddingBag\)"):
        bags = nn.EmbeddingBag(4, 3, max_norm=1.0)
        mnc.torch.export_inference(nn.Sequential(bags), torch.ones(2, 5, dtype=torch.int64))


INSTEAD: dict[str, tuple[Any, Any]] = {
    "linalg_pinv": (
        lambda x: torch.linalg.pinv(x @ x.T + torch.eye(2)), lambda x: torch.linalg.inv(x @ x.T + torch.eye(2)),
    ),
    "_fake_quantize_learnable_per_tensor_affine": (
        lambda x: torch._fake_quantize_learnable_per_tensor_affine(x, torch.ones(1) * 0.1, torch.ones(1), 0, 7, 1.0),
        lambda x: (torch.clamp(torch.round(x / 0.1) + 1, 0, 7) - 1) * 0.1,
    ),
    "bincount": (
        lambda x: torch.bincount(x.clamp(0, 3).long().reshape(-1), minlength=4),
        lambda x: (x.clamp(0, 3).long().reshape(-1).unsqueeze(1) == torch.arange(4)).sum(0),
    ),
    "mode": (
        lambda x: x.round().mode(1)[0],
        lambda x: x.round().gather(
            1, (x.round().unsqueeze(-1) == x.round().unsqueeze(-2)).sum(-1).argmax(-1, keepdim=True)
        ).squeeze(1),
    ),
    "special_erfcx": (torch.special.erfcx, lambda x: torch.exp(x * x) * torch.erfc(x)),
    "nonzero": (lambda x: torch.nonzero(x > 0.5), lambda x: torch.nonzero_static(x > 0.5, size=3)),
}  # fmt: skip


class Bare(nn.Module):
    """A function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.parametrize("name", INSTEAD)
def test_hints_tell_what_to_write_instead(name: str) -> None:
    refused, instead = INSTEAD[name]
    with pytest.raises(CompileError) as caught:
        mnc.torch.export_inference(Bare(refused), X)
    hint = importlib.import_module("mnc.torch.operators.hints").hint_for(name)
    assert f"hint: {hint}" in caught.value.render() and "docs/torch.md" not in hint
    torch.testing.assert_close(instead(X), refused(X))
    mnc.torch.export_inference(Bare(instead), X)


def test_an_operator_like_no_other_has_no_likeness() -> None:
    text = _refused(Forward(torch.special.i0))
    assert "hint: docs/torch.md lists the supported operators" in text


def test_values_that_a_function_of_torch_looks_at() -> None:
    text = _refused(Forward(lambda x: x if torch.equal(x, x) else -x))
    assert "it depends on the value of a tensor, in aten.equal" in text and "must not branch" in text


def test_a_scheduler_of_learning_rates_is_told() -> None:
    module = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _step(module, optimizer=optimizer)
    torch.optim.lr_scheduler.StepLR(optimizer, 10)
    with pytest.warns(UserWarning, match=r"the exported step keeps the rate of now, 0\.25: export again") as caught:
        _step(module, optimizer=optimizer)
    assert caught[0].filename == __file__


class FakeQuantize(nn.Module):
    """What modules of torch.ao.quantization have."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("observer_enabled", torch.ones(1, dtype=torch.uint8))
        self.register_buffer("fake_quant_enabled", torch.ones(1, dtype=torch.uint8))

    def forward(self, x: Any) -> Any:
        return x if self.observer_enabled[0] == 1 else x.round()


def test_modules_that_observe_ranges() -> None:
    text = _refused(nn.Sequential(nn.Linear(4, 3), FakeQuantize()))
    assert "module '1' (FakeQuantize) looks at values of its buffers" in text
    assert "a module that calls torch.fake_quantize_per_tensor_affine with its scale" in text


SAMPLES = {
    "single": (X, "the sample must be a pair"),
    "list": (([1.0], Y), "the sample's data is a float, not a tensor"),
    "double": ((X.double(), Y), "has element type torch.float64, which is not supported"),
    "nan": ((X * float("nan"), Y), "the sample's data holds NaN or infinite values"),
    "empty": ((X[:0], Y[:0]), "of shape [0, 4] has no elements"),
    "shape": ((X[:, :3], Y), "module or loss fails on the sample: RuntimeError"),
    "labels": ((X, Y + 1), "module or loss fails on the sample: IndexError"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str) -> None:
    sample, message = SAMPLES[name]
    assert message in _refused(nn.Linear(4, 3), sample)


def test_losses_optimizers_and_types() -> None:
    module = nn.Linear(4, 3)
    assert "the loss must be a scalar, but is a tensor of shape [2]" in _refused(
        module, loss=nn.CrossEntropyLoss(reduction="none")
    )
    assert "optimizer LBFGS is not supported" in _refused(module, optimizer=torch.optim.LBFGS(module.parameters()))
    captured = torch.optim.Adam(module.parameters(), capturable=True)
    assert "hint: leave capturable=True out" in _refused(module, optimizer=captured)
    other = torch.optim.SGD(nn.Linear(2, 2).parameters())
    assert "holds no parameter of the module" in _refused(module, optimizer=other)
    assert "'weight' has element type torch.float64" in _refused(nn.Linear(4, 3).double())


def test_evaluation_mode_needs_no_change_of_dropout() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4)).train()
    model = mnc.torch.export_inference(module, X)
    assert [node.op_type for node in model.graph.node] == ["Gemm", "BatchNormalization"]
    assert module.training and "0.weight" in {tensor.name for tensor in model.graph.initializer}


def test_a_module_that_cannot_be_proven() -> None:
    class Single(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cat([x, x + 1]) if x.dtype == torch.float32 else torch.bmm(x, x)

    with pytest.raises(CompileError) as caught:
        mnc.torch.export_inference(Single(), X)
    text = caught.value.render()
    assert "the module fails in double precision" in text and "operators that take any floating-point type" in text


def test_state_of_python_is_found_out() -> None:
    """A module that counts its calls is traced with one count and judged with another."""

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.calls = nn.Linear(4, 3), 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return self.inner(x) * self.calls

    internal = importlib.import_module("mnc.core.diagnostics").InternalError
    with pytest.raises(internal, match="forward and loss must depend on their inputs only"):
        _step(Counting())


def test_what_is_no_plain_module_loss_or_optimizer() -> None:
    module = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(module.parameters())
    assert "the module is a method, not a torch.nn.Module" in _refused(module.forward, optimizer=optimizer)
    assert "hint: export the module inside: wrapper.module" in _refused(nn.Sequential(nn.DataParallel(module)))
    assert "the optimizer is a str, not a torch.optim.Optimizer" in _refused(module, optimizer="sgd")
    assert "hint: give one such as" in _refused(module, optimizer=[optimizer, optimizer])
    assert "the loss is a float" in _refused(module, loss=0.5)
    unrolled = torch.optim.SGD(module.parameters(), differentiable=True)
    assert "the optimizer is differentiable" in _refused(module, optimizer=unrolled)


def test_parameters_that_forward_changes() -> None:
    class Following(nn.Module):
        """A copy of a layer that follows it, as a parameter or as a buffer."""

        def __init__(self, is_buffer: bool) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)
            first = self.layer.weight.detach().clone()
            if is_buffer:
                self.register_buffer("mean", first)
            else:
                self.mean = nn.Parameter(first, requires_grad=False)

        def forward(self, x: Any) -> Any:
            self.mean.data.mul_(0.9).add_(self.layer.weight.detach(), alpha=0.1)
            return self.layer(x) - x @ self.mean.detach().T.clone()

    assert "hint: register what a step changes as a buffer" in _refused(Following(is_buffer=False))
    assert _step(Following(is_buffer=True)).state == ("mean",)


def test_averages_of_all_batches_are_refused() -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, momentum=None))
    assert "module '1' (BatchNorm1d) averages all batches" in _refused(module)
    _step(module.eval())


LAYOUTS: dict[str, tuple[Any, str]] = {
    "sparse": (lambda: X.to_sparse(), "is a sparse_coo tensor"),
    "compressed": (lambda: X.to_sparse_csr(), "is a sparse_csr tensor"),
    "nested": (lambda: torch.nested.nested_tensor([X, X[:1]]), "is a nested tensor"),
    "without values": (lambda: X.to("meta"), "has no values"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", LAYOUTS)
def test_samples_of_other_kinds_are_refused(name: str) -> None:
    make, words = LAYOUTS[name]
    text = _refused(nn.Linear(4, 3), (make(), Y))
    assert words in text and "hint: " in text


@pytest.mark.parametrize("name", ["", None, 3, b"step", ["step"]])
def test_names_are_refused(name: Any) -> None:
    module = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(module.parameters())
    for export in (
        lambda: mnc.torch.export_inference(module, X, name=name),
        lambda: mnc.torch.export_train_step(module, nn.CrossEntropyLoss(), optimizer, (X, Y), name=name),
    ):
        with pytest.raises(CompileError, match="the name of the graph is"):
            export()


def test_gradients_are_asked_for_by_a_boolean() -> None:
    module = nn.Linear(4, 3)
    with pytest.raises(CompileError, match="gradients is a value of type list"):
        mnc.torch.export_train_step(
            module, nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters()), (X, Y), gradients=["weight"]
        )


@pytest.mark.parametrize("path", [3, None, "", "\0", "no/such/directory/step.onnx", "."])
def test_steps_are_written_where_files_can_be(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    step = _step(nn.Linear(4, 3))
    with pytest.raises(CompileError) as caught:
        step.save(path)
    assert caught.value.hint and not list(tmp_path.iterdir())
    step.save(Path("step.onnx"))
    assert onnx.load("step.onnx") == step.model


def test_a_loss_with_a_trained_parameter_is_refused() -> None:
    """Its updates would be lost without a word."""

    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, scores: Any, labels: Any) -> Any:
            return nn.functional.cross_entropy(scores * self.scale, labels)

    module, loss = nn.Linear(4, 3), Weighted()
    optimizer = torch.optim.SGD([*module.parameters(), *loss.parameters()])
    assert "the optimizer trains the parameter 'scale' of the loss" in _refused(module, loss=loss, optimizer=optimizer)


HOOKS = {
    "gradient": (lambda m, o: m.weight.register_hook(lambda g: g.clamp(-1, 1)), "the gradient of 'weight' goes"),
    "sum": (
        lambda m, o: m.bias.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2)), "the gradient of 'bias' goes",
    ),
    "module": (lambda m, o: m.register_full_backward_hook(lambda *a: None), "has a backward hook"),
    "step": (lambda m, o: o.register_step_pre_hook(lambda *a: None), "the optimizer has a hook on its step"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_that_a_trace_does_not_see(name: str) -> None:
    install, message = HOOKS[name]
    module = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(module.parameters())
    install(module, optimizer)
    assert message in _refused(module, optimizer=optimizer)


def test_parameters_without_a_shape() -> None:
    assert "'weight' has no shape yet" in _refused(nn.LazyLinear(3))


def test_operators_on_functions() -> None:
    class Choice(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))

    with pytest.raises(CompileError) as caught:
        mnc.torch.export_inference(Choice(), (X,))
    assert "choose with torch.where" in caught.value.render()


def _within(context: Any, function: Any, x: Any) -> Any:
    with context:
        return function(x)


def test_an_untraceable_module_tells_why_and_where() -> None:
    text = _refused(Forward(lambda x: x if x.sum() > 0 else -x))
    assert "it depends on the value of a tensor (test_torch_errors.py:" in text and "must not branch" in text
    hooks = torch.autograd.graph.save_on_cpu
    text = _refused(Forward(lambda x: _within(hooks(), torch.tanh, x)))
    assert "it uses hooks on saved tensors" in text and "leave torch.autograd.graph out" in text
    loss = lambda x, y: ((x - nn.functional.one_hot(y)) ** 2).mean()  # noqa: E731
    assert "hint: give num_classes" in _refused(nn.Linear(4, 3), loss=loss)
