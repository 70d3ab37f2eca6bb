"""A teacher's word on scores: audited, reversible, and never touched by the automatic grader."""

from __future__ import annotations

import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.plain_text import storable
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import (
    AccessEntry,
    Answer,
    AssignedQuestion,
    Classroom,
    Dispute,
    Override,
    Submission,
)
from interview.teaching.scoring import CREDIT, Ruling, share_of, still_to_review
from interview.teaching.services.notices import graded_by_hand
from interview.teaching.services.totals import answers_lock, totals_update


@transaction.atomic
def override_points(*, answer: Answer, author: User, points: Decimal, reason: str) -> Override:
    """Give the whole answer so many points. Raises TeachingRefused for more than the question is worth."""
    worth = answer.item.points
    if not 0 <= points <= worth:
        raise TeachingRefused(f"Points for this answer go from 0 to {worth.normalize() + 0:f}.")
    share = float(points / worth) if worth else 0.0
    return _rule(answer, author, reason, share=share)


@transaction.atomic
def override_point(*, answer: Answer, author: User, point: str, state: str, reason: str) -> Override:
    """Rule on one key point. Raises TeachingRefused for a point or state that doesn't exist."""
    if point not in {part["id"] for part in answer.item.rubric.body["points"]} or state not in CREDIT:
        raise TeachingRefused(f"Choose one of the key points and one of: {', '.join(CREDIT)}.")
    return _rule(answer, author, reason, point=point, state=state)


def _rule(
    answer: Answer, author: User, reason: str, *, point: str = "", state: str = "", share: float | None = None
) -> Override:
    reason = storable(reason).strip()[:500]
    if not reason:
        raise TeachingRefused("Give a reason: the learner sees it, and you can defend the score with it.")
    if answer.submission.submitted is None:
        raise TeachingRefused("This attempt isn’t handed in yet.")
    if answer.submission.owner_id == author.pk:
        raise TeachingRefused("This is your own answer: somebody else of the staff has to grade it.")
    answers_lock([answer.pk])  # two who rule at once are one after the other
    Override.objects.filter(answer=answer, point=point, removed__isnull=True).update(removed=timezone.now())
    made = Override.objects.create(
        answer=answer, author=author, point=point, state=state, share=share, reason=reason
    )
    answers_recount([answer.pk])
    graded_by_hand(answers=[answer])
    return made


@transaction.atomic
def override_remove(*, override: Override) -> None:
    """Take a ruling back: the automatic score is there again."""
    Override.objects.filter(pk=override.pk, removed__isnull=True).update(removed=timezone.now())
    answers_recount([override.answer_id])


