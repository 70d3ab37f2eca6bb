"""Deadlines: wall-clock times of a class, moments in UTC, lateness and its credit. No database.

A deadline is written as people say it, in the class's zone on that day, so it stays at its hour when the clocks change.
A time that the clocks skip is refused where it is typed, and moved by the length of the gap where it is computed; one that
they repeat means the later one, which gives nobody less time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo


class SkippedHour(ValueError):
    """The clocks jump over this wall-clock time."""

    def __init__(self, wall: datetime, zone: str) -> None:
        super().__init__(
            f"{wall:%H:%M} doesn't exist on {wall.day} {wall:%B %Y} in {zone}: the clocks go forward over it. "
            "Choose a time before or after."
        )


def moment(wall: datetime, zone: str) -> datetime:
    """A wall-clock time of a zone as a moment in UTC. Raises SkippedHour."""
    there = wall.replace(tzinfo=ZoneInfo(zone), fold=1)
    utc = there.astimezone(UTC)
    if utc.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != wall.replace(tzinfo=None, fold=0):
        raise SkippedHour(wall, zone)
    return utc


def wall_clock(at: datetime, zone: str) -> datetime:
    """The time that a clock in the zone shows, without a zone."""
    return at.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)


def rezoned(at: datetime, old: str, new: str) -> datetime:
    """The same wall-clock time in another zone; where that doesn't exist, as much later as the clocks jump there."""
    return _nearest(wall_clock(at, old), new)


def days_later(at: datetime, days: int, zone: str) -> datetime:
    """The same wall-clock time so many days later, also when the clocks change in between."""
    return _nearest(wall_clock(at, zone) + timedelta(days=days), zone)


def moved_along(at: datetime, old: datetime, new: datetime, zone: str) -> datetime:
    """What stood so long after `old` on the wall, as long after `new` on the wall; never before `new`."""
    after = wall_clock(at, zone) - wall_clock(old, zone)
    return max(new, _nearest(wall_clock(new, zone) + after, zone))


def _nearest(wall: datetime, zone: str) -> datetime:
    try:
        return moment(wall, zone)
    except (
        SkippedHour
    ):  # read by the clocks before the jump: half an hour on Lord Howe, a day on Samoa in 2011
        return wall.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)


def to_second(at: datetime) -> datetime:
    """Deadlines are kept to the second: what arrives within the last second is in time."""
    return at.replace(microsecond=0)


@dataclass(frozen=True)
class LateStep:
    """Handed in up to so many hours late, so much of the score counts."""

    hours: float
    credit: int  # percent


@dataclass(frozen=True)
class Window:
    """When one learner may work: the assignment's dates with their own extension, until the class is archived."""

    opens: datetime
    due: datetime
    closes: datetime
    attempts: int | None
    minutes: int | None
    steps: tuple[LateStep, ...] = ()
    late_credit: int = 100
    archived: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether something may be handed in."""
        return self.archived is None and self.opens <= now and to_second(now) <= self.closes

    @property
    def cut_short(self) -> bool:
        """Whether the class was archived while something could still be handed in."""
        return self.archived is not None and self.archived < self.closes

    def ends(self, started: datetime) -> datetime:
        """The last moment for an attempt that began at `started`."""
        closes = self.closes if self.archived is None else min(self.closes, self.archived)
        if self.minutes is None:
            return closes
        return min(closes, to_second(started) + timedelta(minutes=self.minutes))

    def is_over(self, started: datetime, now: datetime) -> bool:
        """Whether the time of an attempt that began at `started` is up."""
        return self.archived is not None or to_second(now) > self.ends(started)

    def late_by(self, submitted: datetime) -> timedelta:
        """How late something is; zero when it isn't."""
        return max(timedelta(0), to_second(submitted) - self.due)

    def credit(self, submitted: datetime) -> int:
        """Percent of the score that counts for something handed in then."""
        late = self.late_by(submitted)
        if not late:
            return 100
        hours = late.total_seconds() / 3600
        fitting = [
            step.credit for step in sorted(self.steps, key=lambda step: step.hours) if hours <= step.hours
        ]
        return fitting[0] if fitting else self.late_credit


def in_words(span: timedelta) -> str:
    """A span as people say it: 3 days 4 h, 2 h 5 min, 40 s."""
    seconds = int(span.total_seconds())
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, seconds = divmod(rest, 60)
    if days:
        return f"{days} day{'' if days == 1 else 's'}{f' {hours} h' if hours else ''}"
    if hours:
        return f"{hours} h{f' {minutes} min' if minutes else ''}"
    return f"{minutes} min" if minutes else f"{seconds} s"
