"""A class in which every page of the teaching room has something to show: run by `manage.py shell` inside a started site."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.urls import reverse
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.sessions import BACKEND
from interview.lti.models import Course, Platform, ResourceLink
from interview.questions.models import Question
from interview.teaching.models import (
    ASSISTANT,
    LEARNER,
    TEACHER,
    Answer,
    Assignment,
    Classroom,
    Membership,
    QuestionSet,
    Submission,
)
from interview.teaching.services import grading
from interview.teaching.services.assignments import assignment_create, attachment_add, extension_give
from interview.teaching.services.classes import class_create
from interview.teaching.services.notices import assignments_announce
from interview.teaching.services.regrade import regrade_try
from interview.teaching.services.roster import roster_import
from interview.teaching.services.sets import items_add, set_create, set_publish, set_share
from interview.teaching.services.work import answer_save, attempt_start, hand_in
from interview.webhooks.services import webhook_create

WORDS = (
    "The KV cache stores keys and values for every token in every layer, so its memory grows linearly with the tokens.",
    "I am not sure. It is slow.",
    "La mémoire du cache grandit avec chaque jeton et chaque couche, donc un long contexte coûte cher en mémoire.",
)
PATIENCE = 120


def session_of(user: User) -> str:
    """What a browser holds that is signed in as somebody."""
    session = SessionStore()
    session.update(
        {
            SESSION_KEY: str(user.pk),
            BACKEND_SESSION_KEY: BACKEND,
            HASH_SESSION_KEY: user.get_session_auth_hash(),
        }
    )
    session.create()
    return str(session.session_key)


def _account(name: str) -> User:
    address = f"{name.split()[0].lower()}-{timezone.now().timestamp():.0f}@look.example"
    return User.objects.create_user(address, None, name=name, time_zone="Europe/Zurich")


def _class() -> tuple[Classroom, dict[str, User]]:
    people = {
        "owner": _account("Olga Owner"),
        "teacher": _account("Tara With-a-Rather-Long-Double-Name"),
        "assistant": _account("Anton Assistant"),
        "lena": _account("Lena Learner"),
        "milo": _account("Milo =1+1"),
        "gone": _account("Gus Gone"),
    }
    classroom = class_create(
        owner=people["owner"], name="Serving models in production, spring", time_zone="Europe/Zurich"
    )
    roles = {"teacher": TEACHER, "assistant": ASSISTANT, "lena": LEARNER, "milo": LEARNER, "gone": LEARNER}
    for name, role in roles.items():
        left = timezone.now() if name == "gone" else None
        Membership.objects.create(classroom=classroom, owner=people[name], role=role, left=left)
    roster_import(classroom=classroom, text="Nina New <nina@look.example>\nnot an address")
    return classroom, people


def _set(owner: User) -> QuestionSet:
    made = set_create(owner=owner, title="Long context", about="What *long* contexts cost.")
    items_add(
        question_set=made, questions=Question.objects.filter(owner=None, retired=None)[:2], section="Costs"
    )
    items_add(
        question_set=made, questions=Question.objects.filter(owner=None, retired=None)[2:4], section="Speed"
    )
    set_share(question_set=made, on=True)
    set_publish(question_set=made, on=True)
    made.refresh_from_db()
    return made


def _handed_in(assignment: Assignment, learner: User, shift: int) -> Submission:
    submission = attempt_start(assignment=assignment, learner=learner)
    for place, answer in enumerate(submission.answers.order_by("item__position")):
        text = WORDS[(place + shift) % len(WORDS)]
        answer_save(submission=submission, item_id=answer.item_id, text=text, elapsed_seconds=60 + 20 * place)
    return hand_in(submission=submission)


def _graded(submission: Submission) -> list[Answer]:
    """The answers once the site's worker has been at them."""
    ended = time.monotonic() + PATIENCE
    while Answer.objects.filter(submission=submission, verdict__isnull=True).exclude(text="").exists():
        assert time.monotonic() < ended, "the worker grades nothing"
        time.sleep(0.5)
    return list(
        submission.answers.select_related("item__rubric", "submission__owner").order_by("item__position")
    )


def _by_hand(answers: list[Answer], people: dict[str, User]) -> None:
    """A ruling, a dispute, a broken question, a trial."""
    item = answers[0].item
    grading.override_points(
        answer=answers[0], author=people["owner"], points=Decimal("0.5"), reason="Half of it."
    )
    grading.dispute_open(answer=answers[1], comment="I did say that it is slow.")
    grading.everybody_set(item=answers[3].item, on=True, why="Two readings were right.")
    regrade_try(item=item, by=people["owner"])


