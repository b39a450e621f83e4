"""Laws of the layout algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.layout import (
    Axis,
    Digit,
    Layout,
    LayoutError,
    canonical,
    compose,
    distributed,
    elementwise,
    equivalent,
    locate,
    pack,
    parse,
    permute,
    place,
    replicated,
    reshape,
    restrict,
    unpack,
    with_dims,
)

from .strategies import layouts

PUBLIC = [
    "((2:1, 4_PE:1, 2_W:1),)",
    "((4_L2B:2, 32:1, 2_W:1),)",
    "((16:2), (2:1, 4_PE:1, 2_W:1))",
    "((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))",
    "((8_L2B:1, 16:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))",
    "((8_L2B:1, 32:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_parse_print(text: str) -> None:
    layout = parse(text)
    assert parse(str(layout)) == layout


def test_default_256x16() -> None:
    """The placement of the education compiler's 256x16 "default" layout, element by element."""
    layout = parse("((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))", (256, 16))
    held = place(layout)
    for r, c in [(0, 0), (37, 5), (255, 15), (100, 9)]:
        word = 4 * ((r >> 3) & 3) + 2 * (c >> 3) + (c & 1)
        assert (held[r >> 5, r & 7, :, (c >> 1) & 3, word] == 16 * r + c).all()
    assert layout.local_size == 8
    assert layout.replicated_axes() == (Axis.MAB,)


@given(layouts())
@settings(max_examples=40, deadline=None)
def test_place_agrees_with_coordinates(layout: Layout) -> None:
    held = place(layout)
    at = locate(layout)
    flat = held[at[Axis.L2B], at[Axis.L1B], at[Axis.MAB], at[Axis.PE], 2 * at[Axis.ADDRESS] + at[Axis.W]]
    assert (flat == np.arange(layout.size)).all()
    some = np.unravel_index(layout.size // 2, layout.shape)
    found = layout.coordinates([int(i) for i in some])
    assert all(found[a] == at[a][layout.size // 2] for a in found)
    copies = 1
    for axis in (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE, Axis.W):
        copies <<= layout.replicated_bits(axis).bit_count()
    counts = np.bincount(held[held >= 0], minlength=layout.size)
    assert (counts == copies).all()


@given(layouts(), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_pack_unpack_and_views(layout: Layout, random) -> None:
    data = np.arange(layout.size, dtype=np.uint32).reshape(layout.shape) * np.uint32(2654435761)
    words = pack(data, layout, padding=0xDEAD)
    assert (unpack(words, layout, np.uint32) == data).all()
    order = list(range(len(layout.shape)))
    random.shuffle(order)
    turned = with_dims(layout, order)
    assert (unpack(words, turned, np.uint32) == data.transpose(order)).all()
    assert permute(turned, [int(i) for i in np.argsort(order)]) == layout
    assert parse(str(layout), layout.shape) == layout
    assert equivalent(layout, canonical(layout))
    assert (pack(data, canonical(layout), padding=0xDEAD)[..., : words.shape[-1]] == words).all()


@given(layouts())
@settings(max_examples=40, deadline=None)
def test_reshape_keeps_words(layout: Layout) -> None:
    data = np.arange(layout.size, dtype=np.uint32).reshape(layout.shape)
    try:
        flat = reshape(layout, (layout.size,))
    except LayoutError:
        assert layout.padded_shape[1:] != layout.shape[1:]
        return
    words = pack(data, layout)
    assert (unpack(words, flat, np.uint32) == data.reshape(-1)).all()
    assert (place(reshape(flat, layout.shape)) == place(layout)).all()


def test_split_dimension_of_padded_tensor() -> None:
    layout = parse("((8:1, 16_MAB:1),)", (112,))
    assert str(reshape(layout, (7, 16))) == "((8:1,), (16_MAB:1,))"
    with pytest.raises(LayoutError, match="cannot be cut"):
        reshape(layout, (16, 7))


def test_restrict_and_compose() -> None:
    layout = parse("((4_L2B:2, 4:2), (2:1, 2_W:1))")
    part, offset = restrict(layout, 0, 6, 2)
    assert str(part) == "((2:2,), (2:1, 2_W:1))"
    assert offset[Axis.L2B] == 2 and offset[Axis.ADDRESS] == 4
    storage = parse("((2_MAB:1, 4_L1B:1),)")
    assert str(compose(layout, storage)) == "((4_L2B:2, 2_MAB:1, 2_L1B:2), (2_L1B:1, 2_W:1))"


def test_builders() -> None:
    assert str(replicated((3, 5))) == "((3:3,), (3:1, 2_W:1))"
    assert elementwise((8192,)).local_size == 1
    assert elementwise((64, 256)).local_size == 2
    assert distributed((10, 784), {0: [Digit(16, Axis.MAB, 1)]}, word_dim=1).local_size == 392


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("((3_MAB:1),)", None, "powers of two"),
        ("((8_PE:1),)", None, "exceeds"),
        ("((2_PE:1), (2_PE:1))", None, "twice"),
        ("((4:1), (2:2))", None, "overlaps"),
        ("((16:6, 2:4), (2:1,))", None, "16:6 overlaps others .* no multiple of 8"),
        ("((4:1),)", (5,), "fewer"),
        ("((4_XY:1),)", None, "unknown axis"),
        ("(4:1)", None, "parenthesis"),
        ("((4-1),)", None, "digit of the form"),
    ],
)
def test_refusals(text: str, shape: tuple[int, ...] | None, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        parse(text, shape)


@pytest.mark.parametrize("index", [(8, 0), (0, 4), (-1, 0), (0, -1), (0,), (0, 0, 0), ()])
def test_no_place_outside_the_shape(index: tuple[int, ...]) -> None:
    with pytest.raises(LayoutError, match="outside"):
        elementwise((8, 4)).coordinates(index)
