"""The hierarchy as an SVG: nested boxes from board to PE, one of each kind opened, with the rates between the
levels."""

from typing import NamedTuple
from xml.sax.saxutils import escape

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import chip

_WIDTH = 920
_PAD = 16
_HEAD = 24
_BOX = 34
_FILLS = ("#f5f5f0", "#e6eef5", "#d9e8dc", "#f3e8d2", "#ecdfea", "#ffffff")


class _Node(NamedTuple):
    """A box with the memories in it; inside it one child is drawn opened."""

    title: str
    stores: tuple[str, ...]
    link: str  # what connects it to the level above


def _store(memory: Memory) -> str:
    facts = chip().memories[memory]
    size = facts.addresses * facts.unit_bits // 8
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{facts.name} {size // factor} {unit}"
    return f"{facts.name} {size} B"


def _nodes() -> list[_Node]:
    stores = {
        "board": (),
        "group": tuple(_store(m) for m in (Memory.DRAM, Memory.PDM, Memory.DAR)),
        "L2B": (_store(Memory.L2BM),),
        "L1B": (_store(Memory.L1BM), "turnaround register"),
        "MAB": ("MAU", "matrix x 16 rows", "matrix y 16 rows"),
        "PE": (*(_store(m) for m in (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)), "T", "masks", "ALU"),
    }
    fastest_mv = max(f.source_rate for f in chip().mv_forms if f.opcode == "mvp")
    l2bm = chip().l2bm_families
    l1bm = chip().l1bm_families
    links = {
        "L2B": f"MV: up to {fastest_mv} longs/cycle per group (mvp)",
        "L1B": f"l2bmd {l2bm['l2bmd'].l2bm_rate}, l2bmb {l2bm['l2bmb'].l2bm_rate} longs/cycle",
        "MAB": f"l1bmd {l1bm['d'].rate}, l1bmm {l1bm['m'].rate_two_long}, l1bmp {l1bm['p'].rate_two_long} longs/cycle",
    }
    found = []
    for level in chip().levels:
        title = f"{level.name}  x{level.count}" + (f"  ({level.total} in all)" if level.count > 1 else "")
        found.append(_Node(title, stores[level.name], links.get(level.name, "")))
    return found


def _rectangle(x: int, y: int, width: int, height: int, fill: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="#444444"/>'


def _text(x: int, y: int, text: str, *, size: int = 13, bold: bool = False, anchor: str = "start") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _stores(x: int, y: int, width: int, names: tuple[str, ...]) -> list[str]:
    """Boxes side by side for the memories and units of a level."""
    found: list[str] = []
    share = (width - _PAD * (len(names) + 1)) // len(names)
    for i, name in enumerate(names):
        left = x + _PAD + i * (share + _PAD)
        found.append(_rectangle(left, y, share, _BOX, "#ffffff"))
        found.append(_text(left + share // 2, y + 21, name, size=11, anchor="middle"))
    return found


def _height(nodes: list[_Node]) -> int:
    node, rest = nodes[0], nodes[1:]
    own = _HEAD + _PAD + (_BOX + _PAD if node.stores else 0)
    return own + (_height(rest) + _PAD + (18 if rest[0].link else 0) if rest else 0)


def _draw(nodes: list[_Node], depth: int, x: int, y: int, width: int) -> list[str]:
    node, rest = nodes[0], nodes[1:]
    found = []
    if depth and not nodes[0].title.startswith("board"):
        found.append(_rectangle(x + 5, y + 5, width, _height(nodes), _FILLS[depth]))  # its siblings, behind it
    found.append(_rectangle(x, y, width, _height(nodes), _FILLS[depth]))
    found.append(_text(x + _PAD, y + 20, node.title, bold=True))
    below = y + _HEAD + _PAD // 2
    if node.stores:
        found += _stores(x, below, width, node.stores)
        below += _BOX + _PAD
    if rest:
        if rest[0].link:
            found.append(_text(x + width // 2, below + 8, "\u2195 " + rest[0].link, size=11, anchor="middle"))
            below += 18
        found += _draw(rest, depth + 1, x + _PAD, below, width - 2 * _PAD - 5)
    return found


def hierarchy_svg() -> str:
    """The drawing, as the text of an SVG file."""
    nodes = _nodes()
    height = _height(nodes) + 2 * _PAD
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif">'
    )
    title = "<title>Hierarchy of MN-Core 2: one box of each level is opened</title>"
    background = f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    body = _draw(nodes, 0, _PAD, _PAD, _WIDTH - 2 * _PAD)
    return "\n".join((head, title, background, *body, "</svg>")) + "\n"
