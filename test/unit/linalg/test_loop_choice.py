"""Chains of products over many rows: the loop that is chosen is about as good as any other by its own prices."""

from math import prod
from typing import Any

import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.dialects.mncore.trips import TRIPS
from mnc.lowering.linalg_to_spmd.loop_over_parts import SAME, LoopOverParts, _Loop

PRODUCT = """
  %s{0} = linalg.generic {{indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins({1}, %w : tensor<ROWSx256xf32>, tensor<256x256xf32>) outs(%start : tensor<ROWSx256xf32>) {{
    ^bb0(%i: f32, %j: f32, %k: f32):
      %m = arith.mulf %i, %j : f32
      %s = arith.addf %k, %m : f32
      linalg.yield %s : f32
  }} -> tensor<ROWSx256xf32>"""


def chain(rows: int, layers: int) -> str:
    """So many products with one matrix."""
    products = "".join(PRODUCT.format(n, f"%s{n - 1}" if n else "%x") for n in range(layers))
    return f"""
#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#w = affine_map<(d0, d1, d2) -> (d2, d1)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<ROWSx256xf32>, %w: tensor<256x256xf32>) -> tensor<ROWSx256xf32> {{
  %start = arith.constant dense<0.0> : tensor<ROWSx256xf32>{products}
  return %s{layers - 1} : tensor<ROWSx256xf32>
}}""".replace("ROWS", str(rows))


def trips(text: str) -> int:
    with make_context() as context:
        module = ir.Module.parse(text, context)
        LoopOverParts().run(module)
        attributes = module.body.operations[0].attributes
        return ir.IntegerAttr(attributes[TRIPS]).value if TRIPS in attributes else 1


def prices(text: str) -> list[tuple[int, float]]:
    """Numbers of trips, and what they cost, of all ways to cut the result."""
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(text, context)
        loop: Any = _Loop(module.body.operations[0].operation, LoopOverParts().steps)
        found = [(prod(len(cut.starts) for cut in cuts), loop._price(cuts, planned=True)) for cuts in loop._choices()]
        return [(count, price.total) for count, price in found if price is not None]


@pytest.mark.parametrize(("rows", "layers"), [(16384, 6), (60000, 2)])
def test_the_loop_is_about_as_good_as_any(rows: int, layers: int) -> None:
    known = prices(chain(rows, layers))
    chosen = trips(chain(rows, layers))
    assert 1 < chosen < max(count for count, _ in known)
    assert min(price for count, price in known if count == chosen) <= SAME * min(price for _, price in known)


def test_short_programs_have_none() -> None:
    assert trips(chain(512, 2)) == 1
