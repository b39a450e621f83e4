"""Worker processes with a time limit per case and a memory limit: a case that hangs or crashes costs one worker."""

import multiprocessing
import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from outcomes import ERROR, Outcome

_CONTEXT = multiprocessing.get_context("fork")


def preload() -> None:
    """Import everything that a case needs, so that all workers run the same code from the start."""
    import mnc.mncore_backend.emulator  # noqa: F401
    from mnc.core.pipeline_entries import load_pass
    from mnc.lowering.graph_to_linalg.convert import handlers
    from mnc.registry import pass_table

    for path in pass_table().values():
        load_pass(path)
    handlers()


def _serve(pipe: Any, memory: int) -> None:
    from cases import all_cases
    from outcomes import run_case

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    while (name := pipe.recv()) is not None:
        pipe.send(run_case(all_cases()[name]))


@dataclass
class _Worker:
    process: Any
    pipe: Any
    name: str = ""
    deadline: float = 0.0

    @staticmethod
    def start(memory: int) -> "_Worker":
        ours, theirs = _CONTEXT.Pipe()
        process = _CONTEXT.Process(target=_serve, args=(theirs, memory), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def give(self, name: str, seconds: float) -> None:
        self.name, self.deadline = name, time.monotonic() + seconds
        self.pipe.send(name)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_all(
    names: Sequence[str], origins: dict[str, tuple[str, str]], *, workers: int, seconds: float, memory: int
) -> Iterator[Outcome]:
    """Outcomes in the order in which cases end.

    Args:
        origins: kind and operator of every case, for cases whose worker dies.
        seconds, memory: limits of one case, and of one process in bytes.
    """
    preload()
    waiting = list(reversed(names))
    team = [_Worker.start(memory) for _ in range(min(workers, len(names)))]
    busy: list[_Worker] = []
    while waiting or busy:
        while team and waiting:
            worker = team.pop()
            worker.give(waiting.pop(), seconds)
            busy.append(worker)
        for worker in list(busy):
            outcome = _poll(worker, origins, seconds)
            if outcome is None:
                continue
            busy.remove(worker)
            team.append(worker if worker.process.is_alive() else _Worker.start(memory))
            yield outcome
    for worker in team:
        worker.stop()


def _poll(worker: _Worker, origins: dict[str, tuple[str, str]], seconds: float) -> Outcome | None:
    """The outcome of a worker's case, None while it runs; a worker that hangs or died is stopped."""
    try:
        if worker.pipe.poll(0.02):
            return worker.pipe.recv()
        alive = worker.process.is_alive()
    except (EOFError, OSError):
        alive = False
    if alive and time.monotonic() < worker.deadline:
        return None
    reason = f"took longer than {seconds:.0f} s" if alive else "the process died"
    worker.stop()
    return Outcome(worker.name, *origins[worker.name], ERROR, reason)
