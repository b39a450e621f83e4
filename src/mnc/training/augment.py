"""More training images out of few: every copy is shifted and rotated a little, the same by every seed."""

import numpy as np

LARGEST_ANGLE = np.pi / 12
LARGEST_SHIFT = 1 / 12
"""Of the side of the image."""
_CHUNK = 2048  # images that are moved at once


def _sampled(images: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Linear interpolation of images [n, s, s] at places [n, s, s]; what lies outside is 0."""
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2)))
    top = padded.shape[1] - 2
    y, x = np.clip(y + 1, 0, top), np.clip(x + 1, 0, top)
    low_y, low_x = y.astype(np.int64), x.astype(np.int64)
    share_y, share_x = y - low_y, x - low_x
    number = np.arange(len(images))[:, None, None]
    upper = padded[number, low_y, low_x] * (1 - share_x) + padded[number, low_y, low_x + 1] * share_x
    lower = padded[number, low_y + 1, low_x] * (1 - share_x) + padded[number, low_y + 1, low_x + 1] * share_x
    return upper * (1 - share_y) + lower * share_y


def augmented(images: np.ndarray, labels: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` moved copies of square images [n, s * s] and their labels; every image comes equally often."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.resize(np.arange(len(images)), count))
    angle = rng.uniform(-LARGEST_ANGLE, LARGEST_ANGLE, count)
    side = round(images.shape[1] ** 0.5)
    shift = rng.uniform(-LARGEST_SHIFT, LARGEST_SHIFT, (2, count)) * side
    rows, columns = np.mgrid[:side, :side] - (side - 1) / 2
    result = np.empty((count, side * side), np.float32)
    for start in range(0, count, _CHUNK):
        part = slice(start, start + _CHUNK)
        cosine, sine = (f(angle[part])[:, None, None] for f in (np.cos, np.sin))
        y = cosine * rows - sine * columns + (side - 1) / 2 + shift[0, part, None, None]
        x = sine * rows + cosine * columns + (side - 1) / 2 + shift[1, part, None, None]
        moved = _sampled(images[chosen[part]].reshape(-1, side, side), y, x)
        result[part] = moved.reshape(-1, side * side)
    return result, labels[chosen]
