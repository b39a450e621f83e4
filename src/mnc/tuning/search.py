"""A local search: from the best program so far change one decision at a time, for as long as there is time.

First all preferences about layouts are tried, which are decisions about the whole program. Then every candidate of
every node is a neighbour of the best. As soon as one is shorter, its neighbours are looked at. Trials are exact: a
program is compiled to the end and its cycles are counted.
"""

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Any, get_args

from mnc.mncore_backend.placement.preferences import NEXT, TOGETHER, Preference
from mnc.options import Options
from mnc.tuning.trial import Trial, run_trial

Look = Callable[[Options], Trial | None]
Keep = Callable[[Options, Trial], None]


@dataclass
class Outcome:
    """Where a search stands: the program without it, the best, and how many trials there were."""

    untuned: Trial | None = None
    best: Trial = field(default_factory=lambda: Trial(error="nothing was compiled"))
    options: Options = field(default_factory=Options)
    trials: int = 0
    remembered: int = 0
    finished: bool = False
    """Whether no neighbour is left."""


def _identity(options: Options) -> str:
    decisions = sorted((kind, sorted(nodes.items())) for kind, nodes in options.decisions.items())
    return repr((options.prefer, decisions))


class Search:
    """One search. `look` finds a trial that was made before, `keep` is told of new ones, `report` after every trial."""

    def __init__(
        self,
        model: Any,
        options: Options,
        *,
        look: Look = lambda _: None,
        keep: Keep = lambda *_: None,
        report: Callable[[Outcome], None] = lambda _: None,
        seed: int = 0,
    ) -> None:
        self.outcome = Outcome(options=options)
        self._model, self._options = model, options
        self._look, self._keep, self._report = look, keep, report
        self._random = random.Random(seed)
        self._seen: set[str] = set()
        self._waiting = self._beginning()

    def _beginning(self) -> Iterator[Options]:
        """What a user gets, then every set of preferences."""
        yield self._options
        if self._options.prefer is not None:
            return
        names: list[Preference] = [name for name in get_args(Preference) if name not in (TOGETHER, *NEXT)]
        alone = chain.from_iterable(combinations(names, n) for n in range(len(names) + 1))
        together: list[tuple[Preference, ...]] = [(TOGETHER,), *((TOGETHER, name) for name in NEXT)]
        for chosen in chain(alone, together):
            yield replace(self._options, prefer=chosen)

    def _neighbours(self, options: Options, trial: Trial) -> Iterator[Options]:
        """Programs that differ in one decision, in an order that favours no node."""
        changes = [(key, other) for key, candidates in (trial.space or {}).items() for other in candidates[1:]]
        self._random.shuffle(changes)
        for (decision, node), candidate in changes:
            nodes = {**options.decisions.get(decision, {}), node: candidate}
            yield replace(options, decisions={**options.decisions, decision: nodes})

    def run(self, executor: Executor, jobs: int, seconds: float) -> Outcome:
        """Search until the time is over or no neighbour is left. The first trial is waited for in any case."""
        deadline = time.monotonic() + seconds
        running: dict[Future[Trial], Options] = {}
        while True:
            while len(running) < jobs and (time.monotonic() < deadline or not self.outcome.trials + len(running)):
                following = self._next()
                if following is None:
                    break
                running[executor.submit(run_trial, self._model, following)] = following
            if not running:
                self.outcome.finished = time.monotonic() < deadline
                return self.outcome
            left = None if self.outcome.untuned is None else max(0.0, deadline - time.monotonic())
            done, _ = wait(running, left, FIRST_COMPLETED)
            if not done:
                return self.outcome
            for future in done:
                options, trial = running.pop(future), future.result()
                self._keep(options, trial)
                self._note(options, trial)

    def _next(self) -> Options | None:
        """The next program that was not tried; what is remembered is noted on the way."""
        while (options := next(self._waiting, None)) is not None:  # what is noted may change what waits
            if (name := _identity(options)) in self._seen:
                continue
            self._seen.add(name)
            if (known := self._look(options)) is None:
                return options
            self.outcome.remembered += 1
            self._note(options, known)
        return None

    def _note(self, options: Options, trial: Trial) -> None:
        self.outcome.trials += 1
        best = self.outcome.best.length
        if options is self._options:
            self.outcome.untuned = trial
        # What compiled itself with several preferences asked in each of them: the same with fixed ones replaces it.
        if trial.length < best or (trial.length == best and self.outcome.options.prefer is None):
            self.outcome.best, self.outcome.options = trial, options
            if options.prefer is not None:
                self._waiting = chain(self._beginning(), self._neighbours(options, trial))
        self._report(self.outcome)
