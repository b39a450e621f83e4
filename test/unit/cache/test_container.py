"""Entries come back as they were written; what differs from that in any bit is refused."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mnc.cache.container import DamagedEntry, read_contents, write_contents

ARRAYS = hnp.arrays(
    st.sampled_from([np.uint8, np.int32, np.int64, np.float32, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)


def entry(arrays: dict[str, np.ndarray], description: object = "d") -> bytes:
    stream = io.BytesIO()
    write_contents(stream, {"says": description}, arrays)
    return stream.getvalue()


@given(st.dictionaries(st.text(), ARRAYS, max_size=4), st.text())
def test_entries_come_back(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, np.ndarray], text: str) -> None:
    path = tmp_path_factory.mktemp("entry") / "one"
    path.write_bytes(entry(arrays, text))
    found = read_contents(path)
    assert found.description == {"says": text}
    assert list(found.arrays) == list(arrays)
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype and found.arrays[name].shape == array.shape
        assert found.arrays[name].tobytes() == array.tobytes()


def test_arrays_cannot_be_changed(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(entry({"a": np.arange(4)}))
    with pytest.raises(ValueError, match="read-only"):
        read_contents(tmp_path / "one").arrays["a"][0] = 1


def test_damage_is_noticed(tmp_path: Path) -> None:
    whole, path = entry({"a": np.arange(1000, dtype=np.int32), "b": np.ones(16, np.float32)}), tmp_path / "one"
    start = whole.index(np.arange(1000, dtype=np.int32).tobytes())
    for place in [*range(200), start, start + 2000, start + 3999, len(whole) - 64]:
        if whole[place] == 0 and place < start and place > whole.index(b"}]}"):
            continue  # the gap in front of the arrays
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(ValueError):
            read_contents(path)


def test_cut_files_are_noticed(tmp_path: Path) -> None:
    whole, path = entry({"a": np.arange(300, dtype=np.int32)}), tmp_path / "one"
    for length in (0, 1, 8, 19, 20, 100, 200, len(whole) // 2):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedEntry):
            read_contents(path)


def test_objects_are_not_written() -> None:
    with pytest.raises(ValueError, match="no arrays of object"):
        entry({"a": np.array([object()])})
