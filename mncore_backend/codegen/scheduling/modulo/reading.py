"""From the operations of a loop to its body."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnc.mncore_backend.codegen.scheduling.graph import Bundle, Node
from mnc.mncore_backend.codegen.scheduling.modulo.body import Body, Edge
from mnc.mncore_backend.codegen.scheduling.modulo.recognise import Loop
from mnc.mncore_backend.codegen.scheduling.needs import Needs
from mnc.mncore_backend.codegen.scheduling.reading import Before, Stream
from mnc.mncore_backend.program import MachineOp

Place = tuple[int, int]
"""Item of an operation, and its row in it."""


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The body of a loop; `places` has one entry for each operation of an iteration."""

    body: Body
    places: Sequence[Place]


def read_body(operations: Sequence[MachineOp], loop: Loop, trips: int | None = None) -> LoopBody:
    """Items and dependences of a loop of a program, whose buffers have addresses, as they are in the first `trips`
    iterations (left out: in all)."""
    count = loop.size * (loop.trips if trips is None else min(trips, loop.trips))
    stream = Stream(operations[loop.first : loop.first + count])
    reads = [stream.read(index) for index in range(count)]
    items: list[Bundle] = []
    places: list[Place] = [(-1, -1)] * loop.size
    for position in range(loop.size):
        if places[position][0] < 0:
            chain = stream.chains.get(position)
            rows = chain.rows if chain is not None else ((position,),)
            for number, row in enumerate(rows):
                for index in row:
                    places[index] = len(items), number
            items.append(_item(rows, reads, loop.size))
    return LoopBody(Body(items, _edges(reads, items, places)), places)


def _item(rows: Sequence[Sequence[int]], reads: Sequence[tuple[Node, Before]], size: int) -> Bundle:
    """The bundle of an iteration with these rows."""
    made = [[_general(reads[index::size]) for index in row] for row in rows]
    nodes = {node.index: node for row in made for node in row}
    for number, row in enumerate(made):
        for node in row:
            node.row = number
    bundle = Bundle(rows[0][0], made, is_transfer=made[0][0].transfer is not None)
    bundle.internal = [
        (nodes[before.index], node, distance)
        for index, node in nodes.items()
        for before, distance, _ in reads[index][1]
        if before.index in nodes
    ]
    bundle.complete()
    return bundle


def _general(repeated: Sequence[tuple[Node, Before]]) -> Node:
    """An operation with what it needs in every iteration."""
    node = repeated[0][0]
    needs = [other.needs for other, _ in repeated if other.needs is not None]
    made = Node(node.index, node.op, node.expression, node.transfer, node.needs, node.timing)
    if any(own is not needs[0] for own in needs):
        made.needs = _generalised(needs, node.index)
    return made


def _generalised(needs: Sequence[Needs], position: int) -> Needs:
    """Needs whose places, where they are not those of all iterations, equal no other place but those of the same
    operation."""
    known: dict[tuple[object, ...], tuple[object, ...]] = {}

    def place(kind: str, number: int) -> tuple[object, ...]:
        regions = tuple(getattr(own, kind)[number][1] for own in needs)
        constant = all(region == regions[0] for region in regions)
        return known.setdefault(regions, regions[0] if constant else ("varies", position, len(known)))

    first = needs[0]
    return replace(
        first,
        reads=tuple((memory, place("reads", i)) for i, (memory, _) in enumerate(first.reads)),
        writes=tuple((memory, place("writes", i)) for i, (memory, _) in enumerate(first.writes)),
    )


def _edges(
    reads: Sequence[tuple[Node, Before]], items: Sequence[Bundle], places: Sequence[Place]
) -> list[Edge]:
    """Dependences within the iterations and between them, the longest that occur anywhere. Behind an MV, it has
    finished."""
    farthest: dict[tuple[int, int, int], int] = {}
    for index, (_, before) in enumerate(reads):
        trip, position = divmod(index, len(places))
        item, row = places[position]
        for other, distance, _ in before:
            other_trip, other_position = divmod(other.index, len(places))
            other_item, other_row = places[other_position]
            if (other_item, other_trip) != (item, trip):
                latency = distance if other.timing is None else other.timing.duration
                steps = latency + items[other_item].offsets[other_row] - items[item].offsets[row]
                key = other_item, item, trip - other_trip
                farthest[key] = max(steps, farthest.get(key, steps))
    return [Edge(before, after, steps, distance) for (before, after, distance), steps in farthest.items()]
