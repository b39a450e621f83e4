"""Modules that keep more than parameters and buffers between calls, and checkpoints, which keep less."""

import importlib
import warnings
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
mnc_torch: Any = importlib.import_module("mnc.torch")
checkpoints: Any = importlib.import_module("torch.utils.checkpoint")
parametrizations: Any = importlib.import_module("torch.nn.utils.parametrizations")

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))


def _old(function: Any, *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return function(*arguments)


class Keeping(nn.Module):
    """Keeps the last results, as modules do that show their attention."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.seen, self.last = nn.Linear(4, 3), [], None

    def forward(self, x: Any) -> Any:
        self.last = self.inner(x).relu()
        self.seen = [*self.seen[-1:], self.last]
        return self.last + 1


class Checkpointed(nn.Module):
    """The middle of three layers is computed again for its gradients."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 5), nn.Sequential(nn.Linear(5, 5), nn.Tanh()), nn.Linear(5, 3))
        self.reentrant = reentrant

    def forward(self, x: Any) -> Any:
        y = self.layers[0](x)
        y = checkpoints.checkpoint(self.layers[1], y, use_reentrant=self.reentrant)
        return checkpoints.checkpoint_sequential(self.layers[2:], 1, y, use_reentrant=self.reentrant)


MODULES = {
    "weights of a norm": lambda: nn.Sequential(_old(nn.utils.weight_norm, nn.Linear(4, 5)), nn.Tanh(), nn.Linear(5, 3)),
    "weights of a spectral norm": lambda: nn.Sequential(nn.utils.spectral_norm(nn.Linear(4, 5)), nn.Linear(5, 3)),
    "parametrized by a norm": lambda: parametrizations.weight_norm(nn.Linear(4, 3)),
    "parametrized by a spectral norm": lambda: parametrizations.spectral_norm(nn.Linear(4, 3)),
    "keeping": Keeping,
    "checkpoint": lambda: Checkpointed(reentrant=False),
    "reentrant checkpoint": lambda: Checkpointed(reentrant=True),
}


@pytest.mark.parametrize("name", MODULES)
def test_inference_and_training(name: str) -> None:
    torch.manual_seed(0)
    module = MODULES[name]()
    module(X)
    kept = {key: id(value) for part in module.modules() for key, value in vars(part).items()}
    mnc_torch.export_inference(module, X)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    step = mnc_torch.export_train_step(module, nn.MSELoss(), optimizer, (X, torch.zeros(6, 3)))
    trained = {key for key, value in module.named_parameters()}
    assert set(step.parameters) == trained
    assert kept == {key: id(value) for part in module.modules() for key, value in vars(part).items()}


def test_a_reentrant_checkpoint_of_data_trains_nothing() -> None:
    """As in torch, which warns of it."""

    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            y = checkpoints.checkpoint(self.first, x, use_reentrant=True)
            return self.second(y) + self.first(x)[:, :3].mean()

    module = First()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mnc_torch.export_train_step(module, nn.MSELoss(), optimizer, (X, torch.zeros(6, 3)))


def test_checkpoints_are_left_as_they_were() -> None:
    apply, generator = checkpoints.CheckpointFunction.apply, checkpoints._checkpoint_without_reentrant_generator
    mnc_torch.export_inference(Checkpointed(reentrant=True), X)
    assert checkpoints.CheckpointFunction.apply == apply
    assert checkpoints._checkpoint_without_reentrant_generator is generator
    assert "apply" not in vars(checkpoints.CheckpointFunction)


def test_buffers_and_inputs_that_are_written() -> None:
    """What is written is read behind it, and is no result."""

    class Following(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)
            self.register_buffer("slow", torch.zeros(4, 4))

        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                self.slow.mul_(0.9).add_(self.inner.weight, alpha=0.1)
                x.mul_(2)
            return self.inner(x) - x @ self.slow

    torch.manual_seed(0)
    module, before = Following(), X.clone()
    model = mnc_torch.export_inference(module, X)
    assert [value.name for value in model.graph.output] == ["output"]
    assert torch.equal(X, before) and not module.slow.any()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    step = mnc_torch.export_train_step(module, nn.MSELoss(), optimizer, (X, torch.zeros(6, 4)))
    assert step.state == ("slow",)
