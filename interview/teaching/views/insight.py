"""Insight that leads to action: what was missed, what to show, a set to follow up with."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from interview.accounts.sessions import AccountRequest
from interview.questions.models import Question
from interview.teaching.models import EDITORS, STAFF
from interview.teaching.rights import seat_of
from interview.teaching.selectors import insight as selectors
from interview.teaching.services.sets import items_add, set_create
from interview.teaching.views.pages import reads, writes

RELATED = 2


@reads
def insight(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """The five most missed points with what to show in the next lesson."""
    seat = seat_of(request.user, class_id, STAFF)
    points, common = selectors.missed(seat.classroom)
    context = {"seat": seat, "tab": "insight", "points": points, "common": common}
    return render(request, "teaching/insight.html", context)


@writes
def follow_up(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """A set from what was missed: those questions again, and the next ones of their topics."""
    seat = seat_of(request.user, class_id, EDITORS)
    points, _ = selectors.missed(seat.classroom)
    missed = list(dict.fromkeys(point.question for point in points))
    if not missed:
        messages.info(request, "Nothing was missed yet, so there is nothing to follow up.")
        return redirect("teaching:insight", class_id=class_id)
    made = set_create(
        owner=request.user,
        title=f"Follow-up for {seat.classroom.name}"[:120],
        about="The questions whose key points the class missed most, and the next ones of their topics.",
    )
    items_add(question_set=made, questions=missed, section="Once more")
    related = [
        question
        for topic in dict.fromkeys(question.topic_id for question in missed)
        for question in Question.objects.filter(topic=topic, owner=None, uid="", retired=None).exclude(
            pk__in=[question.pk for question in missed]
        )[:RELATED]
    ]
    items_add(question_set=made, questions=related, section="Next to it")
    messages.success(request, "This set is yours: change it, then assign it.")
    return redirect("teaching:set_page", set_id=made.pk)
