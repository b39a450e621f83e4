"""Halos of windows: what other MABs hold is taken by shifts; executed and compared."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.movement import gather
from mnc.mncore_backend.movement.estimate import count
from mnc.mncore_backend.movement.neighbours import Neighbours
from mnc.mncore_backend.movement.repeats import REPEATS
from mnc.mncore_backend.movement.scope import analyse
from mnc.mncore_backend.placement.candidates.space import Digits
from mnc.mncore_backend.placement.candidates.windows import Window, source_layout, tile
from mnc.mncore_backend.program import Program

from .test_gather import UNSHRUNK, check_gather

LANES: Digits = (Digit(4, Axis.PE, 1), Digit(2, Axis.W))
L2BS, L1BS, ROWS, COLUMNS = Digit(8, Axis.L2B, 1), Digit(8, Axis.L1B, 1), Digit(4, Axis.MAB, 4), Digit(4, Axis.MAB, 1)
MABS = Digit(16, Axis.MAB, 1)


def tiles(
    channels: int, height: int, width: int, kernel: int, stride: int, inner: Digits, rows: Digits, columns: Digits
) -> tuple[Layout, Layout, np.ndarray]:
    """The places of an image, its tiles and what they hold. `inner`: where channels are, beside the lanes."""

    def whole(extent: int, hardware: Digits) -> Digits:
        size = -(-extent // prod(d.size for d in hardware))
        return (*hardware, Digit(size)) if size > 1 else hardware

    out = [-(-n // stride) for n in (height, width)]
    windows = Window(0), Window(1, stride, 3, 1, kernel // 2), Window(2, stride, 4, 1, kernel // 2)
    octets = -(-channels // 8 // max(1, prod(d.size for d in inner)))
    held = (*inner, *((Digit(octets),) if octets > 1 else ()), *LANES)
    digits = [held, whole(out[0], rows), whole(out[1], columns), (Digit(kernel),), (Digit(kernel),)]
    shape = channels, height, width
    made = tile(windows, [channels, *out, kernel, kernel], digits, shape)
    source = source_layout(windows, digits, shape)
    assert source is not None
    return source, made.layout, made.index_map


def shifts_of(program: Program) -> int:
    return sum(op.modifier.startswith("+") for op in program.operations)


@pytest.mark.parametrize(
    ("rows", "columns", "inner"),
    [
        ((MABS,), (), (L2BS,)),  # rows of an image in MABs: two neighbours
        ((ROWS,), (COLUMNS,), (L2BS, L1BS)),  # eight neighbours
        ((L1BS,), (MABS,), (L2BS,)),  # rows from other L1Bs first, columns and corners then
        ((L1BS, ROWS), (COLUMNS,), (L2BS,)),  # rows from other MABs of other L1Bs
    ],
)
def test_neighbours_give(rows: Digits, columns: Digits, inner: Digits, monkeypatch: pytest.MonkeyPatch) -> None:
    image = tiles(192, 14, 14, 3, 1, inner, rows, columns)
    program = check_gather(*image, emulated=True)
    assert shifts_of(program) > 0
    monkeypatch.setattr(gather.Neighbours, "shifts", lambda self, *, behind: ([], self.need))
    REPEATS.forget()
    plain = check_gather(*image)
    assert shifts_of(plain) == 0
    assert count(program.operations).total_steps < count(plain.operations).total_steps


@given(st.data())
@settings(max_examples=4, deadline=None, phases=UNSHRUNK)
def test_random_windows(data: st.DataObject) -> None:
    kernel, stride = data.draw(st.sampled_from([2, 3, 5])), data.draw(st.sampled_from([1, 2, 3]))
    rows, columns = data.draw(
        st.sampled_from([((MABS,), ()), ((L1BS, ROWS), (COLUMNS,)), ((L2BS,), (MABS,)), ((L1BS,), (ROWS,))])
    )
    channels, height, width = (data.draw(st.integers(1, 40)) for _ in range(3))
    check_gather(*tiles(channels, height, width, kernel, stride, (), rows, columns), emulated=data.draw(st.booleans()))


def test_what_no_shift_brings_is_left() -> None:
    source, target, index_map = tiles(64, 16, 16, 3, 1, (L2BS,), (L1BS,), (MABS,))
    need = analyse(source, target, index_map)
    neighbours = Neighbours(need)
    near, far = (neighbours.shifts(behind=behind) for behind in (False, True))
    taken = sum(int(shift.chosen.sum()) * len(shift.pairs) for shift in near[0])
    assert need.count == near[1].count + 2 * taken
    assert near[1].keeps(Axis.MAB) is False and far[1].keeps(Axis.MAB) is True
    assert {shift.turn for shift in near[0]} == {0, 1, 15}
