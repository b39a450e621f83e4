"""Files that are nearly assembly: valid programs with damaged bytes, cut short, repeated without end, and noise."""

from hypothesis import strategies as st

from assembly.strategies import STATEMENTS
from mnc.mncore_backend.assembly import print_statement

_TOKENS = (
    *(b";", b"/", b"$", b"@", b"[", b"]", b"-", b"#", b"!", b'"', b"\t", b"\r\n", b"\n", b"\x00", b"\xff"),
    *(b"9" * 30, b"0x", b"nop/", b"quit", b"d get ", b"d set ", b"mask", b"mv", b"$lm", b"/$imr99", b"v", b"j9"),
    *(b"lll", b"\xef\xbb\xbf"),
    *("é".encode(), "コメント".encode(), "\u2028".encode(), b"%s%n", b"\x1b[2J", b"e308", b"[,,,]", b"f\"1e999\""),
)
PROGRAMS = st.lists(STATEMENTS.map(print_statement), min_size=1, max_size=8).map(lambda s: "\n".join(s).encode())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A valid program after a few edits: bytes replaced, removed, doubled, tokens put in, the end cut off."""
    data = draw(PROGRAMS)
    for _ in range(draw(st.integers(1, 4))):
        at, length = draw(st.integers(0, len(data))), draw(st.integers(0, 20))
        edit = draw(st.integers(0, 4))
        if edit == 0:
            data = data[:at] + draw(st.binary(max_size=4)) + data[at + length :]
        elif edit == 1:
            data = data[:at]
        elif edit == 2:
            data = data[:at] + data[at : at + length] * 2 + data[at + length :]
        else:
            data = data[:at] + draw(st.sampled_from(_TOKENS)) + data[at:]
    return data


@st.composite
def enormous(draw: st.DrawFn) -> bytes:
    """One part many times over: long lines, long lists, many lines."""
    part = draw(st.sampled_from(_TOKENS) | PROGRAMS | st.binary(min_size=1, max_size=3))
    between = draw(st.sampled_from((b"", b" ", b";", b"\n", b", ")))
    head = draw(st.sampled_from((b"", b"lpassa $lr0 ", b"d set $lm0 9 ", b"nop; ", b"l2bmb@", b"imm i\"", b"mvp/")))
    return head + (part + between) * draw(st.sampled_from((50, 3000, 40_000 // len(part) + 1)))


HOSTILE = st.one_of(st.binary(max_size=200), damaged(), damaged(), damaged(), enormous())
