"""A small simulation of serving: static or continuous batching, contiguous or paged cache, on one trace of requests.

Continuous batching: Orca, OSDI 2022. Paged cache: vLLM, arXiv 2309.06180. A prompt is read on its own and stalls the
batch; every running sequence then gets one token a step. Time advances from event to event, not step by step.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """When it comes, how long its prompt is, how many tokens it wants."""

    arrival: float
    prompt: int
    output: int


@dataclass(frozen=True, slots=True)
class Server:
    """Slots, step time (`base` + `each` a sequence, seconds), prefill speed, cache tokens and how they are given out."""

    slots: int
    base: float
    each: float
    prefill_rate: float
    cache: int
    block: int
    longest: int
    continuous: bool = True
    paged: bool = True

    def step(self, running: int) -> float:
        """Seconds of one decode step."""
        return self.base + self.each * running

    def reserved(self, request: Request) -> int:
        """Cache tokens set aside for a request."""
        if not self.paged:
            return self.longest
        return -(-(request.prompt + request.output) // self.block) * self.block


@dataclass(frozen=True, slots=True)
class Served:
    """One request's course: slot, times, and what was set aside against what it used."""

    slot: int
    arrival: float
    start: float
    end: float
    output: int
    reserved: int
    used: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The course of every request and the totals of the run."""

    served: tuple[Served, ...]
    steps: int
    busy_slots: int
    makespan: float


def trace(count: int, rate: float, prompt: int, output: int, spread: str, seed: int) -> list[Request]:
    """`count` requests: Poisson arrivals at `rate` a second; lengths fixed or exponential around their means."""
    dice = random.Random(seed)
    now, requests = 0.0, []
    for _ in range(count):
        now += dice.expovariate(rate)
        requests.append(Request(now, _length(dice, prompt, spread), _length(dice, output, spread)))
    return requests


def _length(dice: random.Random, mean: int, spread: str) -> int:
    if spread == "fixed":
        return mean
    return max(1, min(20 * mean, round(dice.expovariate(1 / mean))))


def serve(requests: list[Request], server: Server) -> Outcome:
    """Serve the trace in order of arrival."""
    return _Run(requests, server).go()


class _Run:
    """The state of one simulation."""

    def __init__(self, requests: list[Request], server: Server) -> None:
        self.server = server
        self.waiting = sorted(requests, key=lambda r: r.arrival)
        self.next = 0
        self.now = 0.0
        self.step_count = 0
        self.busy = 0
        self.cache_used = 0
        # (step at which it is done, slot, request, start)
        self.running: list[tuple[int, int, Request, float]] = []
        self.free = list(range(server.slots))
        self.done: list[Served] = []

    def go(self) -> Outcome:
        """Run until every request is served."""
        while self.next < len(self.waiting) or self.running:
            if self.server.continuous or not self.running:
                self._admit()
            if not self.running:
                self.now = max(self.now, self.waiting[self.next].arrival)
                continue
            self._advance()
        return Outcome(tuple(self.done), self.step_count, self.busy, self.now)

    def _admit(self) -> None:
        """Start waiting requests while slots and cache allow; one alone always starts."""
        while self.free and self.next < len(self.waiting) and self.waiting[self.next].arrival <= self.now:
            request = self.waiting[self.next]
            size = self.server.reserved(request)
            if self.running and self.cache_used + size > self.server.cache:
                return
            self.cache_used += size
            self.next += 1
            start = self.now
            self.now += request.prompt / self.server.prefill_rate
            slot = heapq.heappop(self.free)
            heapq.heappush(self.running, (self.step_count + request.output, slot, request, start))

    def _advance(self) -> None:
        """Go to the next end of a request, or to the arrival that may join before it."""
        length = self.server.step(len(self.running))
        steps = self.running[0][0] - self.step_count
        joins = self.server.continuous and self.free and self.next < len(self.waiting)
        if joins and self.waiting[self.next].arrival > self.now:
            until = math.ceil((self.waiting[self.next].arrival - self.now) / length)
            steps = max(1, min(steps, until))
        self.step_count += steps
        self.busy += steps * len(self.running)
        self.now += steps * length
        self._finish()

    def _finish(self) -> None:
        while self.running and self.running[0][0] <= self.step_count:
            _, slot, request, start = heapq.heappop(self.running)
            size = self.server.reserved(request)
            self.cache_used -= size
            heapq.heappush(self.free, slot)
            used = request.prompt + request.output
            self.done.append(Served(slot, request.arrival, start, self.now, request.output, size, used))
