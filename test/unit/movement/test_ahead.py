"""Movements planned ahead are those that are planned where they are wanted, whoever planned them."""

import numpy as np
import pytest

from mnc.core import both as module
from mnc.core.both import share_out
from mnc.mncore_backend.layout import Layout, parse
from mnc.mncore_backend.movement import ahead, plan_gather, plan_relayout
from mnc.mncore_backend.movement.ahead import Request, plan_ahead
from mnc.mncore_backend.movement.repeats import REPEATS
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, Builder, Program
from mnc.mncore_backend.program.text import print_operation

SHAPE = (64, 32)
LAYOUTS = [
    parse(text, SHAPE)
    for text in (
        "((8_L2B:1, 8:1), (4_PE:1, 2_W:1, 4:8))",
        "((16_MAB:1, 4:4), (4_L1B:2, 4_PE:1, 2_W:1))",
        "((8_L1B:1, 4_PE:1, 2_W:1), (8_MAB:2, 4:1))",
    )
]
REVERSED = np.arange(64 * 32)[::-1]
GATHER = Request(LAYOUTS[0], LAYOUTS[1], REVERSED, 0)
REQUESTS = [GATHER, *(Request(a, b) for a in LAYOUTS for b in LAYOUTS if a is not b)]


def _wanted(request: Request) -> list[str]:
    """What is emitted where the movement is wanted."""
    builder = Builder(Program())

    def buffer(layout: Layout) -> Buffer:
        return builder.program.buffer("x", layout.local_size, LOCAL_MEMORY)

    ends = request.source, buffer(request.source), request.target, buffer(request.target)
    if request.index_map is None:
        plan_relayout(builder, *ends)
    else:
        plan_gather(builder, *ends, request.index_map, padding=request.padding)
    for number, made in enumerate(builder.program.buffers):
        made.name = f"b{number}"
    return [print_operation(op) for op in builder.program.operations]


@pytest.mark.parametrize("forked", [True, False])
def test_the_same_as_without(forked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "has_processor", lambda: forked)
    monkeypatch.setattr(ahead, "WORTHWHILE", 0)
    REPEATS.forget()
    plain = [_wanted(request) for request in REQUESTS]
    asked = REPEATS.keys()
    REPEATS.forget()
    plan_ahead(REQUESTS, share_out)
    assert REPEATS.keys() == asked
    assert [_wanted(request) for request in REQUESTS] == plain
    REPEATS.forget()


def test_what_has_no_plan_is_left_to_those_who_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "WORTHWHILE", 0)
    other = parse("((8_L2B:1, 8:1),)", (64,))
    plan_ahead([Request(LAYOUTS[0], other), Request(LAYOUTS[0], LAYOUTS[1])], share_out)
    with pytest.raises(ValueError, match="relayout of"):
        _wanted(Request(LAYOUTS[0], other))


def test_little_work_is_not_done_ahead() -> None:
    REPEATS.forget()
    plan_ahead(REQUESTS, share_out)
    assert not REPEATS.keys()
