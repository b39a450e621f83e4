"""What surrounds an export, and what is compiled by torch.compile, changes nothing about it."""

import importlib
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
mnc_torch: Any = importlib.import_module("mnc.torch")
errors: Any = importlib.import_module("mnc.core.diagnostics")

X, Y = torch.rand(5, 6, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 2, 1, 1, 0])


def _plain() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def _step(module: Any, loss: Any = None) -> Any:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    return mnc_torch.export_train_step(module, nn.CrossEntropyLoss() if loss is None else loss, optimizer, (X, Y)).model


def _anomalies() -> Any:
    return torch.autograd.set_detect_anomaly(True, check_nan=False)


@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode, lambda: torch.device("meta"), _anomalies])
def test_contexts_of_the_caller(around: Any) -> None:
    module = _plain()
    with around():
        before = torch.get_default_device()
        found, inference = _step(module), mnc_torch.export_inference(module, X)
        assert torch.get_default_device() == before
    assert found == _step(module) and inference == mnc_torch.export_inference(module, X)


def test_compiled_modules_are_exported_as_they_are_written() -> None:
    module = _plain()
    wanted = _step(module)
    assert _step(torch.compile(module)) == wanted
    assert mnc_torch.export_inference(torch.compile(module), X) == mnc_torch.export_inference(module, X)
    module.compile()
    assert _step(module) == wanted


class Around(nn.Module):
    """A module inside of another one, and a function of what it gives."""

    def __init__(self, inner: Any, function: Any) -> None:
        super().__init__()
        self.inner, self.function = inner, function

    def forward(self, x: Any) -> Any:
        return self.function(self.inner(x))


def test_compiled_parts_are_called_as_they_are_written() -> None:
    parts = Around(torch.compile(_plain()), torch.compile(lambda x: x.sin() * 2))
    plain = Around(_plain(), lambda x: x.sin() * 2)
    found, wanted = _step(parts, torch.compile(nn.CrossEntropyLoss())), _step(plain)
    assert [node.op_type for node in found.graph.node] == [node.op_type for node in wanted.graph.node]


def _flexible(x: Any) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(x, x, x)


def _repeated(x: Any) -> Any:
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))[1]


FUNCTIONS: dict[str, tuple[Any, str]] = {
    "cond": (lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), "choose with torch.where"),
    "flex_attention": (_flexible, "use torch.nn.functional.scaled_dot_product_attention"),
    "while_loop": (_repeated, "write a loop in Python"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operators_on_functions_are_told_what_to_write(name: str) -> None:
    function, hint = FUNCTIONS[name]
    with pytest.raises(errors.CompileError, match=f"operator on functions, {name}") as caught:
        mnc_torch.export_inference(Around(nn.Identity(), function), torch.rand(1, 2, 8, 4))
    assert hint in caught.value.hint


class Lists(nn.Module):
    """Functions of lists of tensors, with lists, numbers and tensors, in place and not."""

    def forward(self, a: Any, b: Any) -> Any:
        given = [a * 1, b * 1]
        norm = nn.utils.get_total_norm(given)
        found = torch._foreach_add(given, [b, a], alpha=2)
        torch._foreach_mul_(found, norm)
        torch._foreach_lerp_(found, given, 0.3)
        torch._foreach_addcdiv_(found, given, [b + 2, a + 2], value=0.5)
        roots = torch._foreach_sqrt(torch._foreach_abs(found))
        torch._foreach_clamp_max_(roots, 0.9)
        return (*found, *roots, *torch._foreach_norm(found, 1))


def test_functions_of_lists() -> None:
    mnc_torch.export_inference(Lists(), (X, X - 0.5))
