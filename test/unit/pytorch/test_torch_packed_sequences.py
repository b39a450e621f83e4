"""Recurrent networks over packed sequences, for inference and in training; the export itself proves the numbers."""

import importlib
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
rnn: Any = torch.nn.utils.rnn
mnc_torch: Any = importlib.import_module("mnc.torch")
errors: Any = importlib.import_module("mnc.core.diagnostics")

X = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
LENGTHS = torch.tensor([2, 5, 3])


class Reader(nn.Module):
    """A recurrent network, and a function of the network, the sequences and their lengths."""

    def __init__(self, cells: Any, function: Any) -> None:
        super().__init__()
        self.cells, self.function = cells, function

    def forward(self, x: Any, *lengths: Any) -> Any:
        return self.function(self.cells, x, *lengths)


def _mean(cells: Any, x: Any, lengths: Any) -> Any:
    packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    y, counts = rnn.pad_packed_sequence(cells(packed)[0], batch_first=True, total_length=x.shape[1])
    return y.sum(1) / counts.unsqueeze(1)


def _sorted(cells: Any, x: Any) -> Any:
    """Lengths that are numbers, time first, a state to begin with, and padding that is no zero."""
    begin = torch.full((4, 3, 6), 0.5)
    y, (hidden, memory) = cells(rnn.pack_padded_sequence(x.transpose(0, 1), [5, 4, 1]), (begin, begin * 2))
    y, _ = rnn.pad_packed_sequence(y, padding_value=-1.0, total_length=7)
    return y.sum(0), hidden[1] + memory[2]


def _last(cells: Any, x: Any, lengths: Any) -> Any:
    return cells(rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[1][-1]


def _sequences(cells: Any, x: Any) -> Any:
    """Packed from a list, with a function of all elements before the network."""
    packed = rnn.pack_sequence([x[0], x[1, :3], x[2, :2]])
    y, _ = cells(rnn.PackedSequence(packed.data.tanh(), packed.batch_sizes))
    return rnn.pad_packed_sequence(y, batch_first=True)[0]


def _written(cells: Any, x: Any) -> Any:
    """Lengths that are numbers, none as long as the input; functions of all rows together."""
    y, _ = cells(rnn.pack_padded_sequence(x, [2, 4, 3], batch_first=True, enforce_sorted=False))
    padded, counts = rnn.pad_packed_sequence(y)
    return y.data, y.data.mean(), y.data.max(0)[0], padded.sum(0) / counts.unsqueeze(1), y.data[: y.batch_sizes[0]]


def _as_long(cells: Any, x: Any) -> Any:
    y, _ = cells(rnn.pack_padded_sequence(x, torch.tensor([4, 4, 4]), batch_first=True))
    return (y.data * 3).std(0)


def _in_place(cells: Any, x: Any) -> Any:
    """The rows are changed, whole and in part."""
    y, _ = cells(rnn.pack_padded_sequence(x, [4, 3, 1], batch_first=True))
    y.data.mul_(2)
    y.data[1].add_(1)
    return rnn.pad_packed_sequence(y)[0]


CASES: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "lstm": (lambda: nn.LSTM(4, 6, batch_first=True), _mean, (X, LENGTHS)),
    "gru both ways": (lambda: nn.GRU(4, 3, batch_first=True, bidirectional=True), _mean, (X, LENGTHS)),
    "gru without biases, none as long as the input": (lambda: nn.GRU(4, 6, bias=False), _mean, (X, LENGTHS - 1)),
    "rnn": (lambda: nn.RNN(4, 6, 2, batch_first=True), _last, (X, LENGTHS)),
    "projected": (lambda: nn.LSTM(4, 6, proj_size=3, batch_first=True), _mean, (X, LENGTHS)),
    "both ways, two layers": (lambda: nn.LSTM(4, 6, 2, bidirectional=True), _sorted, (X,)),
    "numbers": (lambda: nn.LSTM(4, 6, 2, batch_first=True), _written, (X,)),
    "numbers, both ways": (lambda: nn.GRU(4, 3, bidirectional=True, batch_first=True), _written, (X,)),
    "numbers, all alike": (lambda: nn.GRU(4, 6, batch_first=True), _as_long, (X,)),
    "written into": (lambda: nn.GRU(4, 6, batch_first=True), _in_place, (X,)),
    "rectified": (lambda: nn.RNN(4, 6, nonlinearity="relu", batch_first=True), _sequences, (X,)),
}  # fmt: skip


def _loss(found: Any, wanted: Any) -> Any:
    return sum(((y - wanted) ** 2).mean() for y in (found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize("name", CASES)
def test_inference_and_training(name: str) -> None:
    make, function, data = CASES[name]
    torch.manual_seed(0)
    module = Reader(make(), function)
    mnc_torch.export_inference(module, data)
    mnc_torch.export_train_step(module, _loss, torch.optim.SGD(module.parameters(), lr=0.1), (data, torch.zeros(1)))


def test_losses_of_packed_labels() -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.scores = nn.GRU(4, 6, batch_first=True), nn.Linear(6, 3)

        def forward(self, x: Any, labels: Any) -> Any:
            packed, wanted = (rnn.pack_padded_sequence(v, [5, 3, 2], batch_first=True) for v in (x, labels))
            return nn.functional.cross_entropy(self.scores(self.cells(packed)[0].data), wanted.data)

    module, labels = Tagger(), torch.arange(15).reshape(3, 5) % 3
    mnc_torch.export_train_step(module, lambda loss: loss, torch.optim.SGD(module.parameters()), ((X, labels), ()))


@pytest.mark.parametrize("function", [lambda y: y.mean(), lambda y: y, lambda y: (y + 1).sum()])
def test_rows_of_open_lengths_are_refused_where_they_count(function: Any) -> None:
    module = Reader(nn.GRU(4, 6), lambda c, x, n: function(
        c(rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False))[0].data
    ))  # fmt: skip
    with pytest.raises(errors.CompileError, match="more in the graph than in torch") as caught:
        mnc_torch.export_inference(module, (X, LENGTHS))
    assert "write the lengths down in forward" in caught.value.hint
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with pytest.raises(errors.CompileError, match="more in the graph than in torch"):
        mnc_torch.export_train_step(module, lambda y: (y + 1).sum() ** 2, optimizer, ((X, LENGTHS), ()))


def test_steps_that_no_sequence_has() -> None:
    """Torch cuts them off; the result has another shape then for other lengths."""
    module = Reader(nn.GRU(4, 6), lambda c, x, n: rnn.pad_packed_sequence(
        c(rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False))[0]
    ))  # fmt: skip
    mnc_torch.export_inference(module, (X, LENGTHS))
    with pytest.raises(errors.CompileError, match="has 4 steps of 5: cut off the others"):
        mnc_torch.export_inference(module, (X, LENGTHS - 1))


def test_dropout_between_layers() -> None:
    module = Reader(nn.LSTM(4, 6, 2, dropout=0.5, batch_first=True), _mean)
    mnc_torch.export_inference(module, (X, LENGTHS))
    optimizer = torch.optim.SGD(module.parameters())
    with pytest.raises(errors.CompileError, match="drops out between its layers"):
        mnc_torch.export_train_step(module, nn.MSELoss(), optimizer, ((X, LENGTHS), torch.zeros(3, 6)))
