"""loop-over-parts: a function that is too much work for one program becomes a loop over parts of its results.

before:  func.func @main(%x: tensor<60000x784xf32>, ...) -> tensor<60000x10xf32>
after:   func.func @main(%x: tensor<6656x784xf32> {mncore.slice = {shape = [60000, 784], starts = [0, 0, 6656, 0,
                         ...]}}, ...) -> (tensor<6656x10xf32> {mncore.slice = ...}) attributes {mncore.trips = 10}

The body is compiled once, as a program of its own. Only when its text is written is it repeated, each time with the
addresses in DRAM of the parts that are due. A part may be one of a batch, rows of a matrix, heads of attention: all
dimensions of the results are tried, alone and in pairs. The last part overlaps the one before where they do not come
out even, so all are alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import ceil, inf, prod
from typing import Any, Literal, NamedTuple

from mnc.core.bindings import func, ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.dialects.mncore.trips import SLICE, TRIPS, slice_attribute
from mnc.lowering.linalg_to_spmd.demand import whole
from mnc.lowering.linalg_to_spmd.part_demands import Demand, demand_of, loaded_per_step, needed
from mnc.lowering.linalg_to_spmd.part_prices import PartPrices, exposed
from mnc.lowering.linalg_to_spmd.part_writing import part_of, write_part
from mnc.lowering.linalg_to_spmd.reading import is_tensor, shape_of, splat_value
from mnc.lowering.linalg_to_spmd.slices import Ranges
from mnc.lowering.linalg_to_spmd.tile_regions import rounded
from mnc.mncore_backend.codegen.trips import Slice
from mnc.mncore_backend.pricing import Resources

MOST_TRIPS = 256
FEW = 16
"""Numbers of parts that are all tried; above, only some."""
COMPILING = 0.25
"""What a step of the body costs, beside the steps of the run: the time to compile it."""
PLANNED = 3 / 8
"""Part of the most steps that a program without a loop may have where its products are planned: that guesses less
too much."""
SAME = 1.05
"""How much dearer one way may be than another and count as good: prices tell no more."""
MOST_PLANNED = 64
"""Ways to cut a function of which the products are planned."""
LATENCY = 300
"""Steps before the first operand of a trip has arrived, and until its last result has left."""


@dataclass(frozen=True)
class _Cut:
    """A part of the dimension `dim` of the first result takes `size` of its extent; and where the parts start."""

    dim: int
    size: int
    starts: tuple[int, ...]


class _Price(NamedTuple):
    """Steps of a loop, and with a surcharge for its body; steps of the body."""

    run: float
    total: float
    size: float


_Priced = tuple[_Price, Sequence[_Cut]]
"""A way to cut a function, and its price."""


@dataclass(frozen=True)
class LoopOverParts(Pass):
    """Make a loop of functions whose program would have more than ``steps`` statements."""

    name = "loop-over-parts"
    steps: int = at_least(1, 80_000)
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"

    def run(self, module: Any) -> None:
        """Rewrite every function of the module; where something stays on the chip between runs, none."""
        if self.resident != "nothing":
            return
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                if TRIPS not in function.operation.attributes:
                    _Loop(function.operation, self.steps).run()


class _Loop:
    """A function that may become a loop."""

    def __init__(self, function: Any, most: int) -> None:
        self.function, self.most, self.prices = function, most, PartPrices()
        self.block = function.regions[0].blocks[0]
        self.terminator = list(self.block.operations)[-1].operation
        self.results = list(self.terminator.operands)
        self.steps: dict[Any, float] = {}

    def run(self) -> None:
        if not self.results or not all(is_tensor(v) and prod(shape_of(v)) for v in self.results):
            return
        at_once = demand_of([(value, whole(value)) for value in self.results], known=self.steps)
        if at_once is None or at_once.size <= self.most or self.prices.size(at_once) <= PLANNED * self.most:
            return
        found = [(price, cuts) for cuts in self._choices() if (price := self._price(cuts)) is not None]
        if not found:
            return
        if self.prices.known(at_once):
            self._write(self._cheapest(found, [], 1.0))
        elif self.prices.is_chain(at_once):
            price = self._planned(at_once, 1)
            is_short = price.size <= PLANNED * self.most
            self._write(self._cheapest(found, [(price, ())] if is_short else [], SAME))
        else:
            self._write(min(found, key=lambda choice: choice[0].total)[1])

    def _cheapest(
        self, found: Sequence[_Priced], prices: Sequence[_Priced], within: float
    ) -> Sequence[_Cut]:
        """The cuts that are cheapest with what products take in their best places, or those in `prices` that are known;
        of those `within` a factor of the best the ones with the smallest program. At the peak of the machine a loop
        takes less, so the search ends where that is above the best price."""
        prices = list(prices)
        best = min((price.total for price, _ in prices), default=inf)
        for least, cuts in sorted(found, key=lambda choice: choice[0].run)[:MOST_PLANNED]:
            if least.run >= best:
                break
            price = self._price(cuts, planned=True)
            if price is not None:
                prices.append((price, cuts))
                best = min(best, price.total)
        good = [own for own in prices if own[0].total <= within * best]
        return min(good, key=lambda choice: choice[0].size)[1]

    def _choices(self) -> Iterator[tuple[_Cut, ...]]:
        """All cuts of one dimension of the first result, and of two."""
        shape = shape_of(self.results[0])
        dims = [d for d, extent in enumerate(shape) if extent > 1]
        own = {d: list(_cuts(d, shape[d])) for d in dims}
        for d in dims:
            own[d] = [cut for cut in own[d] if self._price([cut]) is not None]
        yield from ((cut,) for cuts in own.values() for cut in cuts)
        for a, b in combinations(dims, 2):
            yield from (pair for pair in product(own[a], own[b]) if prod(len(c.starts) for c in pair) <= MOST_TRIPS)

    def _boxes(self, cuts: Sequence[_Cut], starts: Sequence[int]) -> list[tuple[Any, Ranges]] | None:
        """The part of every result that a trip makes; None where a result has no dimension of an extent that is cut."""
        made = []
        for value in self.results:
            box = list(whole(value))
            for cut, start in zip(cuts, starts, strict=True):
                dim = self._same_dim(value, cut.dim)
                if dim is None:
                    return None
                box[dim] = (start, cut.size)
            made.append((value, tuple(box)))
        return made

    def _same_dim(self, value: Any, dim: int) -> int | None:
        """The dimension of a result that goes with one of the first result: that at its place, or one as long."""
        extent, shape = shape_of(self.results[0])[dim], shape_of(value)
        if dim < len(shape) and shape[dim] == extent:
            return dim
        return shape.index(extent) if extent in shape else None

    def _trips(self, cuts: Sequence[_Cut]) -> list[Demand] | None:
        """What each trip needs; None unless all need parts of the same sizes of the same values."""
        found: list[Demand] = []
        for starts in product(*(cut.starts for cut in cuts)):
            boxes = self._boxes(cuts, starts)
            demand = demand_of(boxes, known=self.steps) if boxes is not None else None
            if demand is None or (found and _sizes(demand) != _sizes(found[0])):
                return None
            found.append(demand)
        return found

    def _price(self, cuts: Sequence[_Cut], *, planned: bool = False) -> _Price | None:
        """Steps of the loop, and a surcharge for its body; None where it cannot be written or is too long. Where its
        products are not `planned`, at the peak of the machine."""
        edges = [(cut.starts[0], cut.starts[-1]) for cut in cuts]
        boxes = [self._boxes(cuts, starts) for starts in product(*edges)]
        demands = [demand_of(box, known=self.steps) if box is not None else None for box in boxes]
        first = demands[0]
        if first is None or any(demand is None or _sizes(demand) != _sizes(first) for demand in demands):
            return None
        if not any(box != whole(value) for value, box in first.arguments):
            return None
        count = prod(len(cut.starts) for cut in cuts)
        if planned:
            return self._planned(first, count)
        busy = Resources(mau=first.steps, mv=first.loaded / loaded_per_step())
        return self._priced(count * (exposed(busy) + LATENCY), first.size)

    def _planned(self, demand: Demand, count: int) -> _Price:
        """The same with what products take in their best places."""
        if self.prices.known(demand):
            run = exposed(self.prices.busy(demand))
            return self._priced(count * (run + LATENCY), self.prices.size(demand))
        busy, moved = self.prices.in_turn(demand)
        size = busy.total - busy.mv - busy.latency + moved
        return self._priced(count * (exposed(busy) + moved + LATENCY), size)

    def _priced(self, run: float, size: float) -> _Price:
        return _Price(run, (run + COMPILING * size) * max(1.0, size / self.most), size)

    def _write(self, cuts: Sequence[_Cut]) -> None:
        trips = self._trips(cuts) if cuts else None
        if trips is None:
            return
        body = _Body(self.function, trips)
        boxes = self._boxes(cuts, [cut.starts[0] for cut in cuts])
        assert boxes is not None  # `_trips` has asked
        results = body.results(boxes)
        parts = [self._boxes(cuts, starts) or [] for starts in product(*(cut.starts for cut in cuts))]
        slices = [_slice(value, [own[number][1] for own in parts]) for number, value in enumerate(self.results)]
        body.finish(self.terminator, results, slices)


def _cuts(dim: int, extent: int) -> Iterator[_Cut]:
    """Parts of a dimension, from few to many. Those that do not come out even have friendly sizes."""
    seen = {extent}
    for count in range(2, min(extent, MOST_TRIPS) + 1):
        size = extent // count if extent % count == 0 else rounded(ceil(extent / count))
        if size not in seen and (count <= FEW or count.bit_count() <= 2):
            seen.add(size)
            yield _Cut(dim, size, tuple(min(start, extent - size) for start in range(0, extent, size)))


def _sizes(demand: Demand) -> list[tuple[Any, tuple[int, ...]]]:
    return [(value, tuple(size for _, size in box)) for value, box in demand.boxes]


def _slice(value: Any, boxes: Sequence[Ranges]) -> Any | None:
    """The attribute of a value of which every trip takes another part; None if each takes all of it."""
    if all(box == whole(value) for box in boxes):
        return None
    return slice_attribute(Slice(shape_of(value), tuple(tuple(start for start, _ in box) for box in boxes)))


class _Body:
    """Writes what one trip does behind the operations of a function, then takes those away."""

    def __init__(self, function: Any, trips: Sequence[Demand]) -> None:
        self.function = function
        self.block = function.regions[0].blocks[0]
        self.old = [op.operation for op in self.block.operations][:-1]
        self.given = list(self.block.arguments)
        self.attributes = _entries(function, "arg_attrs", len(self.given))
        self.made: dict[tuple[Any, Ranges], Any] = {}
        self.trips = len(trips)
        for number, (value, box) in enumerate(trips[0].arguments):
            parts = [list(demand.arguments)[number][1] for demand in trips]
            attribute = _slice(value, parts)
            if attribute is not None:
                self.made[value, box] = self._argument(value, box, attribute)

    def _argument(self, value: Any, box: Ranges, attribute: Any) -> Any:
        type_ = ir.RankedTensorType.get([size for _, size in box], ir.RankedTensorType(value.type).element_type)
        own = self.attributes[list(self.given).index(value)]
        self.attributes.append({**own, SLICE: attribute})
        return self.block.add_argument(type_, ir.Location.unknown())

    def results(self, boxes: Sequence[tuple[Any, Ranges]]) -> list[Any]:
        """The parts of the results, made in front of the terminator."""
        with ir.InsertionPoint(list(self.block.operations)[-1]):
            return [self._make(value, box) for value, box in boxes]

    def _make(self, value: Any, box: Ranges) -> Any:
        key = value, box
        if key not in self.made:
            if box == whole(value):
                self.made[key] = value
            elif value.owner.name in ("tensor.empty", "linalg.fill") or splat_value(value) is not None:
                self.made[key] = part_of(value, box)
            else:
                with value.owner.location:
                    parts = needed(value.owner, box)
                    made = [self._make(*parts[i]) if i in parts else v for i, v in enumerate(value.owner.operands)]
                    self.made[key] = write_part(value.owner, made, box)
        return self.made[key]

    def finish(self, terminator: Any, results: Sequence[Any], slices: Sequence[Any | None]) -> None:
        """Return the parts, drop what nothing uses any more, and say on the function what each trip takes."""
        named = _entries(self.function, "res_attrs", len(results))
        for entry, attribute in zip(named, slices, strict=True):
            if attribute is not None:
                entry[SLICE] = attribute
        with terminator.location, ir.InsertionPoint(terminator):
            func.ReturnOp(list(results))
        terminator.erase()
        sliced = {value for value, _ in self.made if isinstance(value.owner, ir.Block)}  # before their owners are gone
        for op in reversed(self.old):
            if not any(list(result.uses) for result in op.results):
                op.erase()
        for number in reversed(range(len(self.given))):
            if self.given[number] in sliced and not list(self.given[number].uses):
                self.block.erase_argument(number)
                del self.attributes[number]
        inputs = [argument.type for argument in self.block.arguments]
        made = ir.FunctionType.get(inputs, [value.type for value in results])
        self.function.attributes["function_type"] = ir.TypeAttr.get(made)
        for name, entries in (("arg_attrs", self.attributes), ("res_attrs", named)):
            self.function.attributes[name] = ir.ArrayAttr.get([ir.DictAttr.get(entry) for entry in entries])
        self.function.attributes[TRIPS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.trips)


def _entries(function: Any, name: str, count: int) -> list[dict[str, Any]]:
    if name not in function.attributes:
        return [{} for _ in range(count)]
    return [{item.name: item.attr for item in ir.DictAttr(entry)} for entry in function.attributes[name]]