def make() -> str:
    """As JSON: sessions by person, and addresses by person."""
    classroom, people = _class()
    question_set = _set(people["owner"])
    now = timezone.now()
    fields = {"opens": now - timedelta(hours=1), "due": now + timedelta(days=7), "feedback": "full"}
    done = assignment_create(classroom=classroom, source=question_set, title="Week one", **fields)
    late = {
        "late_until": now + timedelta(days=9),
        "late_steps": [{"hours": 24, "credit": 80}],
        "late_credit": 50,
    }
    fresh = assignment_create(
        classroom=classroom,
        source=question_set,
        title="Week two",
        attempts=2,
        time_limit_minutes=60,
        **late,
        **fields,
    )
    attachment_add(
        assignment=fresh, label="KV cache", path="/calculators/kv-cache/?tokens=1000", required=True
    )
    extension_give(assignment=fresh, learner=people["milo"], due=fresh.due + timedelta(days=2), reason="Ill.")
    one, two = _handed_in(done, people["lena"], 0), _handed_in(done, people["milo"], 1)
    answers = _graded(one)
    _graded(two)
    _by_hand(answers, people)
    working = attempt_start(assignment=fresh, learner=people["lena"])
    assignments_announce()
    link = _lti(classroom, people["owner"], done)
    return json.dumps(
        {
            "sessions": {name: session_of(user) for name, user in people.items()},
            "owner": _staff_pages(classroom, question_set, done, fresh, answers, people, link),
            "lena": _learner_pages(classroom, done, fresh, one, working),
            "milo": [
                reverse("teaching:assignment", args=[classroom.pk, fresh.pk]),
                reverse("teaching:join_invited", args=["used-up"]),
            ],
            "nobody": _open_pages(question_set, classroom),
        }
    )


def one_assignment() -> str:
    """A class with one assignment of one question, feedback at once. As JSON: its name, its id, its owner's session."""
    owner = _account("Otto Owner")
    classroom = class_create(owner=owner, name="Taught on a platform", time_zone="Europe/Zurich")
    question_set = set_create(owner=owner, title="One question")
    items_add(question_set=question_set, questions=Question.objects.filter(owner=None, retired=None)[:1])
    now = timezone.now()
    dates = {"opens": now - timedelta(hours=1), "due": now + timedelta(days=7)}
    assignment_create(classroom=classroom, source=question_set, title="Week one", feedback="full", **dates)
    return json.dumps({"class": classroom.name, "class_id": str(classroom.pk), "session": session_of(owner)})


def _lti(classroom: Classroom, owner: User, assignment: Assignment) -> ResourceLink | None:
    if not settings.LTI_HOSTS:
        return None
    platform = Platform.objects.create(
        owner=owner,
        name="Our Moodle",
        kind="moodle",
        issuer="http://127.0.0.1",
        client_id="c",
        deployments=["1"],
    )
    course = Course.objects.create(
        platform=platform, classroom=classroom, context="9", title="Serving models 2026"
    )
    return ResourceLink.objects.create(course=course, assignment=assignment, resource="3")


def _staff_pages(
    classroom: Classroom,
    question_set: QuestionSet,
    done: Assignment,
    fresh: Assignment,
    answers: list[Answer],
    people: dict[str, User],
    link: ResourceLink | None,
) -> list[str]:
    here, first, second = [classroom.pk], [classroom.pk, done.pk], [classroom.pk, fresh.pk]
    lena = Membership.objects.get(classroom=classroom, owner=people["lena"])
    trial = answers[0].item.regrades.get()
    pages: list[tuple[str, list[Any]]] = [
        ("class_list", []), ("class_create", []), ("class_page", here), ("class_edit", here), ("class_delete", here),
        ("people", here), ("member_edit", [*here, lena.pk]), ("learner", [*here, lena.pk]), ("insight", here),
        ("course", here), ("assignment_create", here), ("assignment", first), ("assignment", second),
        ("assignment_edit", second), ("preview", [*second, 1]), ("items", first), ("review_queue", first),
        ("gradebook", first), ("question_points", first), ("gradebook_upload", first),
        ("regrade", [*here, trial.pk]), ("answer", [*here, answers[0].pk]), ("answer", [*here, answers[1].pk]),
        ("set_list", []), ("set_create", []), ("set_import", []), ("gallery", []), ("set_page", [question_set.pk]),
        ("notifications", []),
    ]  # fmt: skip
    found = [reverse(f"teaching:{name}", args=args) for name, args in pages]
    webhook = webhook_create(
        classroom=classroom, url="https://grades.invalid/from-prefill?course=long-name-of-a-course"
    )
    found += [
        reverse("webhooks:webhook_list", args=here),
        reverse("webhooks:webhook_page", args=[*here, webhook.pk]),
    ]
    if link is not None:
        platform = [link.course.platform_id]
        lti: list[tuple[str, list[Any]]] = [
            ("platform_list", []),
            ("platform_create", []),
            ("platform", platform),
            ("course", here),
        ]
        found += [reverse(f"lti:{name}", args=args) for name, args in lti]
    return found


def _learner_pages(
    classroom: Classroom, done: Assignment, fresh: Assignment, one: Submission, working: Submission
) -> list[str]:
    here = [classroom.pk]
    pages: list[tuple[str, list[Any]]] = [
        ("class_list", []), ("class_page", here), ("assignment", [*here, done.pk]), ("assignment", [*here, fresh.pk]),
        ("work", [working.pk, 1]), ("hand_in", [working.pk]), ("receipt", [one.pk]), ("result", [one.pk]), ("due", []),
        ("notifications", []), ("join_code", []),
    ]  # fmt: skip
    return [reverse(f"teaching:{name}", args=args) for name, args in pages]


def _open_pages(question_set: QuestionSet, classroom: Classroom) -> list[str]:
    link = classroom.join_links.get()
    pages: list[tuple[str, list[Any]]] = [
        ("class_list", []), ("gallery", []), ("set_shared", [question_set.share_code]), ("join", [link.code]),
        ("join_code", []),
    ]  # fmt: skip
    return [reverse(f"teaching:{name}", args=args) for name, args in pages]
