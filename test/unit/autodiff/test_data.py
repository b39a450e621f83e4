"""Data sets: what is read, and every way in which files and arrays can be wrong."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from mnc.core.diagnostics import CompileError
from mnc.training.augment import augmented
from mnc.training.data import checked, load_digits, load_mnist, load_npz, resize
from mnc.training.idx import read_idx

IMAGES = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


def idx(array: np.ndarray, kind: int = 8) -> bytes:
    return bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


ZIPPED = gzip.compress(idx(IMAGES), mtime=0)


def write_mnist(directory: Path, compress: bool) -> None:
    for part, count in (("train", 6), ("t10k", 4)):
        images = np.full((count, 28, 28), 255, np.uint8)
        files = {f"{part}-images-idx3-ubyte": images, f"{part}-labels-idx1-ubyte": np.arange(count, dtype=np.uint8)}
        for name, array in files.items():
            data = gzip.compress(idx(array)) if compress else idx(array)
            (directory / (f"{name}.gz" if compress else name)).write_bytes(data)


@pytest.mark.parametrize("compress", [False, True])
def test_mnist(tmp_path: Path, compress: bool) -> None:
    write_mnist(tmp_path, compress)
    data = load_mnist(tmp_path)
    assert data.train_images.shape == (6, 784) and data.train_images.max() == 1.0
    np.testing.assert_array_equal(data.test_labels, [0, 1, 2, 3])
    assert load_mnist(tmp_path, 32).elements == 1024


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"hello world", "no IDX file"),
        (b"", "no IDX file"),
        (idx(IMAGES)[:-1], "announces 2x3x3 = 18 bytes but holds 17"),
        (idx(IMAGES) + b"x", "holds 19"),
        (idx(IMAGES)[:9], "ends inside its header"),
        (bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**31, 2**31, 4), "x2147483648x4 = 18446744073709551616 bytes"),
        (idx(IMAGES, kind=13), "type 0x0d in 3 dimensions"),
        (idx(IMAGES[0]), "in 2 dimensions, expected"),
        (ZIPPED[:-9], "cannot read"),
        (ZIPPED[:12] + b"\x07" + ZIPPED[13:], "cannot read"),
    ],
    ids=["text", "empty", "short", "long", "header", "huge", "floats", "rank", "truncated gzip", "damaged gzip"],
)
def test_corrupt_idx(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "images"
    path.write_bytes(data)
    with pytest.raises(CompileError, match=message) as caught:
        read_idx(path, 3)
    assert caught.value.hint


def test_names_of_idx_files_in_any_case(tmp_path: Path) -> None:
    write_mnist(tmp_path, compress=True)
    for path in list(tmp_path.iterdir()):
        path.rename(tmp_path / path.name.upper().replace("-IDX", ".IDX"))
    assert load_mnist(tmp_path).elements == 784


def test_missing_idx(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="cannot read directory"):
        load_mnist(tmp_path / "nowhere")
    with pytest.raises(CompileError, match="there is no 'train-images-idx3-ubyte'"):
        load_mnist(tmp_path)


def parts(images: np.ndarray | None = None, labels: np.ndarray | None = None) -> dict[str, np.ndarray]:
    images = np.zeros((4, 2, 2), np.float32) if images is None else images
    labels = np.arange(4) if labels is None else labels
    test = {"test_images": np.zeros((1, 4)), "test_labels": np.zeros(1, int)}
    return {"train_images": images, "train_labels": labels, **test}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"images": np.array([[0, 0, np.nan, np.inf]] * 4)}, "8 values that are NaN or infinite, .* element 2"),
        ({"images": np.array([[0, 0, 1e300, np.inf]] * 4)}, "8 values that are NaN, infinite or beyond float32"),
        ({"labels": np.eye(4, dtype=int)}, "but there are 4 images"),
        ({"images": np.zeros((4, 5))}, "training images have 5 elements, test images 4"),
        ({"images": np.zeros(4)}, r"float64\[4\], expected numbers of shape"),
        ({"images": np.zeros((0, 4))}, "n > 0"),
        ({"images": np.array([["a"] * 4] * 4)}, "expected numbers"),
        ({"labels": np.arange(3)}, "but there are 4 images"),
        ({"labels": np.arange(4.0)}, "expected integers"),
    ],
)
def test_wrong_arrays(changed: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        checked("set", parts(**changed))


def test_labels_out_of_range() -> None:
    data = checked("set", parts(labels=np.array([0, 1, 7, -1])))
    with pytest.raises(CompileError, match=r"training label 2 is 7, but the model has classes 0 to 2 \(2 labels"):
        data.check_classes(3)
    # A label beyond 32 bits must not wrap around into the range.
    with pytest.raises(CompileError, match="training label 0 is 2147483647"):
        checked("set", parts(labels=np.array([2**32, 0, 0, 0]))).check_classes(3)


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, images=np.arange(40.0).reshape(10, 4), labels=np.arange(10))
    data = load_npz(path, seed=3)
    assert len(data.train_images) == 8 and len(data.test_images) == 2
    np.testing.assert_array_equal(data.train_images[:, 0], 4.0 * data.train_labels)
    np.savez(path, pictures=np.zeros(3))
    with pytest.raises(CompileError, match="no array 'train_images'") as caught:
        load_npz(path)
    assert "pictures" in str(caught.value.hint)


@pytest.mark.parametrize("damage", ["noise", "truncated", "flipped", "pickle", "missing"])
def test_corrupt_npz(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, images=np.zeros((10, 4)), labels=np.arange(10))
    whole = path.read_bytes()
    changed = {
        "noise": b"no archive", "truncated": whole[: len(whole) // 2],
        "flipped": whole[:100] + bytes([whole[100] ^ 255]) + whole[101:],
    }  # fmt: skip
    if damage == "pickle":
        np.savez(path, images=np.array([{}], object), labels=np.arange(1))
    elif damage == "missing":
        path.unlink()
    else:
        path.write_bytes(changed[damage])
    with pytest.raises(CompileError, match="cannot read"):
        load_npz(path)


def test_digits_are_split_by_the_seed() -> None:
    first, second, other = load_digits(), load_digits(), load_digits(seed=1)
    np.testing.assert_array_equal(first.train_images, second.train_images)
    assert not np.array_equal(first.train_labels, other.train_labels)
    assert (len(first.train_labels), len(first.test_labels), first.elements) == (1437, 360, 64)


def test_augmented_digits_are_moved_copies() -> None:
    rng = np.random.default_rng(0)
    images = np.zeros((5, 12, 12), np.float32)
    images[:, 4:8, 4:8] = rng.uniform(0.5, 1, (5, 4, 4))
    labels = np.arange(5, dtype=np.int32)
    moved, classes = augmented(images.reshape(5, -1), labels, 50, seed=3)
    assert (np.bincount(classes) == 10).all() and moved.dtype == np.float32
    sums = images.sum((1, 2))[classes]
    np.testing.assert_allclose(moved.sum(1), sums, rtol=0.1)  # nothing leaves the image, interpolation smears a little
    assert len(np.unique(moved, axis=0)) == 50
    again, _ = augmented(images.reshape(5, -1), labels, 50, seed=3)
    assert again.tobytes() == moved.tobytes()
    centre = (moved.reshape(-1, 12, 12).sum(0) * np.arange(12)[:, None]).sum() / moved.sum()
    assert abs(centre - 5.5) < 0.3


def test_resize_keeps_linear_images() -> None:
    """Between the centres of the outer pixels a ramp stays a ramp; constants stay constant."""
    ramp = np.tile(np.arange(8, dtype=np.float32), (8, 1)).reshape(1, 64)
    wide = resize(ramp, 32).reshape(32, 32)
    np.testing.assert_allclose(np.diff(wide[5])[2:-2], 0.25, rtol=1e-6)
    np.testing.assert_array_equal(resize(np.ones((1, 64), np.float32), 28), np.ones((1, 784)))
    with pytest.raises(CompileError, match="cannot scale images of 60 elements"):
        resize(np.zeros((1, 60), np.float32), 28)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (IMAGES[:0], [], r"images is uint8\[0, 3, 3\]"),
        (IMAGES[:1], [0], "1 image cannot be split"),
        (IMAGES[0, 0], [0, 1, 2], r"images is uint8\[3\]"),
        (IMAGES, [0], r"labels has shape \[1\], but there are 2 images"),
        (np.where(np.arange(18).reshape(2, 3, 3) == 13, np.nan, 0), [0, 1], "the first in image 1, element 4"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_npz_that_cannot_be_split(
    tmp_path: Path, images: np.ndarray, labels: list[int], message: str, seed: int
) -> None:
    """Whatever the order of the split: images are counted as in the file."""
    np.savez(tmp_path / "data.npz", images=images, labels=np.array(labels, np.int64))
    with pytest.raises(CompileError, match=message):
        load_npz(tmp_path / "data.npz", seed=seed)


def test_two_images_are_enough(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", images=IMAGES, labels=np.array([0, 1]))
    data = load_npz(tmp_path / "data.npz")
    assert (len(data.train_images), len(data.test_images)) == (1, 1)
