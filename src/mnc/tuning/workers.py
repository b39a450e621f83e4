"""Where trials run: processes of this computer, or the workers of a `dask.distributed` scheduler."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from mnc.core.diagnostics import CompileError


@contextmanager
def local_workers(number: int | None = None) -> Iterator[tuple[Executor, int]]:
    """Processes, one per processor by default. What still runs at the end is stopped."""
    count = number or len(os.sched_getaffinity(0))
    before = set(multiprocessing.active_children())
    # Spawned: copies of a process that holds MLIR's threads and locks could hang.
    executor = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield executor, count
    finally:
        started = set(multiprocessing.active_children()) - before
        for process in started:
            process.terminate()
        for process in started:
            process.join()
        # Its thread ends because nobody works any more. Without waiting it would free semaphores while Python ends.
        executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def farm(address: str) -> Iterator[tuple[Executor, int]]:
    """The workers of a scheduler, for instance ``tcp://host:8786``.

    Raises:
        CompileError: `dask.distributed` is not installed, or nobody answers.
    """
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError:
        message = "a farm needs the package distributed"
        raise CompileError(message, hint="pip install 'mnc[farm]', or leave --farm out") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        message = f"no scheduler answers at {address}: {str(error).partition(chr(10))[0]}"
        raise CompileError(message, hint="start one with `dask scheduler`, and workers with `dask worker`") from None
    try:
        threads: Any = client.nthreads()
        number = sum(threads.values())
        if not number:
            raise CompileError(f"the scheduler at {address} has no workers", hint="start some with `dask worker`")
        yield client.get_executor(pure=False), number
    finally:
        client.close()
