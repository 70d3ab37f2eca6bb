"""What people are told: on the site at once, by letter once a day unless they asked for none."""

from __future__ import annotations

import secrets
import uuid
from collections import defaultdict
from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from interview.accounts import mail
from interview.accounts.models import User
from interview.teaching.dates import Window
from interview.teaching.models import (
    LEARNER,
    STAFF,
    Answer,
    Assignment,
    Dispute,
    Extension,
    Membership,
    NoticeChoice,
    Notification,
    Submission,
)
from interview.teaching.selectors.assignments import feedback_level, window_of

UNSUBSCRIBE_SALT = "teaching.unsubscribe"
SOON = timedelta(hours=24)


def choice_of(user: User) -> NoticeChoice:
    """Somebody's choices; made with their calendar's secret when first asked for."""
    found, _ = NoticeChoice.objects.get_or_create(
        owner=user, defaults={"feed_key": secrets.token_urlsafe(32)}
    )
    return found


def digest_set(*, user: User, on: bool) -> None:
    """Letters, or none."""
    choice_of(user)
    NoticeChoice.objects.filter(owner=user).update(digest=on)


def feed_key_renew(*, user: User) -> None:
    """A new secret address for the calendar; the old one shows nothing any more."""
    choice_of(user)
    NoticeChoice.objects.filter(owner=user).update(feed_key=secrets.token_urlsafe(32))


def notify(*, users: list[User], key: str, text: str, path: str) -> None:
    """Tell each of them once."""
    Notification.objects.bulk_create(
        [Notification(owner=user, key=key[:120], text=text[:300], path=path[:300]) for user in users],
        ignore_conflicts=True,
    )


def notifications_read(*, user: User) -> None:
    """Everything that was shown is read."""
    Notification.objects.filter(owner=user, read__isnull=True).update(read=timezone.now())


def _seats(classroom_id: uuid.UUID, roles: set[str] | frozenset[str]) -> list[User]:
    seats = Membership.objects.filter(classroom_id=classroom_id, left__isnull=True, role__in=roles)
    return [seat.owner for seat in seats.select_related("owner")]


def assignments_announce() -> None:
    """Tell learners of what has opened, of what is due within a day and not handed in, and of feedback they may see."""
    now = timezone.now()
    two_days = now - timedelta(days=2)
    fresh = Assignment.objects.filter(opens__lte=now, due__gt=now, classroom__archived=None).filter(
        Q(opens__gt=two_days) | Q(created__gt=two_days)
    )
    for assignment in fresh.select_related("classroom"):
        path = reverse("teaching:assignment", args=[assignment.classroom_id, assignment.pk])
        learners = _seats(assignment.classroom_id, {LEARNER})
        text = f"New in {assignment.classroom.name}: {assignment.title}"
        notify(users=learners, key=f"opened-{assignment.pk}", text=text, path=path)
    soon = Assignment.objects.filter(
        opens__lte=now, due__gt=now - timedelta(days=60), classroom__archived=None
    )
    for assignment in soon.select_related("classroom"):
        learners = _seats(assignment.classroom_id, {LEARNER})
        extensions = {row.owner_id: row for row in Extension.objects.filter(assignment=assignment)}
        windows = {user.pk: window_of(assignment, extensions.get(user.pk)) for user in learners}
        attempts: dict[int, list[Submission]] = defaultdict(list)
        for submission in Submission.objects.filter(assignment=assignment):
            attempts[submission.owner_id].append(submission)
        _remind(assignment, learners, windows, attempts, now)
        _feedback(assignment, learners, windows, attempts, now)


def _remind(
    assignment: Assignment,
    learners: list[User],
    windows: dict[int, Window],
    attempts: dict[int, list[Submission]],
    now: datetime,
) -> None:
    """Who has nothing handed in, or is in the middle of another attempt, hears that it is due within a day."""
    due_soon = [
        user
        for user in learners
        if now < windows[user.pk].due <= now + SOON
        and (not attempts[user.pk] or any(row.submitted is None for row in attempts[user.pk]))
    ]
    path = reverse("teaching:assignment", args=[assignment.classroom_id, assignment.pk])
    by_due: dict[datetime, list[User]] = defaultdict(list)
    for user in due_soon:  # an extension is a date of its own: who heard of the first one hears of that too
        by_due[windows[user.pk].due].append(user)
    text = f"Due within a day: {assignment.title}"
    for due, users in by_due.items():
        notify(users=users, key=f"due-{assignment.pk}-{due.timestamp():.0f}", text=text, path=path)


