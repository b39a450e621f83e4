"""Processes for trials leave nothing behind."""

import threading
import time

from mnc.tuning.workers import local_workers


def test_no_thread_outlives_the_workers() -> None:
    """One that does frees semaphores while the command ends, and Python then warns of them."""
    before = set(threading.enumerate())
    with local_workers(1) as (executor, _):
        executor.submit(int).result()
        running = executor.submit(time.sleep, 60)
    assert set(threading.enumerate()) <= before
    assert running.done()