def normalised(text: str) -> str:
    """Answers that differ only in case, spaces, accents' encoding or an end mark are equal."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!? ")


@transaction.atomic
def override_apply_to_equal(*, override: Override, author: User) -> int:
    """Give the same ruling to all equal answers of this assignment that have none. How many got it."""
    here = override.answer
    if override.removed is not None:
        raise TeachingRefused("This ruling was taken back. Nothing was changed.")
    wanted = normalised(here.text)
    others = (
        Answer.objects.filter(item_id=here.item_id, submission__submitted__isnull=False)
        .exclude(pk=here.pk)
        .exclude(submission__owner=author)
        .select_related("item__assignment", "submission__owner")
    )
    ruled = set(
        Override.objects.filter(
            answer__item_id=here.item_id, point=override.point, removed__isnull=True
        ).values_list("answer_id", flat=True)
    )
    equal = [row for row in others if row.pk not in ruled and normalised(row.text) == wanted]
    Override.objects.bulk_create(
        Override(
            answer=row,
            author=author,
            point=override.point,
            state=override.state,
            share=override.share,
            reason=override.reason,
        )
        for row in equal
    )
    answers_recount([row.pk for row in equal])
    graded_by_hand(answers=equal)
    return len(equal)


def answers_recount(answer_ids: list[int]) -> None:
    """What counts, from the automatic verdict and the active rulings; then the sums of the submissions."""
    rulings: dict[int, list[Ruling]] = defaultdict(list)
    answers_lock(answer_ids)
    for row in Override.objects.filter(answer__in=answer_ids, removed__isnull=True).order_by("created", "id"):
        rulings[row.answer_id].append(Ruling(row.point, row.state, row.share))
    answers = list(Answer.objects.filter(pk__in=answer_ids).select_related("item__rubric"))
    for answer in answers:
        mine = rulings[answer.pk]
        share = share_of(answer.verdict, answer.item.rubric.body, mine)
        if share is None and not answer.text.strip():
            share = 0.0
        answer.share, answer.overridden = share, bool(mine)
        answer.review = still_to_review(answer.verdict, share, mine)
    Answer.objects.bulk_update(answers, ["share", "overridden", "review"], batch_size=500)
    touched = {answer.submission_id for answer in answers}
    _pin(touched)
    totals_update(Submission.objects.filter(pk__in=touched))


def _pin(submission_ids: set[uuid.UUID]) -> None:
    graded = set(
        Answer.objects.filter(submission__in=submission_ids, overridden=True).values_list(
            "submission_id", flat=True
        )
    )
    Submission.objects.filter(pk__in=graded).update(pinned=True)
    Submission.objects.filter(pk__in=submission_ids - graded).update(pinned=False)


def answer_reviewed(*, answer: Answer) -> None:
    """A teacher looked and leaves the score as it is. Raises TeachingRefused while there is none."""
    if answer.share is None:
        raise TeachingRefused("This answer has no score yet: give it points.")
    Answer.objects.filter(pk=answer.pk).update(review="")


@transaction.atomic
def everybody_set(*, item: AssignedQuestion, on: bool, why: str = "") -> None:
    """Give everybody who handed in the full points for a broken question, or take that back."""
    why = storable(why).strip()[:300]
    if on and not why:
        raise TeachingRefused("Say why: learners see it beside their points.")
    AssignedQuestion.objects.filter(pk=item.pk).update(everybody=on, everybody_why=why if on else "")
    totals_update(Submission.objects.filter(assignment_id=item.assignment_id, submitted__isnull=False))


@transaction.atomic
def dispute_open(*, answer: Answer, comment: str) -> Dispute:
    """A learner objects. Raises TeachingRefused without words or while one is open."""
    comment = storable(comment).strip()
    if not comment:
        raise TeachingRefused("Say what you think is wrong, in a sentence or two.")
    if len(comment) > 5_000:
        raise TeachingRefused("Keep it under 5,000 characters.")
    answers_lock([answer.pk])  # a second click waits for the first, and finds it
    if Dispute.objects.filter(answer=answer, resolved__isnull=True).exists():
        raise TeachingRefused("You have asked about this answer already. Your teacher will look at it.")
    return Dispute.objects.create(answer=answer, comment=comment)


def dispute_resolve(*, dispute: Dispute, reply: str) -> None:
    """Answer a dispute; the score is changed, or not, by a ruling of its own. Raises TeachingRefused."""
    reply = storable(reply).strip()[:5_000]
    if not reply:
        raise TeachingRefused("Write a reply: the learner is waiting for one.")
    Dispute.objects.filter(pk=dispute.pk, resolved__isnull=True).update(reply=reply, resolved=timezone.now())


def access_note(*, classroom: Classroom, reader: User, learner: User, what: str) -> None:
    """Write down that somebody read a learner's answers."""
    AccessEntry.objects.create(classroom=classroom, reader=reader, owner=learner, what=what[:200])


def access_note_list(*, classroom: Classroom, reader: User, learners: Iterable[int], what: str) -> None:
    """Write down that somebody saw these learners' answers in a list: once a day for each, however often it is opened."""
    day = timezone.now() - timedelta(days=1)
    fresh = AccessEntry.objects.filter(classroom=classroom, reader=reader, what=what[:200], created__gt=day)
    noted = set(fresh.values_list("owner_id", flat=True))
    AccessEntry.objects.bulk_create(
        AccessEntry(classroom=classroom, reader=reader, owner_id=learner, what=what[:200])
        for learner in sorted(set(learners) - noted)
    )
