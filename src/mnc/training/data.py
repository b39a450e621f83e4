"""Data sets of images with integer labels, checked before anything is computed with them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.core.npz import UNREADABLE, open_npz
from mnc.training.augment import augmented
from mnc.training.idx import find_idx, read_idx

_BYTE_MAXIMUM = 255.0
_KEYS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True)
class Dataset:
    """Images [n, elements] as float32 and labels [n] as int32, for training and for testing."""

    name: str
    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray

    @property
    def elements(self) -> int:
        """Numbers per image."""
        return self.train_images.shape[1]

    def check_classes(self, classes: int) -> None:
        """Raise CompileError unless all labels lie in 0 .. classes - 1."""
        for part, labels in (("training", self.train_labels), ("test", self.test_labels)):
            wrong = np.flatnonzero((labels < 0) | (labels >= classes))
            if len(wrong):
                message = f"{part} label {wrong[0]} is {labels[wrong[0]]}, but the model has classes 0 to {classes - 1}"
                if len(wrong) > 1:
                    message += f" ({len(wrong)} labels are outside)"
                raise CompileError(message, hint="give the model as many outputs as there are classes")


def checked(name: str, parts: dict[str, np.ndarray]) -> Dataset:
    """A data set of these arrays, converted and checked.

    Raises:
        CompileError: shapes that do not fit together, no images, labels that are no integers, NaN or infinity.
    """
    made = {}
    for part in ("train", "test"):
        images, labels = np.asarray(parts[f"{part}_images"]), np.asarray(parts[f"{part}_labels"])
        made[f"{part}_images"] = _images(name, f"{part}_images", images)
        made[f"{part}_labels"] = _labels(name, f"{part}_labels", labels, len(images))
    elements = {part: made[f"{part}_images"].shape[1] for part in ("train", "test")}
    if elements["train"] != elements["test"]:
        message = f"{name}: training images have {elements['train']} elements, test images {elements['test']}"
        raise CompileError(message)
    return Dataset(name, **made)


def _images(name: str, key: str, images: np.ndarray) -> np.ndarray:
    if images.ndim < 2 or images.dtype.kind not in "fiub" or not images.size:
        message = f"{name}: {key} is {images.dtype}{list(images.shape)}, expected numbers of shape [n, ...] with n > 0"
        raise CompileError(message)
    with np.errstate(over="ignore"):
        flat = images.reshape(len(images), -1).astype(np.float32)
    wrong = np.argwhere(~np.isfinite(flat))
    if len(wrong):
        where = f"image {wrong[0][0]}, element {wrong[0][1]}"
        too_large = np.isfinite(images.reshape(flat.shape)[~np.isfinite(flat)]).any()
        kind = "NaN, infinite or beyond float32" if too_large else "NaN or infinite"
        message = f"{name}: {key} holds {len(wrong)} values that are {kind}, the first in {where}"
        raise CompileError(message, hint="clean the data; one such value destroys every parameter")
    return flat


def _labels(name: str, key: str, labels: np.ndarray, count: int) -> np.ndarray:
    if labels.shape != (count,):
        hint = "labels are one class number per image" + (": labels.argmax(1)" if labels.ndim == 2 else "")
        raise CompileError(f"{name}: {key} has shape {list(labels.shape)}, but there are {count} images", hint=hint)
    if labels.dtype.kind not in "iu":
        hint = "labels are class numbers: convert them with labels.astype(numpy.int32)"
        raise CompileError(f"{name}: {key} is {labels.dtype}, expected integers", hint=hint)
    return np.clip(labels, -(2**31), 2**31 - 1).astype(np.int32)


def resize(images: np.ndarray, side: int) -> np.ndarray:
    """Square images [n, s * s] scaled to [n, side * side] by linear interpolation between pixel centres.

    Raises:
        CompileError: the images are not square, or `side` is not positive.
    """
    old = round(images.shape[1] ** 0.5)
    if side < 1 or old * old != images.shape[1]:
        raise CompileError(f"cannot scale images of {images.shape[1]} elements to {side}x{side}")
    if side == old:
        return images
    place = np.clip((np.arange(side) + 0.5) * old / side - 0.5, 0, old - 1)
    low = np.minimum(place.astype(np.int64), max(old - 2, 0))
    high = np.minimum(low + 1, old - 1)
    share = (place - low).astype(np.float32)
    square = images.reshape(-1, old, old)
    rows = square[:, low] * (1 - share)[:, None] + square[:, high] * share[:, None]
    both = rows[:, :, low] * (1 - share) + rows[:, :, high] * share
    return both.reshape(len(images), side * side).astype(np.float32)


def _resized(data: Dataset, side: int | None) -> Dataset:
    if side is None:
        return data
    train, test = resize(data.train_images, side), resize(data.test_images, side)
    return Dataset(data.name, train, data.train_labels, test, data.test_labels)


def load_digits(image_size: int | None = None, seed: int = 0) -> Dataset:
    """The 1,797 handwritten digits of scikit-learn (8x8 pixels), split 80:20 by `seed`, scaled to `image_size`."""
    from mnc.digits import load_digits as load

    digits = load(seed)
    arrays = (digits.train_images, digits.train_labels, digits.test_images, digits.test_labels)
    return _resized(checked("digits", dict(zip(_KEYS, arrays, strict=True))), image_size)


AUGMENTED = 60_000
"""Training images of `load_augmented_digits`, as many as MNIST has."""


def load_augmented_digits(image_size: int | None = None, seed: int = 0, count: int = AUGMENTED) -> Dataset:
    """`load_digits` with `count` moved copies of its training images; the test images stay as they are."""
    data = load_digits(image_size, seed)
    images, labels = augmented(data.train_images, data.train_labels, count, seed)
    return Dataset("digits-augmented", images, labels, data.test_images, data.test_labels)


def load_mnist(directory: Path | str, image_size: int | None = None) -> Dataset:
    """MNIST from its four IDX files, pixels in 0..1.

    Raises:
        CompileError: a file is missing or damaged.
    """
    root, parts = Path(directory), {}
    for part, prefix in (("train", "train"), ("test", "t10k")):
        images = read_idx(find_idx(root, f"{prefix}-images-idx3-ubyte"), 3)
        parts[f"{part}_images"] = images.astype(np.float32) / _BYTE_MAXIMUM
        parts[f"{part}_labels"] = read_idx(find_idx(root, f"{prefix}-labels-idx1-ubyte"), 1)
    return _resized(checked("mnist", parts), image_size)


def load_npz(path: Path | str, image_size: int | None = None, seed: int = 0, test_share: float = 0.2) -> Dataset:
    """A user's file with ``images`` and ``labels`` (split here by `seed`) or ``train_images`` ... ``test_labels``.

    Raises:
        CompileError: the file is unreadable or lacks these arrays.
    """
    try:
        with open_npz(path) as file:
            arrays = {key: file[key] for key in file.files}
    except UNREADABLE as error:
        raise CompileError(f"cannot read '{path}' as a .npz file: {error}", hint="save it with numpy.savez") from None
    if {"images", "labels"} <= set(arrays):
        arrays = _split(str(path), arrays["images"], arrays["labels"], seed, test_share)
    if missing := [key for key in _KEYS if key not in arrays]:
        hint = f"save images and labels, or {', '.join(_KEYS)}; there are: {', '.join(arrays) or 'none'}"
        raise CompileError(f"'{path}' has no array '{missing[0]}'", hint=hint)
    return _resized(checked(str(path), arrays), image_size)


def _split(name: str, images: np.ndarray, labels: np.ndarray, seed: int, share: float) -> dict[str, np.ndarray]:
    images = _images(name, "images", images)  # before the order changes, so that messages count as the file does
    count = len(images)
    _labels(name, "labels", labels, count)
    if count < 2:
        message = f"{name}: {count} image cannot be split into training and test images"
        raise CompileError(message, hint=f"give more images, or {', '.join(_KEYS)}")
    order = np.random.default_rng(seed).permutation(count)
    cut = min(max(int(count * (1 - share)), 1), count - 1)
    return dict(zip(_KEYS, (images[order[:cut]], labels[order[:cut]], images[order[cut:]], labels[order[cut:]]),
                    strict=True))  # fmt: skip
