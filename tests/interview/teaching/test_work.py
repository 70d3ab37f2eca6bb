"""Doing an assignment: no word is lost, one click is one attempt, and the server's clock decides."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from interview.accounts.services import account_delete
from interview.runs.chain import canonical_hash
from interview.runs.models import Run
from interview.teaching.models import Answer, Assignment, Attachment, Submission
from interview.teaching.services import work as services
from interview.teaching.services.assignments import extension_give
from interview.teaching.services.work import attempt_start, attempts_settle, hand_in, order_for
from tests.interview.teaching.conftest import World, assign, client_of, handed_in, work_on

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(world: World) -> Client:
    return client_of(world.learner)


def url(name: str, submission: Submission, *more: int) -> str:
    return reverse(f"teaching:{name}", args=[submission.pk, *more])


def start(client: Client, assignment: Assignment) -> Any:
    return client.post(reverse("teaching:attempt_start", args=[assignment.classroom_id, assignment.pk]))


def test_from_start_to_receipt(world: World, client: Client) -> None:
    answer = start(client, world.assignment)
    submission = Submission.objects.get()
    assert answer["Location"] == url("work", submission, 1)
    answer = client.post(url("work_save", submission, 1), {"text": "First.", "go": "2"})
    assert answer["Location"] == url("work", submission, 2)
    client.post(url("work_save", submission, 2), {"text": "Second.", "go": "hand-in"})
    page = client.get(url("hand_in", submission)).content.decode()
    assert "1 question has no answer" in page
    answer = client.post(url("hand_in_confirm", submission))
    assert answer["Location"] == url("receipt", submission)
    submission.refresh_from_db()
    assert submission.submitted is not None and not submission.automatic
    assert submission.receipt in client.get(url("receipt", submission)).content.decode()


def test_a_receipt_can_be_recomputed_by_anybody(world: World, client: Client) -> None:
    submission = hand_in(submission=work_on(world.assignment, world.learner, "Ünïcode 🙂 text."))
    document = json.loads(client.get(url("receipt", submission) + "?format=json").content)
    text = json.dumps(document["handed_in"], sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == submission.receipt == document["receipt"]
    assert canonical_hash(document["handed_in"]) == submission.receipt
    assert document["handed_in"]["answers"][0]["text"] == "Ünïcode 🙂 text."


def test_a_double_click_on_start_is_one_attempt(world: World, client: Client) -> None:
    assignment = assign(world.classroom, world.question_set, attempts=2)
    assert start(client, assignment)["Location"] == start(client, assignment)["Location"]
    assert Submission.objects.count() == 1


def test_a_double_click_on_hand_in_with_two_attempts_left_uses_one(world: World, client: Client) -> None:
    assignment = assign(world.classroom, world.question_set, attempts=2)
    submission = work_on(assignment, world.learner)
    for _ in range(2):
        assert client.post(url("hand_in_confirm", submission)).status_code == 302
    assert Submission.objects.count() == 1
    assert Run.objects.filter(kind="assess").count() == 1
    page = client.get(reverse("teaching:assignment", args=[world.classroom.pk, assignment.pk]))
    assert '<span class="num">1</span> attempt left' in page.content.decode()


def test_attempts_run_out(world: World, client: Client) -> None:
    hand_in(submission=work_on(world.assignment, world.learner))
    answer = start(client, world.assignment)
    assert answer.status_code == 409 and "used all your attempts" in answer.content.decode()
    extension_give(
        assignment=world.assignment, learner=world.learner, due=world.assignment.due, extra_attempts=1
    )
    assert start(client, world.assignment).status_code == 302


def test_autosave_never_lets_an_older_text_win(world: World, client: Client) -> None:
    submission = attempt_start(assignment=world.assignment, learner=world.learner)
    address = url("answer_draft", submission, 1)
    assert client.post(address, {"text": "newer", "revision": 5}).json() == {"revision": 5, "words": 1}
    stale = client.post(address, {"text": "older", "revision": 3})
    assert stale.status_code == 409 and stale.json()["text"] == "newer"
    assert 'data-revision="5"' in client.get(url("work", submission, 1)).content.decode()


def test_a_button_pressed_in_an_older_window_overwrites_nothing(world: World, client: Client) -> None:
    submission = attempt_start(assignment=world.assignment, learner=world.learner)
    assert 'name="seen" value="0"' in client.get(url("work", submission, 1)).content.decode()
    client.post(url("answer_draft", submission, 1), {"text": "written elsewhere", "revision": 1})
    page = client.post(url("work_save", submission, 1), {"text": "<b>mine", "seen": "0", "go": "2"})
    shown = page.content.decode()
    assert page.status_code == 409 and "written elsewhere" in shown and "&lt;b&gt;mine" in shown
    assert Answer.objects.get(submission=submission, item__position=1).text == "written elsewhere"
    assert 'name="seen" value="1"' in shown  # pressed again, having read both, it is meant
    assert (
        client.post(url("work_save", submission, 1), {"text": "mine", "seen": "1", "go": "2"}).status_code
        == 302
    )
    assert Answer.objects.get(submission=submission, item__position=1).text == "mine"
    same = client.post(url("work_save", submission, 1), {"text": "mine", "seen": "0", "go": "2"})
    assert same.status_code == 302, "the same words are no conflict"


def test_a_text_that_is_too_long_comes_back_whole(world: World, client: Client) -> None:
    submission = attempt_start(assignment=world.assignment, learner=world.learner)
    text = "word " * 4_001
    answer = client.post(url("work_save", submission, 1), {"text": text, "go": "2"})
    assert answer.status_code == 422 and text in answer.content.decode()
    draft = client.post(url("answer_draft", submission, 1), {"text": text, "revision": 1})
    assert draft.status_code == 422 and draft.json()["code"] == "too_long"


def test_flags_and_text_survive_the_button(world: World, client: Client) -> None:
    submission = attempt_start(assignment=world.assignment, learner=world.learner)
    client.post(url("work_save", submission, 2), {"text": "half a thought", "go": "flag"})
    submission.refresh_from_db()
    flagged = submission.answers.get(text="half a thought")
    assert submission.flags == [flagged.item_id]
    assert "flagged" in client.get(url("hand_in", submission)).content.decode()
    client.post(url("work_save", submission, 2), {"text": "half a thought", "go": "unflag"})
    submission.refresh_from_db()
    assert submission.flags == []


def test_the_last_second_is_accepted_and_the_next_is_not(world: World, client: Client) -> None:
    submission = work_on(world.assignment, world.learner)
    due = world.assignment.due.replace(microsecond=0)
    Assignment.objects.update(due=due)
    with time_machine.travel(due + timedelta(milliseconds=999), tick=False):
        services.answer_save(submission=submission, item_id=submission.order[0], text="In the last second.")
    with time_machine.travel(due + timedelta(seconds=1), tick=False):
        late = client.post(url("work_save", submission, 1), {"text": "A word too late.", "go": "2"})
        assert late.status_code == 409
        page = late.content.decode()
        assert "A word too late." in page and "What was saved by then is handed in" in page
        assert f"{timezone.localtime(due, timezone.get_fixed_timezone(0)):%Y}" in page
    submission.refresh_from_db()
    assert submission.automatic and submission.submitted == due
    assert Answer.objects.get(item_id=submission.order[0]).text == "In the last second."


def test_handing_in_on_the_last_second_counts_in_time(world: World, client: Client) -> None:
    submission = work_on(world.assignment, world.learner)
    due = world.assignment.due.replace(microsecond=0)
    Assignment.objects.update(due=due)
    with time_machine.travel(due + timedelta(milliseconds=900), tick=False):
        client.post(url("hand_in_confirm", submission))
    submission.refresh_from_db()
    assert not submission.automatic
    assert "In time" in client.get(url("receipt", submission)).content.decode()


def test_work_in_progress_is_handed_in_as_it_stands_by_the_clock_alone(world: World) -> None:
    submission = work_on(world.assignment, world.learner, "As it stood.")
    with time_machine.travel(world.assignment.due + timedelta(hours=5), tick=False):
        assert attempts_settle() == 1
        assert attempts_settle() == 0
    submission.refresh_from_db()
    assert submission.automatic and submission.submitted == world.assignment.due
    assert submission.receipt and submission.run is not None


def test_the_late_window_with_no_credit_takes_and_assesses(world: World, client: Client) -> None:
    assignment = assign(
        world.classroom,
        world.question_set,
        due=world.assignment.due,
        late_until=world.assignment.due + timedelta(hours=2),
        late_credit=0,
    )
    submission = handed_in(assignment, world.learner, at=assignment.due + timedelta(hours=1))
    with time_machine.travel(assignment.due + timedelta(hours=3), tick=False):
        page = client.get(url("result", submission)).content.decode()
        assert "counts 0 %" in page and "earned 4" in page
        refused = start(client_of(world.classmate), assignment)
        assert refused.status_code == 409 and "closed" in refused.content.decode()
        shown = client.get(reverse("teaching:assignment", args=[world.classroom.pk, assignment.pk]))
        assert "This closed on" in shown.content.decode()


def test_a_time_limit_runs_from_the_start_and_survives_a_reload(world: World, client: Client) -> None:
    assignment = assign(world.classroom, world.question_set, time_limit_minutes=30)
    now = timezone.now().replace(microsecond=0)
    with time_machine.travel(now, tick=False):
        start(client, assignment)
    submission = Submission.objects.get()
    with time_machine.travel(now + timedelta(minutes=20), tick=False):
        page = client.get(url("work", submission, 1)).content.decode()
        ends = re.search(r'data-ends="([^"]+)"', page)
        assert ends and datetime.fromisoformat(ends[1]) == now + timedelta(minutes=30)
        assert client.post(url("work_save", submission, 1), {"text": "ok", "go": "1"}).status_code == 302
    with time_machine.travel(now + timedelta(minutes=31), tick=False):
        assert client.get(url("work", submission, 1))["Location"] == url("receipt", submission)


def test_more_time_for_one_learner(world: World) -> None:
    assignment = assign(world.classroom, world.question_set, time_limit_minutes=30)
    extension_give(assignment=assignment, learner=world.learner, due=assignment.due, extra_time_percent=50)
    now = timezone.now().replace(microsecond=0)
    with time_machine.travel(now, tick=False):
        submission = attempt_start(assignment=assignment, learner=world.learner)
    with time_machine.travel(now + timedelta(minutes=44), tick=False):
        assert services.attempt_settle(submission=submission).submitted is None
    with time_machine.travel(now + timedelta(minutes=46), tick=False):
        assert services.attempt_settle(submission=submission).submitted is not None


def test_an_attempt_with_nothing_written_is_closed_and_marked(world: World) -> None:
    submission = attempt_start(assignment=world.assignment, learner=world.learner)
    with time_machine.travel(world.assignment.due + timedelta(minutes=1), tick=False):
        attempts_settle()
    submission.refresh_from_db()
    assert submission.blank and submission.n_pending == 0 and submission.run is None


def test_before_it_opens_nothing_is_shown(world: World, client: Client) -> None:
    assignment = assign(world.classroom, world.question_set, opens=timezone.now() + timedelta(days=1))
    page = client.get(reverse("teaching:assignment", args=[world.classroom.pk, assignment.pk]))
    assert "Why paging?" not in page.content.decode() and "This opens on" in page.content.decode()
    assert start(client, assignment).status_code == 409
    assert "Week one" not in str(
        client.get(reverse("teaching:class_page", args=[world.elsewhere.pk])).content
    )


def test_a_random_order_is_the_learners_own_and_stays(world: World) -> None:
    assignment = assign(world.classroom, world.question_set, order="random", attempts=None)
    items = list(assignment.questions.all())
    orders = {
        tuple(order_for(items, assignment, user))
        for user in (world.learner, world.classmate, world.owner, world.teacher, world.assistant)
    }
    assert len(orders) > 1
    first = hand_in(submission=work_on(assignment, world.learner))
    assert attempt_start(assignment=assignment, learner=world.learner).order == first.order


def test_a_random_order_stays_within_its_sections(world: World) -> None:
    world.question_set.items.filter(position__gt=1).update(section="Part two")
    assignment = assign(world.classroom, world.question_set, order="random")
    items = list(assignment.questions.all())
    for user in (world.learner, world.classmate, world.owner, world.teacher):
        assert order_for(items, assignment, user)[0] == items[0].pk


def test_questions_are_pinned_when_they_are_assigned(world: World, client: Client) -> None:
    world.question_set.items.all().delete()
    question = world.assignment.questions.get(position=1).question
    question.title, question.prompt = "Changed?", "Changed."
    question.save()
    submission = attempt_start(assignment=world.assignment, learner=world.learner)
    page = client.get(url("work", submission, 1)).content.decode()
    assert "Why paging?" in page and "Changed" not in page


def test_what_must_be_opened_comes_before_handing_in(world: World, client: Client) -> None:
    file = SimpleUploadedFile("prices <b>.pdf", b"%PDF-1.4 x")
    address = reverse("teaching:attachment_add", args=[world.classroom.pk, world.assignment.pk])
    client_of(world.owner).post(address, {"file": file, "label": "Price list", "required": "on"})
    row = Attachment.objects.get()
    submission = work_on(world.assignment, world.learner)
    refused = client.post(url("hand_in_confirm", submission))
    assert refused.status_code == 422 and "Price list" in refused.content.decode()
    opened = client.get(url("work_attachment", submission, row.pk))
    assert opened["Content-Disposition"].startswith("attachment;")
    assert b"".join(opened.streaming_content) == b"%PDF-1.4 x"  # type: ignore[attr-defined]
    assert client.post(url("hand_in_confirm", submission)).status_code == 302
    stored = row.file.path
    client_of(world.owner).post(
        reverse("teaching:attachment_remove", args=[world.classroom.pk, world.assignment.pk, row.pk])
    )
    assert not Attachment.objects.exists() and stored


def test_who_leaves_and_comes_back_finds_their_work(world: World, client: Client) -> None:
    submission = work_on(world.assignment, world.learner)
    client.post(reverse("teaching:class_leave", args=[world.classroom.pk]))
    assert client.get(url("work", submission, 1)).status_code == 404
    client.post(reverse("teaching:join", args=[world.classroom.join_links.get().code]))
    assert "Some words." in client.get(url("work", submission, 1)).content.decode()


def test_deleting_an_account_takes_its_work_along(world: World) -> None:
    submission = hand_in(submission=work_on(world.assignment, world.learner))
    account_delete(owner=world.learner)
    assert not Submission.objects.filter(pk=submission.pk).exists()
    assert not Run.objects.filter(kind="assess").exists()


def test_a_preview_stores_nothing(world: World) -> None:
    address = reverse("teaching:preview", args=[world.classroom.pk, world.assignment.pk, 2])
    page = client_of(world.assistant).get(address).content.decode()
    assert "This is what a learner sees" in page and "STRONG" not in page
    assert not Submission.objects.exists()


def test_queries_of_the_learners_pages(
    world: World, client: Client, django_assert_max_num_queries: Any
) -> None:
    submission = work_on(world.assignment, world.learner)
    for _ in range(8):
        assign(world.classroom, world.question_set)
    with django_assert_max_num_queries(11):
        client.get(url("work", submission, 1))
    with django_assert_max_num_queries(11):
        client.get(reverse("teaching:class_page", args=[world.classroom.pk]))
