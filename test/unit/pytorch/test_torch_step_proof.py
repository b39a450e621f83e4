"""What a proof of an export costs, and that it compares different memory."""

import importlib
import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from mnc.core.diagnostics import InternalError

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
export: Any = importlib.import_module("mnc.torch").export_train_step
proof: Any = importlib.import_module("mnc.torch.proof")
step_proof: Any = importlib.import_module("mnc.torch.step_proof")


def _peak(function: Any) -> int:
    """Bytes of numpy arrays that live at once while `function` runs."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_values_are_dropped_behind_their_last_reader() -> None:
    count, size = 40, 1 << 16
    names = [f"v{i}" for i in range(count + 1)]
    nodes = [helper.make_node("Sin", [a], [b]) for a, b in itertools.pairwise(names)]
    first, last = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name in (names[0], names[-1]))
    model = helper.make_model(helper.make_graph(nodes, "chain", [first], [last]))
    runner, x = proof.Runner(model), np.ones(size, np.float32)
    assert _peak(lambda: runner.run({"v0": x})) < 5 * x.nbytes


def test_a_proof_holds_one_step_at_a_time() -> None:
    """Results in double precision are parameters, momenta, gradients: 24 bytes a parameter. The first step converts
    what it starts from: 16. What is returned as start is 8. Three steps at once are more than twice that."""
    torch.manual_seed(0)
    module = nn.Sequential(*(nn.Linear(256, 256) for _ in range(16)))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
    count = sum(value.numel() for value in module.parameters())
    sample = (torch.rand(2, 256), torch.zeros(2, dtype=torch.int64))
    export(module, nn.CrossEntropyLoss(), optimizer, sample)  # whatever is made once
    assert _peak(lambda: export(module, nn.CrossEntropyLoss(), optimizer, sample)) < 60 * count


def test_a_proof_runs_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    original = proof.Runner.run
    monkeypatch.setattr(proof.Runner, "run", lambda *a: seen.append(torch.get_num_threads()) or original(*a))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        module = nn.Linear(3, 2)
        export(module, nn.MSELoss(), torch.optim.SGD(module.parameters()), (torch.rand(4, 3), torch.rand(4, 2)))
        assert set(seen) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_state_that_is_passed_on_unchanged_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph's result would then be torch's own tensor, which torch updates before they are compared."""
    table = importlib.import_module("mnc.torch.operators").OPERATORS
    monkeypatch.setitem(table, "sub", lambda c: c.op("Reshape", c.operand("self"), c.writer.ints(c.shape)))
    module = nn.Linear(3, 2)
    with pytest.raises(InternalError, match=r"'weight\.updated' differs"):
        sample = (torch.rand(4, 3), torch.rand(4, 2))
        export(module, lambda x, y: (x * y).mean(), torch.optim.SGD(module.parameters(), 0.1), sample)
