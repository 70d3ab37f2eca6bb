"""Scores that go back: what each platform should have is compared with what it has, and the difference is sent.

Whatever changes a score (a ruling, a regrade, points, a date) is found by the comparison, so nothing has to remember to tell.
A score is returned once it is complete and its learner may see it.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import requests
import structlog
from django.db.models import Sum
from django.urls import reverse
from django.utils import timezone
from pylti1p3.assignments_grades import AssignmentsGradesService
from pylti1p3.exception import LtiException
from pylti1p3.grade import Grade
from pylti1p3.lineitem import LineItem
from pylti1p3.service_connector import ServiceConnector

from interview.accounts.models import User
from interview.lti.http import PlatformSession
from interview.lti.models import FAILED, SENT, WAITING, PlatformAccount, ResourceLink, ScoreReturn
from interview.lti.tool import registration
from interview.teaching.models import (
    LEARNER,
    STAFF,
    AssignedQuestion,
    Assignment,
    Extension,
    Membership,
    Submission,
)
from interview.teaching.scoring import rounded
from interview.teaching.selectors.assignments import Score, counted, feedback_level, window_of
from interview.teaching.services.notices import notify

log = structlog.get_logger(__name__)
TRIES = 12
LONGEST = timedelta(hours=12)
LEASE = timedelta(minutes=5)
CANVAS_SUBMISSION = "https://canvas.instructure.com/lti/submission"


def wanted_scores(assignment: Assignment) -> dict[int, Score]:
    """The counted scores that learners may see, by owner; four queries however large the class is."""
    seats = Membership.objects.filter(classroom=assignment.classroom, left__isnull=True, role=LEARNER)
    extensions = {row.owner_id: row for row in Extension.objects.filter(assignment=assignment)}
    attempts: dict[int, list[Submission]] = defaultdict(list)
    for submission in Submission.objects.filter(assignment=assignment).order_by("number"):
        attempts[submission.owner_id].append(submission)
    found = {}
    for owner_id in seats.values_list("owner_id", flat=True):
        window = window_of(assignment, extensions.get(owner_id))
        score = counted(assignment, window, attempts[owner_id])
        n_handed_in = sum(row.submitted is not None for row in attempts[owner_id])
        if score is not None and score.points is not None and feedback_level(assignment, window, n_handed_in):
            found[owner_id] = score
    return found


def scores_compare() -> int:
    """Put every score that a platform should have and has not on the way. How many."""
    links = ResourceLink.objects.filter(
        assignment__isnull=False, course__classroom__archived=None
    ).select_related("assignment__classroom", "course")
    return sum(_compare(link) for link in links if link.takes_scores)


def _compare(link: ResourceLink) -> int:
    assert link.assignment is not None
    items = AssignedQuestion.objects.filter(assignment=link.assignment)
    total = rounded(items.aggregate(all=Sum("points"))["all"] or Decimal(0))
    if not total:
        return 0
    came = set(
        PlatformAccount.objects.filter(platform=link.course.platform_id).values_list("owner_id", flat=True)
    )
    present = {row.owner_id: row for row in ScoreReturn.objects.filter(link=link)}
    n_changed = 0
    for owner_id, score in wanted_scores(link.assignment).items():
        assert score.points is not None and score.submission.submitted is not None
        row = present.get(owner_id)
        if owner_id not in came or (row is not None and (row.points, row.of) == (score.points, total)):
            continue
        _put_on_the_way(link, owner_id, score.points, total, score.submission.submitted)
        n_changed += 1
    return n_changed


def _put_on_the_way(link: ResourceLink, owner_id: int, points: Decimal, of: Decimal, at: datetime) -> None:
    ScoreReturn.objects.update_or_create(
        link=link,
        owner_id=owner_id,
        defaults={
            "points": points,
            "of": of,
            "submitted": at,
            "state": WAITING,
            "tries": 0,
            "next_try": timezone.now(),
            "error": "",
        },
    )


def scores_send(limit: int = 500) -> int:
    """Send what is due. How many arrived; what didn't is tried again later, each time after twice the wait."""
    due = ScoreReturn.objects.filter(state=WAITING, next_try__lte=timezone.now())
    rows = due.select_related("link__course__platform", "link__assignment__classroom", "owner")
    services: dict[int, AssignmentsGradesService] = {}
    n_sent = 0
    for row in rows.order_by("next_try", "id")[:limit]:
        mine = ScoreReturn.objects.filter(pk=row.pk, state=WAITING, next_try=row.next_try)
        if not mine.update(next_try=timezone.now() + LEASE):  # another worker has it
            continue
        try:
            if row.link_id not in services:
                services[row.link_id] = _service(row.link)
            _send(services[row.link_id], row)
        except (LtiException, requests.RequestException, KeyError, ValueError, AssertionError) as error:
            _put_off(row, error)
        else:
            _arrived(row)
            n_sent += 1
    return n_sent


