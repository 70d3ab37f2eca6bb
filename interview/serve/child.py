"""One supervised child process: its command, its back-off, and its output with its name before each line."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from interview.serve.parent import die_with_parent

BACK_OFF_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
HEALTHY_SECONDS = 60.0
ANSWER_SECONDS = 10.0


class Child:
    """A process that is started again when it ends; waits longer each time until it has lived a minute."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        keep_fds: Sequence[int] = (),
        on_death: Callable[[int], None] | None = None,
        answers: Callable[[], bool] | None = None,
        stops_last: bool = False,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.environment = dict(environment or os.environ)
        self.keep_fds = tuple(keep_fds)
        self.on_death = on_death
        self.answers = answers
        self.stops_last = stops_last
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths_in_a_row = 0
        self.started_at = 0.0
        self.start_at = 0.0
        self._unfinished = b""

    @property
    def running(self) -> bool:
        return self.process is not None

    @property
    def pid(self) -> int:
        return self.process.pid if self.process else 0

    def start(self) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches only the supervisor."""
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment,
            pass_fds=self.keep_fds,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        os.set_blocking(self.output, False)
        self.started_at = time.monotonic()
        self._wait_for_answer()

    def _wait_for_answer(self) -> None:
        """Those started after it may count on it, where it says how to ask."""
        deadline = self.started_at + ANSWER_SECONDS
        while self.answers and self.ended() is None and time.monotonic() < deadline and not self.answers():
            time.sleep(0.02)

    @property
    def output(self) -> int:
        assert self.process is not None and self.process.stdout is not None
        return self.process.stdout.fileno()

    def lines(self) -> list[str]:
        """What it wrote since the last call, in whole lines; never waits."""
        chunks = [self._unfinished]
        while True:
            try:
                chunk = os.read(self.output, 65536)
            except BlockingIOError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        *whole, self._unfinished = b"".join(chunks).split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole]

    def ended(self) -> int | None:
        """Its exit status once it has ended (minus the signal's number when killed), else None."""
        return self.process.poll() if self.process else None

    def bury(self) -> float:
        """After a death: clear up and choose when it starts again; returns the seconds until then."""
        lived = time.monotonic() - self.started_at
        self.end()
        self.deaths_in_a_row = 1 if lived >= HEALTHY_SECONDS else self.deaths_in_a_row + 1
        pause = BACK_OFF_SECONDS[min(self.deaths_in_a_row, len(BACK_OFF_SECONDS)) - 1]
        self.start_at = time.monotonic() + pause
        return pause

    def end(self) -> None:
        """Kill what is left of it and of what it started, and say so to whoever asked to know."""
        assert self.process is not None and self.process.stdout is not None
        self.signal(signal.SIGKILL)
        self.process.wait()
        pid = self.pid
        self.process.stdout.close()
        self.process = None
        self._unfinished = b""
        if self.on_death is not None:
            self.on_death(pid)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to what it started."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return


def describe(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
