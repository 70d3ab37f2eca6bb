"""Reads about courses and the scores that went back."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from interview.lti.models import SENT, WAITING, Course, ResourceLink, ScoreReturn
from interview.teaching.models import Classroom, Membership


@dataclass
class LinkLine:
    """A link with its scores counted, and those that are in trouble by name."""

    link: ResourceLink
    n_sent: int = 0
    n_waiting: int = 0
    troubles: list[tuple[str, ScoreReturn]] = field(default_factory=list)


def link_lines(classroom: Classroom) -> list[LinkLine]:
    """The links of a class's courses; three queries however many there are."""
    links = ResourceLink.objects.filter(course__classroom=classroom).select_related(
        "course__platform", "assignment"
    )
    seats = Membership.objects.filter(classroom=classroom).select_related("owner")
    names = {seat.owner_id: seat.shown_name for seat in seats}
    returns: dict[int, list[ScoreReturn]] = defaultdict(list)
    for row in ScoreReturn.objects.filter(link__course__classroom=classroom):
        returns[row.link_id].append(row)
    return [_line(link, returns[link.pk], names) for link in links]


def _line(link: ResourceLink, rows: list[ScoreReturn], names: dict[int, str]) -> LinkLine:
    line = LinkLine(link)
    for row in rows:
        if row.state == SENT:
            line.n_sent += 1
            continue
        line.n_waiting += row.state == WAITING
        if row.error:
            line.troubles.append((names.get(row.owner_id, "somebody who left"), row))
    line.troubles.sort(key=lambda trouble: trouble[0].casefold())
    return line


def has_course(classroom: Classroom) -> bool:
    """Whether a class is a course on some platform."""
    return Course.objects.filter(classroom=classroom).exists()
