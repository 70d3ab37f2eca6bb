"""A class as large as the promise, put into a started site's database: run by `manage.py shell` inside it.

Learners get sessions of their own and open attempts whose answers are saved, as autosave leaves them just before a deadline.
"""

from __future__ import annotations

import json
from datetime import timedelta

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.sessions import BACKEND
from interview.questions.loader import load_bank
from interview.questions.management.commands.load_questions import BANK
from interview.questions.models import Question
from interview.teaching.models import Answer, Assignment, Membership, Submission
from interview.teaching.services.assignments import assignment_create
from interview.teaching.services.classes import class_create
from interview.teaching.services.sets import items_add, set_create
from interview.teaching.services.work import attempt_start


def make(n_learners: int, n_questions: int) -> str:
    """As JSON: what each learner's browser holds, and the attempts."""
    teacher = User.objects.create_user(f"t{timezone.now().timestamp()}@load.example", None, name="Teacher")
    classroom = class_create(owner=teacher, name="A large class", time_zone="Europe/Zurich")
    question_set = set_create(owner=teacher, title="Many questions")
    bank = {question.id: question for question in load_bank(BANK).questions}
    chosen = list(Question.objects.filter(pk__in=bank, retired=None).order_by("pk")[:n_questions])
    items_add(question_set=question_set, questions=chosen)
    now = timezone.now()
    dates = {"opens": now - timedelta(hours=1), "due": now + timedelta(hours=1)}
    assignment = assignment_create(classroom=classroom, source=question_set, title="Finals", **dates)
    texts = {
        key: [question.strong_answer, *(s.text for s in question.samples)] for key, question in bank.items()
    }
    rows = [_learner(assignment, index, texts) for index in range(n_learners)]
    return json.dumps(rows)


def _learner(assignment: Assignment, index: int, texts: dict[str, list[str]]) -> dict[str, str]:
    user = User.objects.create_user(f"l{index}-{assignment.pk}@load.example", None, name=f"Learner {index}")
    Membership.objects.create(classroom=assignment.classroom, owner=user)
    submission = attempt_start(assignment=assignment, learner=user)
    answers = list(Answer.objects.filter(submission=submission).select_related("item"))
    for place, answer in enumerate(answers):
        choice = texts[answer.item.question_id]
        answer.text, answer.revision = f"{choice[(index + place) % len(choice)]} ({index})", 1
    Answer.objects.bulk_update(answers, ["text", "revision"])
    session = SessionStore()
    session.update({SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: BACKEND, HASH_SESSION_KEY: user.get_session_auth_hash()})  # fmt: skip
    session.create()
    return {"session": str(session.session_key), "submission": str(submission.pk)}


def count() -> str:
    """As JSON: how many attempts are handed in and whole, and answers without a verdict."""
    done = Submission.objects.filter(submitted__isnull=False)
    return json.dumps(
        {
            "handed_in": done.count(),
            "with_receipt": done.exclude(receipt="").count(),
            "ungraded": Answer.objects.filter(submission__in=done, verdict__isnull=True).count(),
            "answers": Answer.objects.filter(submission__in=done).count(),
        }
    )
