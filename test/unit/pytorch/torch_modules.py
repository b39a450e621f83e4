"""Modules whose training steps are exported, by a name of what they show: module, shape of a batch."""

import importlib
from typing import Any

torch: Any = importlib.import_module("torch")
nn: Any = torch.nn


class Averaging(nn.Module):
    """Follows the mean of its input by a buffer that it replaces, and writes into its input."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 3)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        x.mul_(2)
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return self.inner(x - self.mean)


class Recurrent(nn.Module):
    """Scores from the last state of a recurrent network."""

    def __init__(self, cells: Any, width: int) -> None:
        super().__init__()
        self.cells, self.scores = cells, nn.Linear(width, 3)

    def forward(self, x: Any) -> Any:
        return self.scores(self.cells(x)[0][:, -1])


class Translating(nn.Module):
    """Encoder and decoder over the same sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer, self.scores = nn.Transformer(8, 2, 1, 1, 8, dropout=0.0, batch_first=True), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.scores(self.transformer(x, x.flip(1))[:, 0])


class Converting(nn.Module):
    """Converts to single precision whatever its own, and has tensors that are neither parameter nor buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.turn, self.taps = nn.Linear(5, 3), torch.eye(4, 5), torch.tensor([[[0.5, 1.0, 0.5]]])

    def forward(self, x: Any) -> Any:
        sides = nn.functional.one_hot((x[:, 0] > 0).long(), 5).float()
        smooth = nn.functional.conv1d(x[:, None], self.taps, padding=1)[:, 0]
        return self.inner(smooth @ self.turn + sides) + sides @ self.inner.weight.t()


class Turning(nn.Module):
    """Angles, distances, diagonals and rotations of what it learns."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.places = nn.Linear(4, 6), nn.Parameter(torch.randn(3, 6))

    def forward(self, x: Any) -> Any:
        y = self.inner(x)
        far = torch.cdist(y, self.places) + torch.cdist(y, self.places, 1) + torch.cdist(y, self.places, torch.inf)
        angles = torch.atan2(y, y.roll((1, 2), (0, 1))) + torch.hypot(y, y.roll(1)) + y.atan().fmod(0.3)
        sizes = (far + 1).log2() + (0.1 * far).exp2() + far.erfc() + (far + 1).log10()
        return sizes + angles[:, :3] + (y @ self.places.t()).diagonal(-1)[:3] + y.diagonal(1)[:3]


def _image(*layers: Any) -> Any:
    return nn.Sequential(nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), *layers, nn.Flatten())


MODULES = {
    "turning": (Turning, (6, 4)),
    "converting": (Converting, (6, 4)),
    "averaging": (Averaging, (6, 4)),
    "lstm": (lambda: Recurrent(nn.LSTM(4, 5, batch_first=True), 5), (2, 3, 4)),
    "gru both ways": (lambda: Recurrent(nn.GRU(4, 3, bidirectional=True, batch_first=True), 6), (2, 3, 4)),
    "translating": (Translating, (2, 3, 8)),
    "alexnet's pool": (lambda: _image(nn.AdaptiveAvgPool2d((4, 3))), (2, 1, 6, 5)),
    "largest": (lambda: _image(nn.AdaptiveMaxPool2d((3, 1))), (2, 1, 6, 5)),
    "ceiling": (lambda: _image(nn.AvgPool2d(3, 2, padding=1, ceil_mode=True)), (2, 1, 6, 5)),
    "divisor": (lambda: _image(nn.AvgPool2d(2, divisor_override=3)), (2, 1, 6, 5)),
    "nearest": (lambda: _image(nn.Upsample(scale_factor=2)), (2, 1, 3, 4)),
    "between": (lambda: _image(nn.Upsample(size=(5, 4))), (2, 1, 3, 4)),
    "bilinear": (lambda: _image(nn.Upsample(scale_factor=2, mode="bilinear")), (2, 1, 3, 4)),
    "bicubic": (lambda: _image(nn.Upsample(scale_factor=1.5, mode="bicubic")), (2, 1, 3, 4)),
    "corners": (lambda: _image(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)), (2, 1, 3, 4)),
    "volume": (
        lambda: nn.Sequential(nn.Conv3d(1, 2, 2), nn.MaxPool3d(2), nn.AvgPool3d(2, 1), nn.Flatten()), (2, 1, 5, 5, 5),
    ),
    "responses": (lambda: _image(nn.LocalResponseNorm(2)), (2, 1, 3, 4)),
    "tracked": (lambda: _image(nn.InstanceNorm2d(2, track_running_stats=True)), (3, 1, 3, 4)),
    "mirrored": (lambda: _image(nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect")), (2, 1, 3, 4)),
    "bordered": (lambda: _image(nn.Conv2d(2, 2, 3, padding=1, padding_mode="replicate")), (2, 1, 3, 4)),
    "around": (lambda: _image(nn.CircularPad2d((1, 2, 0, 1))), (2, 1, 3, 4)),
    "patches": (lambda: _image(nn.Unfold(2)), (2, 1, 3, 4)),
    "shrinking": (lambda: nn.Sequential(nn.Linear(4, 6), nn.Hardshrink(0.1), nn.Softshrink(0.1)), (3, 4)),
    "epsilon of its own": (lambda: nn.Sequential(nn.Linear(4, 6), nn.Tanhshrink(), nn.RMSNorm(6)), (3, 4)),
}  # fmt: skip
