"""How long a solution takes: a list schedule of its operations on the units of the chip.

Prices add up what every operation takes. But a program waits for one operation only as long as there is nothing else to
do: weights come early, gradients are summed while others are computed, and an exchange between L2Bs stops those alone
that need what is exchanged. So a solution is scheduled as its program will be, with parts of operations in place of
instructions: operands are loaded and moved, there is work, and its sums are brought together. It takes some
milliseconds for a hundred operations.

How much of what counts was fitted to the cycles of programs, different solutions of many models
(`scripts/fit_durations.py`), and rounded.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.cost.weights import Kind
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.problem.reads import read_by
from mnc.mncore_backend.placement.solve.list_schedule import Task, scheduled
from mnc.mncore_backend.placement.solve.state import Entry, State, entries
from mnc.mncore_backend.pricing import NOTHING, Resources


@dataclass(frozen=True)
class Shares:
    """How much of what a solution pays counts in a schedule.

    Attributes:
        kinds: units that a step of each kind keeps busy, and latencies.
        moved: of what a movement takes of each unit.
        start: steps that a movement takes beside what its units do.
        exchange: the same of one that passes between L2Bs, besides.
        in_turn: part of the steps of units beside the busiest one for which a movement waits, because they cannot work
            on the same data at the same time.
        depth: steps from the last instruction of some work to its result.
    """

    kinds: Mapping[Kind, Resources]
    moved: Resources
    start: float
    exchange: float
    in_turn: float
    depth: float


SHARES = Shares(
    kinds={
        "fetched": Resources(mv=1.5),
        "arrival": Resources(l1bm=1.0),
        "kernel": Resources(mau=0.65),
        "second": Resources(alu=1.1),
        "work": Resources(alu=1.3),
        "moves": Resources(alu=0.5),
        "halos": Resources(alu=0.5),
        "rearranged": Resources(alu=0.02),  # the rough price of a slice counts exchanges that seldom take place
        "sums": Resources(l1bm=0.7),
        "exchanged": Resources(latency=1.0),
        "stored": Resources(mv=0.13),
        "held": NOTHING,
    },
    moved=Resources(mau=1.0, alu=0.75, mv=1.5, l2bm=1.0, l1bm=0.53, latency=0.5),
    start=7.5,
    exchange=7.5,
    in_turn=0.5,
    depth=3.6,
)
LOADED: frozenset[Kind] = frozenset({"fetched", "arrival"})
"""What needs no result of the program."""
SUMMED: frozenset[Kind] = frozenset({"sums", "exchanged"})
"""What needs the work of an operation."""


def makespan(
    problem: Problem, state: State, movements: Mapping[Movement, Resources], shares: Shares = SHARES
) -> float:
    """Steps of a solution, whose movements take these resources."""
    return scheduled(tasks_of(problem, state, movements, shares))


def busiest_share(
    problem: Problem, state: State, movements: Mapping[Movement, Resources], shares: Shares = SHARES
) -> float:
    """Part of the makespan for which the busiest unit works: 1 where nothing but that counts."""
    tasks = tasks_of(problem, state, movements, shares)
    busiest = max((sum(steps) for steps in zip(*(task.busy for task in tasks), strict=True)), default=0.0)
    return busiest / max(1.0, scheduled(tasks))


def tasks_of(
    problem: Problem, state: State, movements: Mapping[Movement, Resources], shares: Shares = SHARES
) -> list[Task]:
    """What operations do, in the order of the program, and the stores at its end."""
    paid: dict[int, list[Entry]] = {}
    for entry in entries(state.paid):
        paid.setdefault(entry[0], []).append(entry[:4])
    tasks: list[Task] = []
    last: dict[int, int] = {}  # of operations, the tasks that make their results
    for number, op in enumerate(problem.operations):
        makers = (problem.tensors[tensor].made_by for tensor in read_by(op))
        after = tuple(dict.fromkeys(last[maker] for maker in makers if maker in last))
        tasks += _tasks(paid.pop(number, ()), after, len(tasks), movements, shares)
        last[number] = len(tasks) - 1
    made = (problem.tensors[result].made_by for result, _ in problem.replaced)
    after = tuple(dict.fromkeys(last[maker] for maker in made if maker in last))
    for own in paid.values():  # of no operation: stores, and what comes to where it replaces something
        tasks += _tasks(own, after, len(tasks), movements, shares)
    return tasks


def _tasks(
    paid: Sequence[Entry],
    after: tuple[int, ...],
    first: int,
    movements: Mapping[Movement, Resources],
    shares: Shares,
) -> Iterator[Task]:
    """The tasks of one operation, of which the `first` has this number and the last makes the result."""
    inputs: list[int] = []
    if (loaded := _steps(paid, LOADED, shares)) != NOTHING:
        yield _task(loaded, 0.0, ())
        inputs.append(first)
    for _, _, _, movement in paid:
        if movement is not None:
            inputs.append(first + len(inputs))
            yield _moving(movements[movement], after, shares)
    work = _steps(paid, shares.kinds.keys() - LOADED - SUMMED, shares)
    yield _task(work, shares.depth if work.work else 0.0, (*after, *inputs))
    if (sums := _steps(paid, SUMMED, shares)) != NOTHING:
        yield _task(sums, 0.0, (first + len(inputs),))


def _moving(resources: Resources, after: tuple[int, ...], shares: Shares) -> Task:
    """What a movement does that takes these resources."""
    counted = Resources(*(share * own for share, own in zip(shares.moved.all, resources.all, strict=True)))
    busiest = max(counted.all[:-1])
    in_turn = shares.in_turn * (counted.total - counted.latency - busiest)
    return _task(counted, shares.start + in_turn + (shares.exchange if counted.mv else 0.0), after)


def _task(resources: Resources, waits: float, after: tuple[int, ...]) -> Task:
    return Task(resources.all[:-1], resources.latency + waits, after)


def _steps(paid: Sequence[Entry], kinds: Collection[Kind], shares: Shares) -> Resources:
    """What is paid for work of these kinds, without movements."""
    found = NOTHING
    for _, kind, steps, movement in paid:
        if movement is None and kind in kinds:
            found += shares.kinds[kind] * steps
    return found
