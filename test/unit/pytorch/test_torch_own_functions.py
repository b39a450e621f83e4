"""Functions with a backward part of their own, which no derivative of the forward part is; exports prove them."""

import importlib
from typing import Any

import pytest

from mnc.core.diagnostics import CompileError

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
exports: Any = importlib.import_module("mnc.torch")
nn: Any = torch.nn


class Sign(torch.autograd.Function):
    """The gradient passes where the argument is small, scaled by a number."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: float) -> Any:
        ctx.scale = scale
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g[0] * ctx.scale * (x.abs() < 1), None


class Pair(torch.autograd.Function):
    """Two results; one of them is kept, and nothing in the place of another tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        power = x.exp()
        ctx.save_for_backward(power, None, y)
        return power, (x * y).round()

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        power, nothing, y = ctx.saved_tensors
        assert nothing is None and ctx.needs_input_grad == (True, True)
        return g[0] * power + 2 * g[1], g[1] * y


class Cube(torch.autograd.Function):
    """In the form that torch.func takes; its gradient is another function's."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return 5 * g[0] * ctx.saved_tensors[0]


class Behind(nn.Module):
    """A function of what a layer gives; its method was taken before anything is traced."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.function = nn.Linear(4, 4), function

    def forward(self, x: Any) -> Any:
        return self.function(self.inner(x))


X = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
sign, pair, cube = Sign.apply, Pair.apply, Cube.apply
FUNCTIONS: dict[str, Any] = {
    "one": lambda x: sign(x, 0.3),
    "two": lambda x: sum(pair(x, x.flip(0))),
    "one of two": lambda x: pair(x, x.flip(0))[0],
    "of today": cube,
    "together": lambda x: sign(cube(x) + x, 2.0) + cube(sign(x, 0.5) + x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inference_and_training(name: str) -> None:
    module = Behind(FUNCTIONS[name])
    exports.export_inference(module, X)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    exports.export_train_step(module, nn.MSELoss(), optimizer, (X, torch.zeros(5, 4)))


def test_gradients_that_a_module_takes() -> None:
    exports.export_inference(Behind(torch.func.grad(lambda x: cube(x).sum())), X)


def test_torch_is_as_before() -> None:
    exports.export_inference(Behind(FUNCTIONS["one"]), X)
    with pytest.raises(RuntimeError, match="setup_context"):
        torch.func.grad(lambda x: sign(x, 1.0).sum())(X)


def test_arguments_that_change() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, *g: Any) -> Any:
            return 2 * g[0]

    with pytest.raises(CompileError, match="changes its arguments in place") as caught:
        exports.export_inference(Behind(lambda x: Doubled.apply(x.clone())), X)
    assert caught.value.hint == "return a new tensor"
