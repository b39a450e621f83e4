"""Reading the layout notation; printing is `str(layout)`."""

import re
from collections.abc import Sequence

from mnc.mncore_backend.layout.layout import Axis, Digit, Layout, LayoutError

_DIGIT = re.compile(r"(\d+)(?:_([A-Z0-9]+))?:(\d+)")
_GROUP = re.compile(r"\(([^()]*)\)")


def parse(text: str, shape: Sequence[int] | None = None) -> Layout:
    """Read ``((8_L2B:1, 4:2), (2:1, 2_W:1))``. Without a shape every dimension is as large as its digits allow.

    Raises LayoutError on anything else, naming the part that could not be read.
    """
    body = text.strip()
    if not (body.startswith("(") and body.endswith(")")):
        raise LayoutError(f"a layout is written in parentheses: {text!r}")
    inner = body[1:-1].strip()
    if _GROUP.sub("", inner).strip(" ,\t\n"):
        raise LayoutError(f"expected one parenthesis per dimension in {text!r}")
    dims = tuple(_dimension(group) for group in _GROUP.findall(inner))
    if shape is None:
        shape = []
        for digits in dims:
            extent = 1
            for digit in digits:
                extent *= digit.size
            shape.append(extent)
    return Layout(tuple(shape), dims)


def _dimension(text: str) -> tuple[Digit, ...]:
    parts = [part.strip() for part in text.split(",")]
    return tuple(_digit(part) for part in parts if part)


def _digit(text: str) -> Digit:
    match = _DIGIT.fullmatch(text)
    if match is None:
        raise LayoutError(f"not a digit of the form size_AXIS:stride: {text!r}")
    tag = match[2] or ""
    try:
        axis = Axis(tag)
    except ValueError:
        raise LayoutError(f"unknown axis {tag!r} in {text!r}; known: L2B, L1B, MAB, PE, W") from None
    return Digit(int(match[1]), axis, int(match[3]))
