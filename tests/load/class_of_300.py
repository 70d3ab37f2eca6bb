"""A class as large as the promise, put into a started site's database: run by `manage.py shell` inside it.

Learners get sessions of their own and open attempts whose answers are saved, as autosave leaves them just before a deadline.
"""

from __future__ import annotations

import json
import random
from datetime import timedelta

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.sessions import BACKEND
from interview.practice.models import Attempt
from interview.practice.services import attempt_submit
from interview.questions.loader import load_bank
from interview.questions.management.commands.load_questions import BANK
from interview.questions.models import Question
from interview.teaching.models import Answer, Assignment, Membership, Submission
from interview.teaching.services.assignments import assignment_create
from interview.teaching.services.classes import class_create
from interview.teaching.services.sets import items_add, set_create
from interview.teaching.services.work import attempt_start

# What most of a class writes: whole answers more often than scraps of one.
KINDS = ("strong", "paraphrase", "partial", "weak")
FILLERS = [
    "actually",
    "also",
    "basically",
    "clearly",
    "here",
    "indeed",
    "now",
    "really",
    "simply",
    "then",
    "there",
    "today",
    "often",
    "again",
    "first",
    "overall",
]
EVERY = 5  # so that hardly a clause of one learner is also another's, and no grader's memory helps


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
        key: [question.strong_answer, *(s.text for s in question.samples if s.label in KINDS)]
        for key, question in bank.items()
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
        answer.text, answer.revision = own_words(choice[(index + place) % len(choice)], answer.pk), 1
    Answer.objects.bulk_update(answers, ["text", "revision"])
    session = SessionStore()
    session.update({SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: BACKEND, HASH_SESSION_KEY: user.get_session_auth_hash()})  # fmt: skip
    session.create()
    return {"session": str(session.session_key), "submission": str(submission.pk)}


def own_words(text: str, seed: int) -> str:
    """The text with small words put in, other ones for every seed."""
    drawn = random.Random(seed)
    words: list[str] = []
    for word in text.split():
        words.append(word)
        if drawn.randrange(EVERY) == 0:
            words.append(drawn.choice(FILLERS))
    return " ".join(words)


def practise(key: str) -> str:
    """Hand in one answer of somebody who practises meanwhile."""
    user, _ = User.objects.get_or_create(email="practises@load.example", defaults={"name": "Practises"})
    question = Question.objects.filter(retired=None, rubric__isnull=False, owner=None).order_by("pk")[0]
    attempt_submit(
        owner=user, question=question, text=own_words(question.strong, len(key)), idempotency_key=key
    )
    return json.dumps(key)


def practised() -> str:
    """As JSON: for each such answer, the milliseconds from handing in to the verdict."""
    runs = [
        row.run for row in Attempt.objects.filter(owner__email="practises@load.example").select_related("run")
    ]
    return json.dumps(
        [round(1000 * (run.finished - run.created).total_seconds()) for run in runs if run and run.finished]
    )


def count() -> str:
    """As JSON: how many attempts are handed in and whole, and answers without a verdict."""
    done = Submission.objects.filter(submitted__isnull=False)
    texts = Answer.objects.filter(submission__in=done).values_list("text", flat=True)[:1_000]
    return json.dumps(
        {
            "handed_in": done.count(),
            "with_receipt": done.exclude(receipt="").count(),
            "ungraded": Answer.objects.filter(submission__in=done, verdict__isnull=True).count(),
            "answers": Answer.objects.filter(submission__in=done).count(),
            "words": sum(len(text.split()) for text in texts) / max(1, len(texts)),
        }
    )
