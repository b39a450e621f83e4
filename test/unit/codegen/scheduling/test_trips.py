"""Trips: parts of tensors in DRAM have places of their own, and statements get the addresses of theirs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.trips import Slice, Trips, Window, gap
from mnc.mncore_backend.program import Buffer
from mnc.mncore_backend.program.dram_image import DramImage


def buffer(name: str, base: int, size: int) -> Buffer:
    return Buffer(name, size, (Memory.DRAM,), 64, Memory.DRAM, base, pinned=True)


def image(own: Buffer, shape: tuple[int, ...]) -> DramImage:
    """All elements in order, in group 0, two to a long word."""
    index = np.full((4, own.size, 2), -1, np.int32)
    count = int(np.prod(shape))
    index[0].reshape(-1)[:count] = np.arange(count)
    return DramImage(own, shape, index, (0,))


@st.composite
def parts(draw: st.DrawFn) -> tuple[Slice, tuple[int, ...]]:
    """Parts of one shape of a tensor, which may overlap and come in any order."""
    whole = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    shape = tuple(draw(st.integers(1, extent)) for extent in whole)
    count = draw(st.integers(1, 5))
    starts = [tuple(draw(st.integers(0, e - s)) for e, s in zip(whole, shape, strict=True)) for _ in range(count)]
    return Slice(whole, tuple(starts)), shape


@given(parts())
def test_elements_are_those_of_the_slice(given_parts: tuple[Slice, tuple[int, ...]]) -> None:
    part, shape = given_parts
    whole = np.arange(np.prod(part.whole)).reshape(part.whole)
    for trip, starts in enumerate(part.starts):
        box = tuple(slice(start, start + size) for start, size in zip(starts, shape, strict=True))
        assert np.array_equal(part.elements(trip, shape), whole[box].reshape(-1))


@given(parts())
def test_every_trip_finds_its_part(given_parts: tuple[Slice, tuple[int, ...]]) -> None:
    part, shape = given_parts
    other, own = buffer("other", 0, 64), buffer("x", 64, 64)
    trips = Trips(len(part.starts), [other, own], [(image(own, shape), part), (image(other, (3,)), None)])
    made = trips.image(image(own, shape), part)
    assert made.buffer.base is not None
    tensor = np.arange(1, 1 + np.prod(part.whole), dtype=np.int32).reshape(part.whole)
    dram = np.zeros(made.buffer.base + made.buffer.size, np.uint64)
    (longs,) = made.pack(tensor).values()
    for offset, place in made.parts:
        dram[made.buffer.base + offset :][: place.stop - place.start] = longs[place]
    texts = list(trips.lines(["mvp/n64i01 $d64 $lc0", "nop; wait i01", "mvp/n64i02 $d0 $lc0"]))
    assert texts[3::4] == [f"nop/{gap()}"] * (len(part.starts) - 1)
    assert set(texts[2::4]) == {"mvp/n64i02 $d0 $lc0"}
    for trip, (text, starts) in enumerate(zip(texts[::4], part.starts, strict=True)):
        address = int(text.removeprefix("mvp/n64i01 $d").split()[0])
        box = tuple(slice(start, start + size) for start, size in zip(starts, shape, strict=True))
        words = np.stack([dram[address : address + 64] >> np.uint64(32), dram[address : address + 64]], axis=-1)
        found = words.astype(np.uint32).reshape(-1)[: np.prod(shape)]
        assert np.array_equal(found, tensor[box].reshape(-1)), trip


def test_trips_that_take_the_same_share_a_place() -> None:
    own = buffer("x", 0, 64)
    part = Slice((4,), ((0,), (2,), (0,), (2,)))
    trips = Trips(4, [own], [(image(own, (2,)), part)])
    assert trips.image(image(own, (2,)), part).buffer.size == 2 * 64


def test_what_shares_a_buffer_with_a_part_is_there_for_every_trip() -> None:
    own = buffer("x", 0, 128)
    first, second = image(own, (2,)), image(own, (3,))
    part = Slice((4,), ((0,), (2,)))
    trips = Trips(2, [own], [(first, part), (second, None)])
    assert [offset for offset, _ in trips.image(second, None).parts] == [0, 128]
    assert trips.image(second, None).shape == (3,)


def test_dram_that_is_too_small_is_refused() -> None:
    own = buffer("x", 0, 1 << 28)
    part = Slice((8,), ((0,), (2,), (4,), (6,)))
    with pytest.raises(CompileError, match="the tensors of all parts take"):
        Trips(4, [own], [(DramImage(own, (2,), np.zeros((4, 1, 2), np.int32), (0,)), part)])


def test_windows_move_row_by_row() -> None:
    """Addresses in local memory are in words; those of other buffers and of other memories stay."""
    rows = Buffer("rows", 12, (Memory.LM0, Memory.LM1), 2, Memory.LM1, 8, pinned=True)
    trips = Trips(3, [rows], [], [Window(rows, 4, (2, 1, 0))])
    text = "fvadd $ln16v $ln[17,18,20,22] $lr16v; lpassa $lm16 $n18t/1000; nop $ln14 $ln40"
    moved = list(trips.lines([text]))[::2]
    assert moved == [
        "fvadd $ln32v $ln[33,34,36,38] $lr16v; lpassa $lm16 $n34t/1000; nop $ln14 $ln40",
        "fvadd $ln24v $ln[25,26,28,30] $lr16v; lpassa $lm16 $n26t/1000; nop $ln14 $ln40",
        text,
    ]