def _service(link: ResourceLink) -> AssignmentsGradesService:
    connector = ServiceConnector(registration(link.course.platform), PlatformSession())
    data: Any = {"scope": link.scopes, "lineitem": link.line_item, "lineitems": link.line_items}
    service = AssignmentsGradesService(connector, data)
    if not link.line_item:
        link.line_item = _line_item(service, link)
        ResourceLink.objects.filter(pk=link.pk).update(line_item=link.line_item)
        data["lineitem"] = link.line_item
    return service


def _line_item(service: AssignmentsGradesService, link: ResourceLink) -> str:
    """The gradebook column of a link that came without one: found by the link, or made."""
    assert link.assignment is not None
    items = AssignedQuestion.objects.filter(assignment=link.assignment)
    wanted = LineItem()
    wanted.set_label(link.assignment.title).set_tag(str(link.assignment_id))
    wanted.set_score_maximum(float(items.aggregate(all=Sum("points"))["all"] or 1))
    wanted.set_resource_link_id(link.resource)
    found = service.find_or_create_lineitem(wanted, find_by="resource_link_id").get_id()
    if not found:
        raise LtiException("The platform made a gradebook column without an address")
    return str(found)


def _send(service: AssignmentsGradesService, row: ScoreReturn) -> None:
    account = PlatformAccount.objects.get(platform=row.link.course.platform_id, owner=row.owner_id)
    at = row.submitted.isoformat()
    grade = Grade()
    grade.set_user_id(account.sub).set_timestamp(timezone.now().isoformat())
    grade.set_score_given(float(row.points)).set_score_maximum(float(row.of))
    grade.set_activity_progress("Completed").set_grading_progress("FullyGraded")
    # Canvas takes the time of handing in from its own field, others from the standard's.
    grade.set_extra_claims({"submission": {"submittedAt": at}, CANVAS_SUBMISSION: {"submitted_at": at}})
    service.put_grade(grade)


def _same(row: ScoreReturn) -> dict[str, object]:
    """Only while the row still holds what was sent: a score that changed meanwhile goes again."""
    return {"pk": row.pk, "points": row.points, "of": row.of}


def _arrived(row: ScoreReturn) -> None:
    ScoreReturn.objects.filter(**_same(row)).update(
        state=SENT, sent=timezone.now(), tries=row.tries + 1, error=""
    )


def _put_off(row: ScoreReturn, error: Exception) -> None:
    tries = row.tries + 1
    wait = min(timedelta(minutes=2 ** (tries - 1)), LONGEST)
    state = FAILED if tries >= TRIES else WAITING
    told = _told(error)
    ScoreReturn.objects.filter(**_same(row)).update(
        state=state, tries=tries, next_try=timezone.now() + wait, error=told
    )
    log.warning("score_not_returned", link=row.link_id, tries=tries, error=told)
    if state == FAILED:
        _tell_staff(row)


def _told(error: Exception) -> str:
    """The platform's own answer, shortened; a status says more than the library's sentence."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"{response.status_code} {response.reason}: {' '.join(response.text.split())}"[:300]
    return (" ".join(str(error).split()) or type(error).__name__)[:300]


def _tell_staff(row: ScoreReturn) -> None:
    assert row.link.assignment is not None
    classroom = row.link.course.classroom
    staff = User.objects.filter(
        memberships__classroom=classroom, memberships__role__in=STAFF, memberships__left=None
    )
    notify(
        users=list(staff),
        key=f"lti-{row.link_id}-{timezone.now():%Y%m%d}",
        text=f"Scores of {row.link.assignment.title} could not be returned to {row.link.course.platform.name}",
        path=reverse("lti:course", args=[classroom.pk]),
    )


def scores_again(*, link: ResourceLink) -> int:
    """Try everything of a link that hasn't arrived again at once. How many."""
    left = ScoreReturn.objects.filter(link=link).exclude(state=SENT)
    return left.update(state=WAITING, tries=0, next_try=timezone.now())
