"""Work in a passing thread, so that the team of OpenMP workers it starts ends with it.

OpenMP keeps a team for every thread that ran a parallel loop. While all teams together are no more than the cores,
an idle worker waits actively for the next loop; beyond that it sleeps, and waking it costs more than most loops of a
decoding step take (17 ms a token instead of 11.5 on two cores). So the engine's loop is to be the only thread that
keeps a team: loading and embedding happen aside.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def aside(work: Callable[[], T]) -> T:
    """What `work` returns or raises, computed in a thread that ends before this returns."""
    promise: Future[T] = Future()

    def run() -> None:
        try:
            promise.set_result(work())
        except BaseException as error:
            promise.set_exception(error)

    thread = threading.Thread(target=run, name="engine-aside", daemon=True)
    thread.start()
    thread.join()
    return promise.result()
