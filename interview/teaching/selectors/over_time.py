"""One learner over time: each assignment's share of the points beside the class's mean."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from decimal import Decimal

from interview.calculators.formulas.result import Chart, Series
from interview.calculators.svg import svg
from interview.teaching.models import Assignment, Classroom, Membership
from interview.teaching.selectors.gradebook import course


@dataclass(frozen=True)
class Moment:
    """An assignment in a learner's course: what they have, and the mean share of the `n` others and them assessed."""

    assignment: Assignment
    state: str
    points: Decimal | None
    worth: Decimal
    mean: float | None
    n: int

    @property
    def share(self) -> float | None:
        return None if self.points is None or not self.worth else float(self.points / self.worth)


def over_time(classroom: Classroom, member: Membership) -> list[Moment]:
    """The assignments by due date; empty for somebody who isn't in the class. Four queries."""
    columns, rows = course(classroom)
    mine = next((row for row in rows if row.seat.pk == member.pk), None)
    if mine is None:
        return []
    found = []
    for index, (assignment, worth) in enumerate(columns):
        shares = [
            float(points / worth) for row in rows if (points := row.scores[index][2]) is not None and worth
        ]
        mean = statistics.fmean(shares) if shares else None
        _, state, points = mine.scores[index]
        found.append(Moment(assignment, state, points, worth, mean, len(shares)))
    return found


def drawn(moments: list[Moment], name: str) -> str:
    """The shares as a picture, from two assessed assignments on."""
    own = [(float(place), 100 * row.share) for place, row in enumerate(moments, 1) if row.share is not None]
    mean = [(float(place), 100 * row.mean) for place, row in enumerate(moments, 1) if row.mean is not None]
    if len(own) < 2:
        return ""
    chart = Chart(
        kind="line",
        title=f"{name}: share of the points by assignment, in the order of their due dates",
        x_label="assignment",
        y_label="share of the points",
        y_unit="%",
        series=(Series(name, tuple(own)), Series("class mean", tuple(mean))),
    )
    return svg(chart, 1)
