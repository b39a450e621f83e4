"""Random data of a proof stays where torch gives numbers."""

import importlib
from typing import Any

import numpy as np
import pytest

from mnc.core.diagnostics import CompileError

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
export_inference: Any = importlib.import_module("mnc.torch.inference").export_inference
export_train_step: Any = importlib.import_module("mnc.torch.train_step").export_train_step


def _double_run(step: Any) -> set[int]:
    """Steps whose results were compared, and are numbers other than 0."""
    return {deviation.step for deviation in step.proof.double if deviation.scale > 0}


@pytest.mark.parametrize("label", [0.0, 1.0], ids=["fakes", "real"])
def test_labels_that_are_all_alike(label: float) -> None:
    """As the two losses of a generative network have them: other numbers than 0 to 1 are refused by torch."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    step = export_train_step(module, nn.BCELoss(), optimizer, (torch.rand(4, 3), torch.full((4, 1), label)))
    assert _double_run(step) == {0, 1, 2}


def test_masks_that_leave_nothing() -> None:
    """Half of all masks of one number hide it, and attention to nothing is no number."""
    torch.manual_seed(0)
    module = nn.MultiheadAttention(4, 2, batch_first=True)

    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, x: Any, mask: Any) -> Any:
            return self.inner(x, x, x, key_padding_mask=mask)[0]

    x, mask = torch.rand(5, 2, 4), torch.zeros(5, 2, dtype=torch.bool)
    assert export_inference(Masked(), (x, mask)).graph.output[0].name == "output"
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    step = export_train_step(Masked(), lambda y: y.square().sum(), optimizer, ((x, mask), ()))
    assert _double_run(step) == {0, 1, 2}


def test_a_module_that_refuses_what_the_range_of_a_sample_holds() -> None:
    class Checked(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.log(torch.nn.functional.binary_cross_entropy(torch.sigmoid(x), x.round(), reduction="none"))

    assert export_inference(Checked(), torch.tensor([0.0, 1.0, 1.0, 0.0])).graph.node


def test_results_that_are_no_numbers_in_torch_are_none_in_the_graph() -> None:
    class Root(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.sqrt()

    assert export_inference(Root(), torch.tensor([-1.0, 4.0])).graph.node[0].op_type == "Sqrt"
    with pytest.raises(CompileError, match="nothing but NaN"):
        export_inference(Root(), torch.tensor([-1.0, -4.0]))


@pytest.mark.parametrize(("exact", "single", "found", "passed"), [
    (np.nan, np.nan, np.nan, True), (np.nan, np.nan, 1.0, False), (1.0, 1.0, np.nan, False), (1.0, np.nan, 2.0, True),
    (np.nan, 1.0, np.nan, True),
])  # fmt: skip
def test_rounding_may_decide_whether_it_is_a_number(exact: float, single: float, found: float, passed: bool) -> None:
    """A logarithm near 0, for instance: where torch's precisions disagree, the graph may do as it likes."""
    proof = importlib.import_module("mnc.torch.proof")
    given = [{"loss": np.array(value)} for value in (exact, single, found)]
    (deviation,) = proof.compare_single(*given, 0)
    assert deviation.passed == passed
