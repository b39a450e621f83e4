"""The search finds the best of what can be decided, ends in time, and remembers."""

import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import onnx
import pytest

from mnc.options import Options
from mnc.tuning import search
from mnc.tuning.search import Outcome, Search
from mnc.tuning.trial import Trial

CANDIDATES = {("layout", "a"): 4, ("layout", "b"): 3, ("layout", "c"): 5}
BEST = {"a": "2", "b": "1", "c": "4"}


def landscape(_: Any, options: Options) -> Trial:
    """A program that is shorter the more decisions are right; `cyclic` helps, and node b with `alike` fails."""
    prefer = options.prefer if options.prefer is not None else ("alike",)
    nodes = options.decisions.get("layout", {})
    if "alike" in prefer and nodes.get("b") == "1":
        return Trial(error="no room")
    cycles = 1000 - 100 * ("cyclic" in prefer)
    for (_, node), _ in CANDIDATES.items():
        cycles -= 50 * (nodes.get(node, "0") == BEST[node])
    space = {}
    for (kind, node), number in CANDIDATES.items():
        chosen = nodes.get(node, "0")
        space[kind, node] = (chosen, *(str(i) for i in range(number) if str(i) != chosen))
    return Trial(cycles, cycles // 4, tuple(prefer), None if options.prefer is None else space)


@pytest.fixture(autouse=True)
def synthetic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "run_trial", landscape)


@pytest.fixture
def executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_best(executor: Executor, seed: int) -> None:
    found = Search("model", Options(), seed=seed).run(executor, 2, 60)
    assert found.finished and found.untuned is not None and found.untuned.cycles == 1000
    assert found.best.cycles == 1000 - 100 - 150
    assert found.options.prefer is not None and "cyclic" in found.options.prefer
    assert found.options.decisions == {"layout": BEST}


def test_fixed_preferences_stay(executor: Executor) -> None:
    found = Search("model", Options(prefer=("alike",))).run(executor, 1, 60)
    assert found.options.prefer == ("alike",) and found.best.cycles == 1000 - 100


def test_without_time_there_is_the_first_program(executor: Executor) -> None:
    found = Search("model", Options()).run(executor, 2, 0)
    assert found.trials == 1 and found.best.cycles == 1000 and not found.finished


def test_it_ends_in_time() -> None:
    class Never(Executor):
        """Finishes the first thing it is asked to do and nothing else."""

        done = False

        def submit(self, fn: Any, /, *given: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            if not self.done:
                self.done = True
                future.set_result(fn(*given, **named))
            return future

    start = time.monotonic()
    found = Search("model", Options()).run(Never(), 2, 0.2)
    assert found.trials == 1 and time.monotonic() - start < 30


def test_nothing_is_tried_twice_and_what_is_known_is_not_tried(executor: Executor) -> None:
    known: dict[str, Trial] = {}

    def once() -> Outcome:
        tried = []

        def keep(options: Options, trial: Trial) -> None:
            assert repr(options) not in tried
            tried.append(repr(options))
            known[repr(options)] = trial

        return Search("model", Options(), look=lambda options: known.get(repr(options)), keep=keep).run(executor, 1, 60)

    first, second = once(), once()
    assert first.remembered == 0 and second.remembered == second.trials == first.trials
    assert first.options == second.options and second.finished


def test_where_nothing_compiles(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "run_trial", lambda *_: Trial(error="no"))
    assert Search("model", Options()).run(executor, 2, 10).best.error


def test_a_farm(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    from mnc.tuning.trial import run_trial
    from mnc.tuning.workers import farm

    monkeypatch.setattr(search, "run_trial", run_trial)
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[4,8] x, float[8,4] w) => (float[4,4] y) { y = MatMul(x, w) }'
    )
    with (
        distributed.LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        farm(cluster.scheduler_address) as (executor, number),
    ):
        assert number == 1
        found = Search(model.SerializeToString(), Options(prefer=())).run(executor, number, 0)
    assert found.best.cycles > 0 and not found.best.error
