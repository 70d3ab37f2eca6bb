"""One loop that starts the children, restarts what dies, says when the site is ready, and ends everything.

It has no threads: output, deaths, restarts and readiness are looked at in turn, a few times a second.
"""

from __future__ import annotations

import selectors
import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType

from interview.serve.child import Child, describe
from interview.serve.listen import ServeFailed

TICK_SECONDS = 0.2
PROBE_SECONDS = 0.3
WAITING_SECONDS = 15.0
STOP_SECONDS = 10.0
DEATHS_BEFORE_READY = 3


class Supervisor:
    """Runs children until it is told to stop; `ready` is asked until all its parts are true."""

    def __init__(
        self,
        children: Sequence[Child],
        *,
        ready: Callable[[], dict[str, bool]],
        on_ready: Callable[[], None],
        prefixed: bool = True,
    ) -> None:
        self.children = list(children)
        self.ready = ready
        self.on_ready = on_ready
        self.prefixed = prefixed
        self.signals = 0
        self.announced = False
        self.unheard = False
        self._selector = selectors.DefaultSelector()
        self._next_probe = 0.0
        self._next_word = 0.0

    def run(self) -> None:
        """Start, watch, stop. Raises ServeFailed when a child keeps dying before the site was ready."""
        before = {
            number: signal.signal(number, self._told)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        self._next_word = time.monotonic() + WAITING_SECONDS
        try:
            for child in self.children:
                self._start(child)
            while not self.signals:
                self._watch()
        finally:
            self._stop()
            for number, handler in before.items():
                signal.signal(number, handler)

    def say(self, line: str) -> None:
        """One line to the terminal; where nobody reads any more, stop."""
        try:
            if not self.unheard:
                print(line, flush=True)
        except BrokenPipeError:
            self.unheard = True
            self.signals += 1

    def _told(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1

    def _watch(self) -> None:
        self._pump(TICK_SECONDS)
        now = time.monotonic()
        for child in self.children:
            status = child.ended()
            if status is not None:
                self._bury(child, status)
            elif not child.running and now >= child.start_at:
                self._start(child)
        if not self.announced and now >= self._next_probe:
            self._probe(now)

    def _start(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:
            raise ServeFailed(f"The {child.name} process can't be started: {error}.") from error
        self._selector.register(child.output, selectors.EVENT_READ, child)

    def _pump(self, seconds: float) -> None:
        """Pass on what the children write, waiting for it this long at most."""
        for key, _ in self._selector.select(seconds):
            if not self._pass_on(key.data):
                time.sleep(0.02)  # its end of the pipe is closed: don't spin until it is buried

    def _pass_on(self, child: Child) -> bool:
        lines = child.lines()
        for line in lines:
            self.say(f"{child.name:<6} | {line}" if self.prefixed else line)
        return bool(lines)

    def _bury(self, child: Child, status: int) -> None:
        self._pass_on(child)
        self._selector.unregister(child.output)
        pause = child.bury()
        self.say(f"The {child.name} process {describe(status)}; it starts again in {pause:.0f} s.")
        if not self.announced and child.deaths_in_a_row >= DEATHS_BEFORE_READY:
            raise ServeFailed(
                f"The {child.name} process ended {DEATHS_BEFORE_READY} times before the site was ready. "
                "Its last lines above say why."
            )

    def _probe(self, now: float) -> None:
        parts = self.ready()
        self._next_probe = time.monotonic() + PROBE_SECONDS
        if all(parts.values()):
            self.announced = True
            self.on_ready()
        elif now >= self._next_word:
            missing = ", ".join(name for name, state in parts.items() if not state)
            self.say(f"Still waiting for: {missing}.")
            self._next_word = now + WAITING_SECONDS

    def _stop(self) -> None:
        """End web and worker together, then Valkey; a second Ctrl-C or ten seconds end them at once."""
        running = [child for child in self.children if child.running]
        for wave in ([c for c in running if not c.stops_last], [c for c in running if c.stops_last]):
            for child in wave:
                child.signal(signal.SIGTERM)
            deadline = time.monotonic() + STOP_SECONDS
            while any(c.ended() is None for c in wave) and time.monotonic() < deadline and self.signals < 2:
                self._pump(0.05)
            for child in wave:
                self._pass_on(child)
                self._selector.unregister(child.output)
                child.end()