def _feedback(
    assignment: Assignment,
    learners: list[User],
    windows: dict[int, Window],
    attempts: dict[int, list[Submission]],
    now: datetime,
) -> None:
    """Who may now see more of what they handed in, and has a score for it, hears so: once for points, once for the rest."""
    levels: dict[str, list[User]] = defaultdict(list)
    for user in learners:
        handed_in = [row for row in attempts[user.pk] if row.submitted is not None]
        if any(not row.blank for row in handed_in) and not any(row.n_pending for row in handed_in):
            levels[feedback_level(assignment, windows[user.pk], len(handed_in), now)].append(user)
    path = reverse("teaching:assignment", args=[assignment.classroom_id, assignment.pk])
    for level, words in (("points", "Your points"), ("full", "Your feedback")):
        key = f"feedback-{level}-{assignment.pk}"
        told = set(Notification.objects.filter(key=key).values_list("owner_id", flat=True))
        users = [user for user in levels[level] if user.pk not in told]
        notify(users=users, key=key, text=f"{words} for {assignment.title}", path=path)


def graded_by_hand(*, answers: list[Answer]) -> None:
    """Tell learners that a teacher graded something; what it is worth stays on the page that knows the policy."""
    for answer in answers:
        notify(
            users=[answer.submission.owner],
            key=f"graded-{answer.pk}-{timezone.now():%Y%m%d}",
            text=f"A teacher looked at an answer of yours in {answer.item.assignment.title}",
            path=reverse("teaching:result", args=[answer.submission_id]),
        )


def attempts_cut_short(*, submissions: list[Submission]) -> None:
    """Tell learners that the class was archived while they were working, and where what they wrote is."""
    for row in submissions:
        notify(
            users=[row.owner],
            key=f"archived-{row.pk}",
            text=f"The class was archived, so your attempt at {row.assignment.title} was handed in as it stood",
            path=reverse("teaching:receipt", args=[row.pk]),
        )


def dispute_opened(*, dispute: Dispute) -> None:
    """Tell the staff of an objection."""
    assignment = dispute.answer.item.assignment
    notify(
        users=_seats(assignment.classroom_id, STAFF),
        key=f"dispute-{dispute.pk}",
        text=f"A learner disputes a score in {assignment.title}",
        path=reverse("teaching:answer", args=[assignment.classroom_id, dispute.answer_id]),
    )


def dispute_answered(*, dispute: Dispute) -> None:
    """Tell the learner of the reply."""
    answer = dispute.answer
    notify(
        users=[answer.submission.owner],
        key=f"reply-{dispute.pk}",
        text=f"Your teacher replied about an answer in {answer.item.assignment.title}",
        path=reverse("teaching:result", args=[answer.submission_id]),
    )


def unsubscribe_token(user: User) -> str:
    """What a letter's last line carries: it ends the letters without signing in."""
    return signing.dumps(user.pk, salt=UNSUBSCRIBE_SALT)


def unsubscribe(token: str) -> bool:
    """End the letters of whoever the token names; False for a token that is none."""
    try:
        user = User.objects.filter(pk=signing.loads(token, salt=UNSUBSCRIBE_SALT)).first()
    except signing.BadSignature:
        return False
    if user is not None:
        digest_set(user=user, on=False)
    return user is not None


def digests_send() -> int:
    """One letter for each person with something new they have not read. How many letters went out."""
    waiting = Notification.objects.filter(mailed__isnull=True, read__isnull=True, owner__is_guest=False)
    people = User.objects.filter(pk__in=waiting.values("owner"), is_active=True)
    silent = set(NoticeChoice.objects.filter(digest=False).values_list("owner_id", flat=True))
    n_sent = 0
    for user in people:
        with transaction.atomic():
            mine = list(waiting.filter(owner=user).select_for_update())
            Notification.objects.filter(pk__in=[row.pk for row in mine]).update(mailed=timezone.now())
        if user.pk not in silent and mine:
            mail.send_soon(digest(user, mine))
            n_sent += 1
    return n_sent


def digest(user: User, rows: list[Notification]) -> EmailMessage:
    """The letter."""
    link = settings.SITE_URL + reverse("teaching:unsubscribe", args=[unsubscribe_token(user)])
    context = {"user": user, "rows": rows, "site_url": settings.SITE_URL, "unsubscribe": link}
    return EmailMessage(
        subject=f"Prefill: {len(rows)} new" if len(rows) > 1 else f"Prefill: {rows[0].text}",
        body=render_to_string("teaching/mail/digest.txt", context),
        to=[user.email or ""],
        headers={"List-Unsubscribe": f"<{link}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
    )
