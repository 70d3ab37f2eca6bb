"""A child that never outlives its parent, even one that is killed with -9."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(signal_number: int = signal.SIGKILL) -> Callable[[], None]:
    """A `preexec_fn`: the kernel sends the signal when the thread that started the child ends (Linux only).

    Elsewhere children of a killed supervisor stay until they are ended by hand; the next start names them.
    """
    parent = os.getpid()

    def ask() -> None:
        if _libc is None:
            return
        _libc.prctl(PR_SET_PDEATHSIG, int(signal_number))
        if os.getppid() != parent:  # it died between the fork and this line
            os._exit(1)

    return ask
