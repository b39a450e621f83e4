"""Architectures in PyTorch with random weights, of real widths and few layers: what users bring besides classifiers."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Example = tuple[nn.Module, Tensor]


def _attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return F.softmax(scores if mask is None else scores + mask, -1) @ v


class Block(nn.Module):
    """A transformer block that normalises first; `causal` hides later tokens."""

    mask: Tensor

    def __init__(self, width: int, heads: int, tokens: int, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.tokens, self.causal = heads, tokens, causal
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("mask", torch.full((tokens, tokens), -1e4).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        split = self.qkv(self.first(x)).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = (split[:, :, i].transpose(1, 2) for i in range(3))
        mixed = _attention(q, k, v, self.mask if self.causal else None)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


class LanguageModel(nn.Module):
    """GPT-2: embeddings of tokens and places, causal blocks, logits."""

    def __init__(self, vocabulary: int, tokens: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(0.1 * torch.randn(1, tokens, width))
        self.blocks = nn.Sequential(*(Block(width, heads, tokens, causal=True) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, numbers: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.words(numbers) + self.places)))


class VisionTransformer(nn.Module):
    """ViT that averages its patches."""

    def __init__(self, image: int, patch: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        count = (image // patch) ** 2
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.places = nn.Parameter(0.1 * torch.randn(1, count, width))
        self.blocks = nn.Sequential(*(Block(width, heads, count, causal=False) for _ in range(layers)))
        self.head = nn.Linear(width, 1000)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        return self.head(self.blocks(x + self.places).mean(1))


class Gate(nn.Module):
    """Squeeze and excite."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3), keepdim=True)))))


class InvertedResidual(nn.Module):
    """Wide inside: pointwise, depthwise, perhaps a gate, pointwise; with a residual where shapes allow."""

    def __init__(
        self, channels: tuple[int, int], stride: int, wider: int, kernel: int = 3, *, gate: bool = False
    ) -> None:
        super().__init__()
        inputs, outputs = channels
        inner = inputs * wider
        act = nn.SiLU if gate else nn.ReLU6
        layers: list[nn.Module] = [nn.Conv2d(inputs, inner, 1), act()] if wider > 1 else []
        layers += [nn.Conv2d(inner, inner, kernel, stride, kernel // 2, groups=inner), act()]
        layers += [Gate(inner, max(1, inputs // 4))] if gate else []
        self.layers = nn.Sequential(*layers, nn.Conv2d(inner, outputs, 1))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.residual else self.layers(x)


class ConvNextBlock(nn.Module):
    """Depthwise 7 x 7, normalisation and two dense layers with the channels last, layer scale, residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(0.5 * torch.rand(width))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.down(F.gelu(self.up(inner))) * self.scale).permute(0, 3, 1, 2)


def _head(channels: int, classes: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]


def gpt2() -> Example:
    """Two layers of GPT-2 at its width, 32 tokens, a short vocabulary."""
    return LanguageModel(1000, 32, 768, 12, 2), torch.randint(0, 1000, (1, 32))


def vit_tiny() -> Example:
    """Two layers of ViT-tiny for images of 224 x 224."""
    return VisionTransformer(224, 16, 192, 3, 2), torch.randn(1, 3, 224, 224)


def mobilenet_v2() -> Example:
    """MobileNetV2 for images of 224 x 224, batch normalisation folded."""
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    layers: list[nn.Module] = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU6()]
    inputs = 32
    for wider, outputs, count, stride in table:
        for number in range(count):
            layers.append(InvertedResidual((inputs, outputs), stride if number == 0 else 1, wider))
            inputs = outputs
    layers += [nn.Conv2d(inputs, 1280, 1), nn.ReLU6(), *_head(1280, 1000)]
    return nn.Sequential(*layers), torch.randn(1, 3, 224, 224)


def efficientnet_stem() -> Example:
    """The first four blocks of EfficientNet-B0, images of 96 x 96."""
    blocks = [InvertedResidual((32, 16), 1, 1, gate=True), InvertedResidual((16, 24), 2, 6, gate=True)]
    blocks += [InvertedResidual((24, 24), 1, 6, gate=True), InvertedResidual((24, 40), 2, 6, 5, gate=True)]
    return nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.SiLU(), *blocks, *_head(40, 100)), torch.randn(1, 3, 96, 96)


def convnext_stem() -> Example:
    """A block of each of the first two stages of ConvNeXt-T, images of 96 x 96."""
    layers = [nn.Conv2d(3, 96, 4, 4), ConvNextBlock(96), nn.Conv2d(96, 192, 2, 2), ConvNextBlock(192), *_head(192, 100)]
    return nn.Sequential(*layers), torch.randn(1, 3, 96, 96)


def gan_generator() -> Example:
    """DCGAN's generator for two images of 32 x 32."""
    layers: list[nn.Module] = [nn.ConvTranspose2d(100, 128, 4, 1, 0), nn.ReLU()]
    for channels in (128, 64):
        layers += [nn.ConvTranspose2d(channels, channels // 2, 4, 2, 1), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()), torch.randn(2, 100, 1, 1)


NETWORKS: dict[str, Callable[[], Example]] = {
    network.__name__: network
    for network in (gpt2, vit_tiny, mobilenet_v2, efficientnet_stem, convnext_stem, gan_generator)
}
