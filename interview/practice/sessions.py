"""Writes of interview sessions: start, open, answer, skip, follow up, end, share."""

from __future__ import annotations

import random
import secrets
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from interview.accounts.models import User
from interview.plain_text import storable
from interview.practice.models import Attempt, InterviewSession, SessionItem
from interview.practice.services import attempt_submit, probe_submit
from interview.questions.models import Question
from interview.questions.selectors import BANK, SERVED

LONGEST_SECONDS = 24 * 60 * 60
NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class NoQuestions(Exception):
    """Nothing fits what was asked for; the message says what to change."""


class StepPassed(Exception):
    """The question was answered or skipped already, perhaps in another window."""


@transaction.atomic
def session_start(
    *, owner: User, topics: Sequence[str], level: str, n_questions: int, minutes: int, own: bool = False
) -> InterviewSession:
    """Plan a session over questions the owner has not seen for longest. Raises NoQuestions."""
    session = InterviewSession(owner=owner, topics=list(topics), level=level, minutes=minutes)
    picked = _pick(session, n_questions, own=own)
    if not picked:
        raise NoQuestions("No question fits these topics at this level. Choose more topics, or any level.")
    session.save()
    items = [
        SessionItem(session=session, question_id=question, position=position)
        for position, question in enumerate(picked, start=1)
    ]
    SessionItem.objects.bulk_create(items)
    return session


def _pick(session: InterviewSession, n_questions: int, *, own: bool) -> list[str]:
    """Topics in turn; within a topic those never answered first, then the longest ago."""
    allowed = Q(owner=session.owner) | BANK if own else BANK
    questions = Question.objects.filter(SERVED, allowed, rubric__isnull=False)
    if session.topics:
        questions = questions.filter(topic_id__in=session.topics)
    if session.level:
        questions = questions.filter(level=session.level)
    last = Max("attempts__created", filter=Q(attempts__owner=session.owner))
    rows = list(questions.annotate(last=last).order_by("pk").values_list("pk", "topic_id", "last"))
    random.Random(str(session.pk)).shuffle(rows)
    rows.sort(key=lambda row: row[2] or NEVER)
    by_topic: dict[str, list[str]] = defaultdict(list)
    for question, topic, _ in rows:
        by_topic[topic].append(question)
    picked: list[str] = []
    while by_topic and len(picked) < n_questions:
        for topic in list(by_topic):
            picked.append(by_topic[topic].pop(0))
            if not by_topic[topic]:
                del by_topic[topic]
    return picked[:n_questions]


def item_open(item: SessionItem) -> None:
    """The clock of a question starts when it is first shown."""
    if item.opened is None:
        item.opened = timezone.now()
        SessionItem.objects.filter(pk=item.pk, opened__isnull=True).update(opened=item.opened)


@transaction.atomic
def item_answer(*, item: SessionItem, text: str, idempotency_key: str, seen: int | None = None) -> Attempt:
    """Answer a question once. Raises StepPassed, AnswerRefused, IdempotencyConflict."""
    item = (
        SessionItem.objects.select_for_update().select_related("session__owner", "question").get(pk=item.pk)
    )
    sent = item.attempt
    if sent is not None and sent.idempotency_key == idempotency_key and sent.text == storable(text):
        return sent
    _still_open(item)
    taken = (timezone.now() - item.opened).total_seconds() if item.opened else 0.0
    seconds = int(min(taken, LONGEST_SECONDS))
    attempt = attempt_submit(
        owner=item.session.owner,
        question=item.question,
        text=text,
        idempotency_key=idempotency_key,
        elapsed_seconds=seconds,
        seen=seen,
    )
    item.attempt, item.seconds = attempt, seconds
    item.save(update_fields=["attempt", "seconds"])
    return attempt


@transaction.atomic
def item_skip(*, item: SessionItem) -> None:
    """Go on without an answer; a draft stays with the question. Raises StepPassed."""
    item = SessionItem.objects.select_for_update().select_related("session").get(pk=item.pk)
    _still_open(item)
    item.skipped = True
    item.save(update_fields=["skipped"])


def _still_open(item: SessionItem) -> None:
    if item.attempt_id is not None or item.skipped or item.session.ended is not None:
        raise StepPassed("This question was answered or skipped already. Your text is kept as its draft.")


def probe_answer(*, item: SessionItem, probe: int, text: str, idempotency_key: str) -> Attempt:
    """Answer a follow-up. Raises AnswerRefused, IdempotencyConflict."""
    assert item.attempt is not None
    return probe_submit(attempt=item.attempt, probe=probe, text=text, idempotency_key=idempotency_key)


@transaction.atomic
def probe_pass(*, item: SessionItem, probe: int) -> None:
    """Go on without answering a follow-up."""
    item = SessionItem.objects.select_for_update().get(pk=item.pk)
    if probe not in item.passed_probes:
        item.passed_probes = [*item.passed_probes, probe]
        item.save(update_fields=["passed_probes"])


def session_end(session: InterviewSession) -> None:
    """Close a session; what was not answered stays unanswered."""
    if session.ended is None:
        session.ended = timezone.now()
        session.save(update_fields=["ended"])


def report_share(session: InterviewSession) -> str:
    """Make a private link to the report, or give the one there is."""
    if session.share_token is None:
        session.share_token = secrets.token_urlsafe(32)
        session.save(update_fields=["share_token"])
    return session.share_token


def report_unshare(session: InterviewSession) -> None:
    """Make the link lead nowhere; a later one is another."""
    session.share_token = None
    session.save(update_fields=["share_token"])
