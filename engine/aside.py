"""Work in a passing thread, so that the team of OpenMP workers it starts ends with it.

OpenMP keeps a team for every thread that ran a parallel loop. While all teams together are no more than the cores,
an idle worker waits actively for the next loop; beyond that it sleeps, and waking it costs more than most loops of a
decoding step take (17 ms a token instead of 11.5 on two cores). So the engine's loop is to be the only thread that
keeps a team: loading and embedding happen aside.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import TypeVar

import torch

T = TypeVar("T")


def aside(work: Callable[[], T], *, on_one_core: bool = False) -> T:
    """What `work` returns or raises, computed in a thread that ends before this returns.

    `on_one_core` starts no team at all: several such threads share the cores without waiting for each other's halves.
    """
    promise: Future[T] = Future()

    def run() -> None:
        try:
            if on_one_core:
                _without_a_team()
            promise.set_result(work())
        except BaseException as error:
            promise.set_exception(error)

    thread = threading.Thread(target=run, name="engine-aside", daemon=True)
    thread.start()
    thread.join()
    return promise.result()


def _without_a_team() -> None:
    """This thread alone runs what OpenMP would divide; `torch.set_num_threads` would tell threads made later too."""
    torch.get_num_threads()  # torch tells OpenMP its number at a thread's first question, and must not do so later
    if (told := _openmp()) is not None:
        told(1)


@cache
def _openmp() -> Callable[[int], object] | None:
    """OpenMP's own setting for the thread that calls it; None where torch was built without."""
    return getattr(ctypes.CDLL(torch._C.__file__), "omp_set_num_threads", None)
