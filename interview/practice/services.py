"""Writes of practice: drafts, attempts, verdicts, review dates."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from interview.accounts.models import User
from interview.plain_text import is_blank, storable
from interview.practice.models import ANSWER_LIMIT, Attempt, Draft
from interview.practice.reviews import review_record
from interview.questions.models import Question
from interview.runs.models import Run
from interview.runs.services import IdempotencyConflict, run_create

KIND = "grade"
LATE = timedelta(seconds=10)  # a draft may still be on its way so long after its answer was submitted


class AnswerRefused(Exception):
    """The answer can't be taken as it is; the message says why. Nothing typed is lost."""


class StaleDraft(Exception):
    """A newer revision of this draft is stored."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(f"Revision {draft.revision} is already stored.")
        self.draft = draft


@transaction.atomic
def draft_save(*, owner: User, question: Question, text: str, revision: int, elapsed_seconds: int) -> Draft:
    """Store a draft if its revision is newer than the stored one. Raises StaleDraft, AnswerRefused."""
    text = storable(text)
    _check_length(text)
    now = timezone.now()
    if _is_late(owner, question, text, now):
        return Draft(owner=owner, question=question, text=text, revision=revision)
    draft, made = Draft.objects.get_or_create(
        owner=owner,
        question=question,
        defaults={"text": text, "revision": revision, "elapsed_seconds": elapsed_seconds, "updated": now},
    )
    if made:
        return draft
    newer = Draft.objects.filter(pk=draft.pk, revision__lt=revision).update(
        text=text, revision=revision, elapsed_seconds=elapsed_seconds, updated=now
    )
    draft.refresh_from_db()
    if not newer and draft.text != text:
        raise StaleDraft(draft)
    return draft


def _is_late(owner: User, question: Question, text: str, now: datetime) -> bool:
    """Was this save on its way while its answer was submitted? Stored now it would come back as a draft."""
    if Draft.objects.filter(owner=owner, question=question).exists():
        return False
    just = Attempt.objects.filter(owner=owner, question=question, parent=None, created__gt=now - LATE)
    return any(sent.startswith(text) for sent in just.values_list("text", flat=True))


@transaction.atomic
def draft_keep(*, owner: User, question: Question, text: str) -> None:
    """Keep a text that can't be taken as an answer; what the draft holds already stays beside it."""
    text = storable(text)
    if is_blank(text) or Attempt.objects.filter(owner=owner, question=question, text=text).exists():
        return
    draft, made = Draft.objects.get_or_create(
        owner=owner, question=question, defaults={"text": text, "revision": 1}
    )
    if not made:
        draft.text = both_texts(text, draft.text)
        draft.revision += 1
        draft.updated = timezone.now()
        draft.save(update_fields=["text", "revision", "updated"])


def both_texts(newer: str, older: str) -> str:
    """Two texts as one draft, the newer first; one that holds the other is enough."""
    if is_blank(older) or older.strip() in newer:
        return newer
    if is_blank(newer) or newer.strip() in older:
        return older
    return f"{newer}\n\n{older}"


def _check_length(text: str) -> None:
    if len(text) > ANSWER_LIMIT:
        raise AnswerRefused(
            f"Your answer has {len(text):,} characters and {ANSWER_LIMIT:,} is the limit. "
            "Nothing was cut: shorten it here and submit again."
        )


@transaction.atomic
def attempt_submit(
    *,
    owner: User,
    question: Question,
    text: str,
    idempotency_key: str,
    elapsed_seconds: int = 0,
    seen: int | None = None,
) -> Attempt:
    """Store an answer once per key and queue its assessment. Raises AnswerRefused, IdempotencyConflict.

    `seen` is the draft's revision that the answer's page knew: what another window stored since stays a draft.
    """
    text = _checked(text)
    if known := _known_attempt(owner, idempotency_key, text):
        return known
    if question.rubric is None:
        raise AnswerRefused("This question has no rubric yet, so an answer to it can't be assessed.")
    fields = {
        "question": question,
        "rubric": question.rubric,
        "text": text,
        "elapsed_seconds": elapsed_seconds,
    }
    attempt, made = _create_once(owner, idempotency_key, fields)
    if made:
        _queue(attempt, asked=question.prompt, rubric=question.rubric.body, reference=question.strong)
        answered = Q(text=text) | Q(text="") | Q(revision__lte=-1 if seen is None else seen)
        Draft.objects.filter(answered, owner=owner, question=question).delete()
    return attempt


