"""Interview sessions: what is picked, which step comes next, the clock, follow-ups, the report and its private link."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from interview.accounts.models import User
from interview.practice import session_selectors, sessions
from interview.practice.models import Attempt, Draft, InterviewSession, SessionItem
from interview.practice.report import report
from interview.questions.models import Question
from interview.questions.own_services import question_write
from interview.runs import services as runs
from tests.factories import grade as graded
from tests.factories import make_attempt, verdict_for
from tests.interview.questions.own import full

pytestmark = pytest.mark.django_db


def start(owner: User, **changes: Any) -> InterviewSession:
    wanted: dict[str, Any] = {"topics": [], "level": "", "n_questions": 3, "minutes": 5}
    return sessions.session_start(owner=owner, **{**wanted, **changes})


@pytest.fixture
def session(owner: User, question: Question) -> InterviewSession:
    return start(owner, topics=["kv-cache"])


def step(session: InterviewSession) -> session_selectors.Step:
    session.refresh_from_db()
    return session_selectors.current_step(session, session_selectors.items_of(session))


def url(name: str, session: InterviewSession, *more: int) -> str:
    return reverse(f"practice:{name}", args=[session.pk, *more])


def send(client: Client, address: str, text: str = "The cache grows linearly.", **more: str) -> Any:
    return client.post(address, {"text": text, "idempotency_key": uuid.uuid4().hex, **more})


def grade(attempt: Attempt, **changes: Any) -> Attempt:
    return graded(attempt, {**verdict_for(attempt, state="missing", score=0.0), **changes})


def test_topics_take_turns_and_new_questions_come_first(owner: User, question: Question) -> None:
    made = start(owner, topics=["kv-cache", "tokens"], n_questions=4)
    topics = [item.question.topic_id for item in made.items.select_related("question")]
    assert sorted(topics) == ["kv-cache", "kv-cache", "tokens", "tokens"]
    for item in made.items.all():
        make_attempt(owner, item.question)
    again = start(owner, topics=["kv-cache", "tokens"], n_questions=4)
    seen = set(made.items.values_list("question_id", flat=True))
    assert not seen & set(again.items.values_list("question_id", flat=True))


def test_the_level_narrows_and_own_questions_come_on_request(
    owner: User, other: User, question: Question
) -> None:
    own = question_write(owner=owner, content=full())[0]
    question_write(owner=other, content=full())
    picked = start(owner, topics=["kv-cache"], level="senior", n_questions=20, own=True)
    questions = [item.question for item in picked.items.select_related("question")]
    assert own in questions
    assert {item.level for item in questions} == {"senior"}
    assert {item.owner_id for item in questions} <= {None, owner.pk}
    without = start(owner, topics=["kv-cache"], n_questions=20)
    assert not without.items.filter(question=own).exists()


def test_nothing_that_fits_is_said(owner_client: Client) -> None:
    answer = owner_client.post(
        reverse("practice:session_list"), {"n_questions": 3, "minutes": 5, "level": "staff"}
    )
    assert answer.status_code == 422
    assert "No question fits" in answer.content.decode()


@pytest.mark.parametrize(
    "changes",
    [{"n_questions": 0}, {"minutes": 61}, {"level": "expert"}, {"topics": "nowhere"}, {"n_questions": ""}],
)
def test_a_plan_that_cannot_be_is_refused(
    owner_client: Client, question: Question, changes: dict[str, Any]
) -> None:
    data = {"n_questions": 3, "minutes": 5, **changes}
    assert owner_client.post(reverse("practice:session_list"), data).status_code == 422
    assert not InterviewSession.objects.exists()


def test_a_visitor_plans_a_session_as_a_guest(anonymous_client: Client, question: Question) -> None:
    answer = anonymous_client.post(reverse("practice:session_list"), {"n_questions": 2, "minutes": 5})
    assert answer.status_code == 302
    assert anonymous_client.get(answer["Location"]).status_code == 200


def test_a_whole_session(owner_client: Client, owner: User, session: InterviewSession) -> None:
    page = owner_client.get(url("session", session)).content.decode()
    first = session.items.get(position=1)
    assert first.question.title in page and first.opened is not None
    points = first.question.rubric.body["points"]  # type: ignore[union-attr]
    assert escape(points[0]["means"]) not in page
    assert send(owner_client, url("session_answer", session, 1)).status_code == 302
    assert step(session).kind == "waiting"
    first.refresh_from_db()
    assert first.attempt is not None
    grade(first.attempt)
    asked = step(session)
    assert (asked.kind, asked.n_probe) == ("probe", 1)
    assert asked.probe is not None
    page = owner_client.get(url("session", session)).content.decode()
    assert escape(asked.probe.ask) in page
    assert escape(points[0]["means"]) not in page
    send(owner_client, url("session_probe", session, 1, asked.probe.index))
    second = step(session)
    assert second.kind == "probe" and second.n_probe == 2
    assert second.probe is not None and second.probe.point != asked.probe.point
    send(owner_client, url("session_probe", session, 1, second.probe.index), **{"pass": "1"})
    assert step(session).item == session.items.get(position=2)
    owner_client.post(url("session_skip", session, 2))
    owner_client.post(url("session_end", session))
    page = owner_client.get(url("report", session)).content.decode()
    assert "1 of 3 questions answered" in page and "skipped" in page and "not reached" in page
    assert escape(points[0]["means"]) in page


def test_all_points_met_asks_nothing(owner_client: Client, session: InterviewSession) -> None:
    send(owner_client, url("session_answer", session, 1))
    attempt = session.items.get(position=1).attempt
    assert attempt is not None
    grade(attempt, **verdict_for(attempt))
    following = step(session)
    assert following.kind == "question" and following.item == session.items.get(position=2)


def test_a_contradicted_point_is_asked_about_first(owner: User, question: Question) -> None:
    attempt = make_attempt(owner, question)
    verdict = verdict_for(attempt, state="missing", score=0.0)
    verdict["points"][2]["state"] = "contradicted"
    grade(attempt, **verdict)
    probes = session_selectors.session_probes(attempt)
    assert probes[0].point == verdict["points"][2]["id"]
    assert len(probes) == 2


def test_two_submits_make_one_attempt(owner_client: Client, session: InterviewSession) -> None:
    for _ in range(2):
        owner_client.post(url("session_answer", session, 1), {"text": "It grows.", "idempotency_key": "same"})
    assert Attempt.objects.count() == 1
    assert not Draft.objects.exists()


@pytest.mark.parametrize("key", ["same", "another"])
def test_an_answer_that_comes_too_late_is_kept_as_a_draft(
    owner_client: Client, session: InterviewSession, key: str
) -> None:
    answering = url("session_answer", session, 1)
    owner_client.post(answering, {"text": "It grows.", "idempotency_key": "same"})
    saving = reverse("practice:draft_save", args=[session.items.get(position=1).question_id])
    owner_client.post(saving, {"text": "Begun elsewhere.", "revision": 3})
    late = owner_client.post(answering, {"text": "Another window.", "idempotency_key": key}, follow=True)
    assert "kept as its draft" in late.content.decode()
    assert Attempt.objects.count() == 1
    kept = Draft.objects.get()
    assert (kept.text, kept.revision) == ("Another window.\n\nBegun elsewhere.", 4)


def test_the_clock_takes_nothing_away(owner_client: Client, owner: User, session: InterviewSession) -> None:
    item = session.items.get(position=1)
    owner_client.get(url("session", session))
    Draft.objects.create(owner=owner, question=item.question, text="half a thought")
    with time_machine.travel(timezone.now() + timedelta(minutes=9), tick=False):
        assert "half a thought" in owner_client.get(url("session", session)).content.decode()
        send(owner_client, url("session_answer", session, 1))
    item.refresh_from_db()
    assert item.seconds is not None and 539 <= item.seconds <= 541
    assert report(session).over in range(239, 242)


def test_a_refused_answer_comes_back(owner_client: Client, session: InterviewSession) -> None:
    long = "word " * 5_000
    answer = send(owner_client, url("session_answer", session, 1), long)
    assert answer.status_code == 422
    assert long.strip() in answer.content.decode() and "is the limit" in answer.content.decode()
    assert send(owner_client, url("session_answer", session, 1), " \u200b ").status_code == 422
    assert not Attempt.objects.exists()


def test_a_failed_assessment_does_not_hold_the_session_up(
    owner_client: Client, session: InterviewSession
) -> None:
    send(owner_client, url("session_answer", session, 1))
    attempt = session.items.get(position=1).attempt
    assert attempt is not None
    run = runs.run_claim(str(attempt.run_id), worker="host:1")
    assert run is not None
    runs.run_fail(run, "It broke.", {})
    assert step(session).item == session.items.get(position=2)
    assert report(session).questions[0].state == "not assessed"


def test_others_find_nothing(
    other_client: Client, anonymous_client: Client, owner_client: Client, session: InterviewSession
) -> None:
    for client in (other_client, anonymous_client):
        assert client.get(url("session", session)).status_code == 404
        assert client.get(url("report", session)).status_code == 404
        for name, more in [
            ("session_answer", [1]),
            ("session_skip", [1]),
            ("session_probe", [1, 0]),
            ("session_end", []),
            ("report_share", []),
        ]:
            assert client.post(url(name, session, *more)).status_code == 404
    session.refresh_from_db()
    assert session.ended is None and session.share_token is None
    assert send(owner_client, url("session_answer", session, 99)).status_code == 404
    assert send(owner_client, url("session_probe", session, 1, 0)).status_code == 404


def test_a_report_is_shared_and_revoked(
    owner_client: Client, anonymous_client: Client, session: InterviewSession
) -> None:
    send(owner_client, url("session_answer", session, 1), "My own secret words.")
    item = session.items.select_related("question").get(position=1)
    assert item.attempt is not None
    grade(item.attempt, misconceptions=[{"id": "m", "right": "It is linear.", "evidence": None}])
    owner_client.post(url("session_end", session))
    owner_client.post(url("report_share", session))
    session.refresh_from_db()
    assert session.share_token is not None and len(session.share_token) >= 40
    shared = reverse("practice:report_shared", args=[session.share_token])
    answer = anonymous_client.get(shared)
    page = answer.content.decode()
    assert answer.status_code == 200 and item.question.title in page
    assert (answer["Referrer-Policy"], answer["X-Robots-Tag"]) == ("no-referrer", "noindex, nofollow")
    for private in (
        "My own secret words",
        "It is linear",
        "Olive Owner",
        "owner@example.org",
        item.question.strong[:60],
    ):
        assert private not in page
    for point in item.question.rubric.body["points"]:  # type: ignore[union-attr]
        assert escape(point["means"]) not in page
    owner_client.post(url("report_share", session), {"revoke": "1"})
    assert anonymous_client.get(shared).status_code == 404
    assert anonymous_client.get(reverse("practice:report_shared", args=["x"])).status_code == 404


def test_the_report_names_weak_patterns(owner: User, question: Question) -> None:
    session = start(owner, n_questions=1)
    SessionItem.objects.filter(session=session).update(question=question, seconds=400)
    attempt = make_attempt(owner, question, text="KV cache, attention, memory.")
    verdict = verdict_for(attempt, state="missing", score=0.1)
    verdict["points"][0]["state"] = "contradicted"
    grade(attempt, **{**verdict, "flags": ["keyword_list"]})
    SessionItem.objects.filter(session=session).update(attempt=attempt)
    found = report(session)
    titles = " · ".join(pattern.title for pattern in found.patterns)
    assert "the opposite of 1 point" in titles
    assert "Left out 1 of 1 figure" in titles
    assert "Kept 1 answer under 25 words" in titles
    assert "Listed terms in 1 answer" in titles
    assert "Ran over time on 1 question" in titles
    assert [topic.id for topic in found.read] == ["kv-cache"]
    assert found.calculate[0]["slug"] == "kv-cache"


def test_a_follow_up_rescues_a_point(owner: User, owner_client: Client, session: InterviewSession) -> None:
    send(owner_client, url("session_answer", session, 1))
    attempt = session.items.get(position=1).attempt
    assert attempt is not None
    grade(attempt)
    asked = step(session).probe
    assert asked is not None
    send(owner_client, url("session_probe", session, 1, asked.index))
    answer = attempt.probe_attempts.get()
    run = runs.run_claim(str(answer.run_id), worker="host:1")
    assert run is not None
    met = {"id": asked.point, "state": "met", "evidence": [0, 5], "why": ""}
    runs.run_succeed(run, {**verdict_for(answer), "points": [met]}, {})
    line = report(session).questions[0]
    assert [point.rescued for point in line.points].count(True) == 1
    assert line.n_met == 1


def test_queries(
    owner_client: Client, owner: User, question: Question, django_assert_max_num_queries: Any
) -> None:
    session = start(owner, n_questions=10)
    for item in session.items.select_related("question__rubric"):
        attempt = grade(make_attempt(owner, item.question))
        SessionItem.objects.filter(pk=item.pk).update(attempt=attempt)
    with django_assert_max_num_queries(12):
        owner_client.get(url("session", session))
    owner_client.post(url("session_end", session))
    with django_assert_max_num_queries(14):
        owner_client.get(url("report", session))
