"""Counts of the hierarchy come from the machine in use: no literal stands for the L2Bs, L1Bs or MABs of MN-Core 2.

What is looked at is where such numbers stood once: ranges and shapes of so many units, masks of all their bits, and the
modulus of a shift. What else a number of these places means must be in `ALLOWED`.
"""

import ast
from collections.abc import Iterator

import pytest

from .tree import Source, sources

PACKAGES = tuple(
    f"mncore_backend.{name}"
    for name in ("assembly", "checker", "codegen.scheduling", "layout", "movement", "placement", "pricing")
)
COUNTS = {8, 16, 64, 256, 1024, 4096}
ALL_BITS = {7, 15, 63, 255, 1023, 4095}
SHAPED = ("range", "arange", "reshape", "full", "zeros", "ones", "tile")
ALLOWED = {
    ("mncore_backend.assembly.debug_lines", 16): "digits of a payload, or the base of a number",
    ("mncore_backend.movement.transfers", 8): "addresses of a step of 2-longs",
    ("mncore_backend.assembly.cycles", 15): "patterns of a mask",
}


def _suspicious(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in SHAPED:
                parts = [p for a in node.args for p in (a.elts if isinstance(a, ast.Tuple) else [a])]
                yield from (n for n in map(_number, parts) if n in COUNTS)
        elif isinstance(node, ast.Compare):
            yield from (n for n in map(_number, (node.left, *node.comparators)) if n in ALL_BITS)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            yield from (n for n in map(_number, (node.left, node.right)) if n in ALL_BITS)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            yield from (n for n in (_number(node.right),) if n == 16)


def _number(node: ast.AST) -> int | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int else None


def _looked_at() -> list[Source]:
    return [source for source in sources() if source.module.startswith(PACKAGES)]


@pytest.mark.parametrize("source", _looked_at(), ids=lambda source: source.module)
def test_no_literal_is_a_count_of_units(source: Source) -> None:
    assert [n for n in _suspicious(source.tree) if (source.module, n) not in ALLOWED] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [("for b in range(8): pass", [8]), ("if free == 7: pass", [7]), ("x.reshape(8, n, 4)", [8]),
     ("b & ~free & 7 == c", [7]), ("(a - b) % 16", [16]), ("range(chip().l1bs_per_l2b)", [])],
)  # fmt: skip
def test_what_the_rule_finds(text: str, found: list[int]) -> None:
    assert list(_suspicious(ast.parse(text))) == found


def test_allowed_numbers_still_exist() -> None:
    found = {(source.module, n) for source in _looked_at() for n in _suspicious(source.tree)}
    assert set(ALLOWED) <= found