@transaction.atomic
def probe_submit(*, attempt: Attempt, probe: int, text: str, idempotency_key: str) -> Attempt:
    """Store the answer to a probe and have it held against the probe's own point."""
    text = _checked(text)
    if known := _known_attempt(attempt.owner, idempotency_key, text):
        return known
    asked = attempt.question.probes[probe]
    rubric = narrowed(attempt.rubric.body, asked["point"])
    if not rubric["points"]:
        raise AnswerRefused("The question was changed since, and this follow-up no longer belongs to it.")
    fields = {
        "question": attempt.question,
        "rubric": attempt.rubric,
        "text": text,
        "parent": attempt,
        "probe": probe,
    }
    answer, made = _create_once(attempt.owner, idempotency_key, fields)
    if made:
        _queue(answer, asked=asked["ask"], rubric=rubric)
    return answer


def narrowed(rubric: dict[str, Any], point: str) -> dict[str, Any]:
    """The part of a rubric that one probe is about."""
    return {
        "points": [part for part in rubric["points"] if part["id"] == point],
        "misconceptions": [
            {**part, "points": [point]}
            for part in rubric["misconceptions"]
            if point in part.get("points", [])
        ],
    }


def _checked(text: str) -> str:
    text = storable(text)
    _check_length(text)
    if is_blank(text):
        raise AnswerRefused("There is nothing to assess yet: write at least one sentence.")
    return text


def _known_attempt(owner: User, key: str, text: str) -> Attempt | None:
    known = Attempt.objects.filter(owner=owner, idempotency_key=key).first()
    if known is not None and known.text != text:
        raise IdempotencyConflict("This submission was already made with another text. Open a new attempt.")
    return known


def _create_once(owner: User, key: str, fields: dict[str, Any]) -> tuple[Attempt, bool]:
    try:
        with transaction.atomic():
            return Attempt.objects.create(owner=owner, idempotency_key=key, **fields), True
    except IntegrityError:
        known = _known_attempt(owner, key, fields["text"])
        if known is None:
            raise
        return known, False


def _queue(attempt: Attempt, *, asked: str, rubric: dict[str, Any], reference: str = "") -> None:
    run = run_create(
        owner=attempt.owner,
        kind=KIND,
        input={
            "attempt": str(attempt.pk),
            "question": asked,
            "answer": attempt.text,
            "rubric": rubric,
            "rubric_hash": attempt.rubric.hash,
            "reference": reference,
        },
        idempotency_key=f"attempt-{attempt.pk}",
    )
    attempt.run = run
    attempt.save(update_fields=["run"])


def attempt_graded(run: Run) -> None:
    """Called in the transaction that ends a grading run: keep the verdict once, and set the review date."""
    if run.output is None:
        return
    now = timezone.now()
    verdict = run.output
    kept = Attempt.objects.filter(pk=run.input["attempt"], verdict__isnull=True).update(
        verdict=verdict, score=verdict["score"], grader=verdict["grader"], graded=now
    )
    attempt = Attempt.objects.filter(pk=run.input["attempt"]).first()
    if kept and attempt is not None and attempt.parent_id is None:
        review_record(attempt)


def attempt_regrade(attempt: Attempt) -> Attempt:
    """Queue the assessment again when its run failed or was lost; an assessed attempt stays as it is."""
    run = attempt.run
    if attempt.verdict is not None or (run is not None and not run.ended):
        return attempt
    attempt.run = run_create(
        owner=attempt.owner,
        kind=KIND,
        input=run.input if run is not None else {},
        idempotency_key=f"attempt-{attempt.pk}-{timezone.now().timestamp()}",
    )
    attempt.save(update_fields=["run"])
    return attempt
