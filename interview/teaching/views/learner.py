"""The learner's side: what is due, the calendar, notifications, disputes, one's own data in a class."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe
from icalendar import Alarm, Calendar, Event

from interview.accounts.export import row_as_dict
from interview.accounts.sessions import AccountRequest
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import (
    EDITORS,
    Answer,
    Dispute,
    Membership,
    NoticeChoice,
    Notification,
    Override,
    Submission,
)
from interview.teaching.rights import EVERYBODY, seat_of
from interview.teaching.selectors import dashboard
from interview.teaching.selectors.results import released
from interview.teaching.services import grading, notices, retention
from interview.teaching.views.pages import reads, writes

SHOWN = 100


@reads
def due(request: AccountRequest) -> HttpResponse:
    """Everything to do in all classes, by due date in one's own zone."""
    lines = dashboard.lines(request.user)
    choice = notices.choice_of(request.user)
    context = {
        "todo": [line for line in lines if line.state in ("to do", "working")],
        "done": [line for line in lines if line.state not in ("to do", "working")],
        "choice": choice,
        "zone": request.user.time_zone,
    }
    return render(request, "teaching/due.html", context)


@never_cache
@require_safe
def calendar(request: HttpRequest, key: str) -> HttpResponse:
    """The due dates as a calendar that other programs subscribe to; the address is the secret."""
    choice = NoticeChoice.objects.select_related("owner").filter(feed_key=key, owner__is_active=True).first()
    if choice is None:
        raise Http404("No such calendar.")
    feed = Calendar()
    feed.add("prodid", "-//Prefill//assignments//EN")
    feed.add("version", "2.0")
    feed.add("x-wr-calname", "Prefill assignments")
    for line in dashboard.lines(choice.owner):
        feed.add_component(_event(request, line))
    return HttpResponse(feed.to_ical(), content_type="text/calendar; charset=utf-8")


def _event(request: HttpRequest, line: Any) -> Event:
    assignment = line.assignment
    event = Event()
    event.add("uid", f"{assignment.pk}@prefill")
    event.add("summary", f"Due: {assignment.title} ({assignment.classroom.name})")
    event.add("dtstamp", timezone.now())
    event.add("dtstart", line.window.due - timedelta(minutes=30))
    event.add("dtend", line.window.due)
    event.add(
        "url", request.build_absolute_uri(f"/classes/{assignment.classroom_id}/assignments/{assignment.pk}/")
    )
    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("description", assignment.title)
    alarm.add("trigger", timedelta(hours=-24))
    event.add_component(alarm)
    return event


@writes
def notice_choice(request: AccountRequest) -> HttpResponse:
    """Letters on or off, or a new calendar address."""
    if "renew" in request.POST:
        notices.feed_key_renew(user=request.user)
        messages.success(request, "The calendar has a new address; the old one shows nothing any more.")
    else:
        notices.digest_set(user=request.user, on=request.POST.get("digest") == "1")
        messages.success(request, "Saved.")
    return redirect("teaching:due")


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """End the letters: a button for people, one POST for mail programs (RFC 8058). The token is the permission."""
    done = request.method == "POST" and notices.unsubscribe(token)
    if request.method == "POST" and not done:
        raise Http404("No such letter.")
    return render(request, "teaching/unsubscribe.html", {"done": done})


@reads
def notifications(request: AccountRequest) -> HttpResponse:
    """What happened."""
    rows = list(Notification.objects.filter(owner=request.user)[:SHOWN])
    notices.notifications_read(user=request.user)
    return render(request, "teaching/notifications.html", {"rows": rows})


@writes
def dispute(request: AccountRequest, submission_id: uuid.UUID, answer_id: int) -> HttpResponse:
    """Object to a score one may see."""
    found = (
        Answer.objects.select_related("submission__assignment", "submission__owner", "item__assignment")
        .filter(pk=answer_id, submission=submission_id, submission__owner=request.user)
        .first()
    )
    if found is None or found.submission.submitted is None:
        raise Http404("No such answer.")
    seat_of(request.user, found.item.assignment.classroom_id, EVERYBODY, writes=True)
    if not released(found.submission)["level"]:
        raise Http404("There is no feedback on this yet.")
    try:
        made = grading.dispute_open(answer=found, comment=request.POST.get("comment", ""))
    except TeachingRefused as refusal:
        messages.error(request, str(refusal))
    else:
        notices.dispute_opened(dispute=made)
        messages.success(request, "Your teacher will look at it.")
    return redirect("teaching:result", submission_id=submission_id)


@reads
def learner_export(request: AccountRequest, class_id: uuid.UUID, member_id: int) -> HttpResponse:
    """Everything a class holds about one learner, for the learner and for the teachers who answer such requests.

    A learner's own file leaves out what the feedback policy still holds back.
    """
    seat = seat_of(request.user, class_id, EVERYBODY)
    member = Membership.objects.select_related("owner").filter(classroom_id=class_id, pk=member_id).first()
    if member is None or (member.owner_id != request.user.pk and not seat.can_edit):
        raise Http404("No such member.")
    if member.owner_id != request.user.pk:
        grading.access_note(
            classroom=seat.classroom, reader=request.user, learner=member.owner, what="export of all answers"
        )
    attempts = Submission.objects.filter(assignment__classroom=seat.classroom, owner=member.owner)
    document = {
        "class": seat.classroom.name,
        "member": row_as_dict(member),
        "attempts": [
            _attempt(row, staff=seat.can_edit) for row in attempts.select_related("assignment", "owner")
        ],
    }
    name = f'attachment; filename="class-{member.pk}.json"'
    return JsonResponse(document, headers={"Content-Disposition": name})


def _attempt(submission: Submission, *, staff: bool) -> dict[str, Any]:
    level = "full" if staff else released(submission)["level"] if submission.submitted else ""
    hidden = {
        "": ("verdict", "share", "review", "overridden", "grader"),
        "points": ("verdict", "review"),
    }.get(level, ())
    totals = () if level else ("earned", "n_pending", "pinned")
    answers = submission.answers.select_related("item")
    return {
        "assignment": submission.assignment.title,
        **_columns(submission, totals),
        "answers": [
            {
                "question": row.item.question_id,
                **_columns(row, hidden),
                "rulings": [row_as_dict(ruling) for ruling in Override.objects.filter(answer=row)]
                if level == "full"
                else [],
                "disputes": [row_as_dict(item) for item in Dispute.objects.filter(answer=row)],
            }
            for row in answers
        ],
    }


def _columns(row: Submission | Answer, hidden: tuple[str, ...]) -> dict[str, Any]:
    """A row's columns without those that the policy holds back."""
    names = [field.attname for field in row._meta.concrete_fields]
    return {name: getattr(row, name) for name in names if name not in hidden}


@writes
def learner_delete(request: AccountRequest, class_id: uuid.UUID, member_id: int) -> HttpResponse:
    """Delete what one learner handed in to this class."""
    seat = seat_of(request.user, class_id, EDITORS)
    member = (
        Membership.objects.select_related("owner", "classroom")
        .filter(classroom_id=class_id, pk=member_id)
        .first()
    )
    if member is None:
        raise Http404("No such member.")
    if request.POST.get("confirm", "").strip() != member.shown_name:
        messages.error(request, f"Type “{member.shown_name}” to confirm. Nothing was deleted.")
    else:
        n_deleted = retention.learner_delete(membership=member)
        messages.success(request, f"{n_deleted} attempts of {member.shown_name} are deleted.")
    return redirect("teaching:learner", class_id=seat.classroom.pk, member_id=member_id)
