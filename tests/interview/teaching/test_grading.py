"""A teacher's word: audited, reversible, never overwritten by the automatic grader."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from engine.grading import CREDIT as ENGINE_CREDIT
from interview.questions.models import RubricVersion
from interview.runs.models import SUCCEEDED
from interview.teaching.models import (
    AccessEntry,
    Answer,
    Assignment,
    Dispute,
    Notification,
    Override,
    Regrade,
    Submission,
)
from interview.teaching.scoring import CREDIT, Ruling, share_of
from interview.teaching.selectors.assignments import counted, submission_list, window_for
from interview.teaching.selectors.review import queue
from interview.teaching.services.assess import answers_assessed, submission_ended
from interview.teaching.services.grading import (
    dispute_open,
    normalised,
    override_apply_to_equal,
    override_point,
    override_points,
    override_remove,
)
from interview.teaching.services.regrade import regrade_apply, regrade_try
from interview.teaching.services.work import hand_in
from tests.interview.teaching.conftest import (
    POINTS,
    World,
    assess,
    assign,
    client_of,
    handed_in,
    verdict_of,
    work_on,
)

pytestmark = pytest.mark.django_db
RUBRIC = {"points": POINTS, "misconceptions": []}


def first(submission: Submission) -> Answer:
    return submission.answers.select_related("item__rubric", "submission").order_by("item__position")[0]


def earned(submission: Submission) -> Decimal | None:
    submission.refresh_from_db()
    return submission.earned


def test_credits_are_the_engines_own() -> None:
    assert CREDIT == ENGINE_CREDIT


@pytest.mark.parametrize(
    ("verdict", "rulings", "share"),
    [
        (verdict_of(0.5), [], 0.5),
        (None, [], None),
        (verdict_of(0, flags=("not_english",), label="not_assessed"), [], None),
        (verdict_of(0, flags=("empty",), label="not_assessed"), [], 0.0),
        (verdict_of(0), [Ruling("grows", "met")], 0.6667),
        (verdict_of(1), [Ruling("reads", "missing")], 0.6667),
        (None, [Ruling("grows", "met")], None),
        (None, [Ruling("grows", "met"), Ruling("reads", "met")], 1.0),
        (verdict_of(1), [Ruling("reads", "missing"), Ruling(share=0.25)], 0.25),
        # Deducted for a misconception (1.0 earned, 0.75 given): the deduction stays.
        ({**verdict_of(1), "score": 0.75}, [Ruling("reads", "missing")], 0.4167),
    ],
)
def test_a_share(verdict: Any, rulings: list[Ruling], share: float | None) -> None:
    assert share_of(verdict, RUBRIC, rulings) == share


def test_a_ruling_counts_and_taking_it_back_brings_the_automatic_score_back(world: World) -> None:
    submission = handed_in(world.assignment, world.learner, share=0.5)
    assert earned(submission) == Decimal("2")
    ruling = override_points(
        answer=first(submission), author=world.assistant, points=Decimal("1.5"), reason="Good example."
    )
    assert earned(submission) == Decimal("2.5")
    override_remove(override=ruling)
    assert earned(submission) == Decimal("2")
    row = Override.objects.get()
    assert row.removed is not None and row.author == world.assistant  # the audit stays


@pytest.mark.parametrize(
    "data",
    [{"points": "3", "reason": "x"}, {"points": "many", "reason": "x"}, {"points": "1", "reason": " "}],
)
def test_a_wrong_ruling_is_told_and_keeps_what_was_typed(world: World, data: dict[str, str]) -> None:
    answer = first(handed_in(world.assignment, world.learner))
    address = reverse("teaching:override", args=[world.classroom.pk, answer.pk])
    page = client_of(world.assistant).post(address, data)
    assert page.status_code == 422 and f'value="{data["points"]}"' in page.content.decode()
    assert not Override.objects.exists()


def test_the_automatic_grader_run_again_leaves_rulings_alone(world: World) -> None:
    submission = handed_in(world.assignment, world.learner, share=0.5)
    answer = first(submission)
    override_points(answer=answer, author=world.owner, points=Decimal(2), reason="Right.")
    answers_assessed([(answer, verdict_of(0.0))])
    answer.refresh_from_db()
    assert answer.share == 1.0 and answer.verdict == verdict_of(0.0)


def test_the_graded_attempt_counts_however_much_is_practised_after(world: World) -> None:
    assignment = assign(world.classroom, world.question_set, attempts=None, counting="latest")
    graded = handed_in(assignment, world.learner, share=0.5)
    override_points(answer=first(graded), author=world.owner, points=Decimal(1), reason="As said in class.")
    handed_in(assignment, world.learner, share=1.0)
    window = window_for(assignment, world.learner)
    score = counted(assignment, window, submission_list(assignment, world.learner))
    assert score is not None and score.submission.number == 1
    page = client_of(world.owner).get(reverse("teaching:gradebook", args=[world.classroom.pk, assignment.pk]))
    assert "newer attempt not counted" in page.content.decode()


def test_equal_answers_get_the_same_ruling(world: World) -> None:
    texts = {world.learner: "The  Cache grows.", world.classmate: "the cache grows"}
    rows = {user: hand_in(submission=work_on(world.assignment, user, text)) for user, text in texts.items()}
    for row in rows.values():
        assess(row, 0.0)
    ruling = override_points(
        answer=first(rows[world.learner]), author=world.owner, points=Decimal(2), reason="Enough."
    )
    assert override_apply_to_equal(override=ruling, author=world.owner) == 1
    assert earned(rows[world.classmate]) == Decimal(2)
    told = Notification.objects.filter(text__contains="looked at an answer of yours")
    assert {row.owner for row in told} == {world.learner, world.classmate}
    assert override_apply_to_equal(override=ruling, author=world.owner) == 0
    assert normalised("Ａ ﬁx!") == normalised("a fix")


def test_the_queue_puts_disputes_first_then_what_nobody_assessed(world: World) -> None:
    submission = hand_in(submission=work_on(world.assignment, world.learner))
    answers = list(submission.answers.select_related("item__rubric").order_by("item__position"))
    answers_assessed([(answers[0], verdict_of(0.5, flags=("needs_review",)))])
    answers_assessed([(answers[1], verdict_of(0, flags=("not_english",), label="not_assessed"))])
    answers_assessed([(answers[2], verdict_of(1.0))])
    assert submission.run is not None
    submission_ended(submission.run)
    dispute_open(answer=answers[2], comment="I said more.")
    lines = queue(world.assignment)
    assert [line.reason for line in lines] == ["disputed", "not_assessed", "uncertain"]
    assert [line.answer for line in lines] == [answers[2], answers[1], answers[0]]
    address = reverse("teaching:review_queue", args=[world.classroom.pk, world.assignment.pk])
    assert "Lena" in client_of(world.assistant).get(address).content.decode()
    assert "Lena" not in client_of(world.assistant).get(address + "?hide=1").content.decode()
    client_of(world.assistant).post(reverse("teaching:reviewed", args=[world.classroom.pk, answers[0].pk]))
    assert [line.reason for line in queue(world.assignment)] == ["disputed", "not_assessed"]


def test_a_failed_assessment_waits_for_a_teacher(world: World) -> None:
    submission = hand_in(submission=work_on(world.assignment, world.learner))
    assert submission.run is not None
    submission_ended(submission.run)
    assert {line.reason for line in queue(world.assignment)} == {"not_assessed"}


def test_what_has_no_score_stays_in_the_queue_until_it_has_one(world: World) -> None:
    submission = hand_in(submission=work_on(world.assignment, world.learner))
    assess(submission, 0, flags=("not_english",), label="not_assessed")
    answer = first(submission)

    def waits() -> bool:
        return answer.pk in {line.answer.pk for line in queue(world.assignment)}

    override_point(answer=answer, author=world.owner, point="grows", state="met", reason="Said in French.")
    assert waits(), "one point ruled on is no score yet"
    ruling = override_points(answer=answer, author=world.owner, points=Decimal(2), reason="All there.")
    assert not waits()
    override_remove(override=ruling)
    assert waits() and earned(submission) == Decimal(0)


def test_an_uncertain_score_is_to_be_looked_at_again_when_the_ruling_goes(world: World) -> None:
    submission = hand_in(submission=work_on(world.assignment, world.learner))
    assess(submission, 0.5, flags=("needs_review",))
    ruling = override_points(answer=first(submission), author=world.owner, points=Decimal(2), reason="Yes.")
    assert len(queue(world.assignment)) == 2
    override_remove(override=ruling)
    assert [line.reason for line in queue(world.assignment)] == ["uncertain"] * 3


def test_full_points_to_everybody_for_a_broken_question(world: World) -> None:
    submission = handed_in(world.assignment, world.learner, share=0.0)
    item = first(submission).item
    address = reverse("teaching:item_update", args=[world.classroom.pk, world.assignment.pk, item.pk])
    client_of(world.owner).post(address, {"everybody": "1", "why": "Two answers were right."})
    assert earned(submission) == Decimal(2)
    Assignment.objects.update(feedback="full")
    page = client_of(world.learner).get(reverse("teaching:result", args=[submission.pk])).content.decode()
    assert "full points to everybody: Two answers were right." in page
    client_of(world.owner).post(address, {"everybody": "0"})
    assert earned(submission) == Decimal(0)


def test_changed_points_show_everywhere(world: World) -> None:
    Assignment.objects.update(feedback="full")
    submission = handed_in(world.assignment, world.learner, share=1.0)
    item = first(submission).item
    address = reverse("teaching:item_update", args=[world.classroom.pk, world.assignment.pk, item.pk])
    client_of(world.owner).post(address, {"points": "7,5"})
    args = [world.classroom.pk, world.assignment.pk]
    pages = {
        "result": client_of(world.learner).get(reverse("teaching:result", args=[submission.pk])),
        "assignment": client_of(world.learner).get(reverse("teaching:assignment", args=args)),
        "class": client_of(world.learner).get(reverse("teaching:class_page", args=args[:1])),
        "gradebook": client_of(world.owner).get(reverse("teaching:gradebook", args=args)),
        "course": client_of(world.owner).get(reverse("teaching:course", args=args[:1])),
        "staff": client_of(world.owner).get(reverse("teaching:assignment", args=args)),
        "learner": client_of(world.owner).get(
            reverse("teaching:learner", args=[args[0], world.seat(world.learner).pk])
        ),
    }
    assert {name for name, page in pages.items() if "9.5" not in page.content.decode()} == set()


def regraded(world: World, share: float) -> tuple[Regrade, Submission, Submission]:
    """Two answers at 0.5, one ruled on; the rubric is edited; a trial gives both `share`."""
    one = handed_in(world.assignment, world.learner, share=0.5)
    two = handed_in(world.assignment, world.classmate, share=0.5)
    override_points(answer=first(two), author=world.owner, points=Decimal(0), reason="Copied.")
    item = first(one).item
    question = item.question
    question.rubric = RubricVersion.objects.create(question=question, hash="n" * 64, body=RUBRIC)
    question.save(update_fields=["rubric"])
    item.refresh_from_db()
    trial = regrade_try(item=item, by=world.owner)
    assert trial.run is not None
    verdicts = {str(row.pk): verdict_of(share) for row in Answer.objects.filter(item=item)}
    trial.run.output, trial.run.state = {"verdicts": verdicts}, SUCCEEDED
    trial.run.save()
    return trial, one, two


def test_a_regrade_is_seen_first_and_touches_no_ruling(world: World) -> None:
    trial, one, two = regraded(world, 1.0)
    address = reverse("teaching:regrade", args=[world.classroom.pk, trial.pk])
    page = client_of(world.teacher).get(address).content.decode()
    assert "50.0" in page and "100.0" in page and "ruled on" in page
    assert earned(one) == Decimal(2)  # looking changes nothing
    client_of(world.teacher).post(reverse("teaching:regrade_apply", args=[world.classroom.pk, trial.pk]))
    assert earned(one) == Decimal(3)
    assert earned(two) == Decimal(1)  # the ruling of 0 points stays, the other two answers are as before
    assert first(one).item.rubric.hash == "n" * 64
    again = client_of(world.teacher).post(
        reverse("teaching:regrade_apply", args=[world.classroom.pk, trial.pk]), follow=True
    )
    assert "applied already" in again.content.decode()


def test_an_unfinished_trial_is_not_applied(world: World) -> None:
    one = handed_in(world.assignment, world.learner)
    trial = regrade_try(item=first(one).item, by=world.owner)
    with pytest.raises(Exception, match="isn’t finished"):
        regrade_apply(trial=trial)


def test_a_dispute_and_its_reply(world: World) -> None:
    Assignment.objects.update(feedback="full")
    submission = handed_in(world.assignment, world.learner, share=0.5)
    answer = first(submission)
    ask = reverse("teaching:dispute", args=[submission.pk, answer.pk])
    client_of(world.learner).post(ask, {"comment": "I wrote that <b>too</b>."})
    client_of(world.learner).post(ask, {"comment": "Again."})
    row = Dispute.objects.get()
    assert client_of(world.classmate).post(ask, {"comment": "x"}).status_code == 404
    page = client_of(world.assistant).get(reverse("teaching:answer", args=[world.classroom.pk, answer.pk]))
    assert "I wrote that &lt;b&gt;too" in page.content.decode()
    reply = reverse("teaching:dispute_resolve", args=[world.classroom.pk, answer.pk, row.pk])
    client_of(world.assistant).post(reply, {"reply": "You did: one more point."})
    seen = client_of(world.learner).get(reverse("teaching:result", args=[submission.pk])).content.decode()
    assert "You did: one more point." in seen
    told = client_of(world.learner).get(reverse("teaching:notifications")).content.decode()
    assert "Your teacher replied" in told


def test_no_dispute_before_there_is_feedback(world: World) -> None:
    submission = handed_in(world.assignment, world.learner)
    ask = reverse("teaching:dispute", args=[submission.pk, first(submission).pk])
    assert client_of(world.learner).post(ask, {"comment": "x"}).status_code == 404


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", "</div></main><div>", "<script>x</script>"])
def test_an_answer_is_inert_in_the_teachers_view(world: World, text: str) -> None:
    submission = hand_in(submission=work_on(world.assignment, world.learner, text))
    assess(submission, 0.5)
    answer = first(submission)
    override_points(answer=answer, author=world.owner, points=Decimal(1), reason=text)
    Assignment.objects.update(
        due=world.assignment.due - timedelta(days=30), opens=world.assignment.opens - timedelta(days=60)
    )
    addresses = [
        (world.owner, reverse("teaching:answer", args=[world.classroom.pk, answer.pk])),
        (
            world.owner,
            reverse("teaching:review_queue", args=[world.classroom.pk, world.assignment.pk]) + "?all=1",
        ),
        (world.learner, reverse("teaching:result", args=[submission.pk])),
    ]
    for user, address in addresses:
        page = client_of(user).get(address).content.decode()
        assert text not in page and page.rstrip().endswith("</html>")


def test_reading_an_answer_is_written_down(world: World) -> None:
    answer = first(handed_in(world.assignment, world.learner))
    client_of(world.assistant).get(reverse("teaching:answer", args=[world.classroom.pk, answer.pk]))
    page = client_of(world.owner).get(
        reverse("teaching:learner", args=[world.classroom.pk, world.seat(world.learner).pk])
    )
    assert "Week one: Why paging?" in page.content.decode() and "Anton" in page.content.decode()


def test_reading_the_list_of_answers_is_written_down_once_a_day(world: World) -> None:
    submission = handed_in(world.assignment, world.learner)
    Answer.objects.filter(submission=submission).update(review="uncertain")
    address = reverse("teaching:review_queue", args=[world.classroom.pk, world.assignment.pk])
    for _ in range(2):
        client_of(world.assistant).get(address)
    client_of(world.teacher).get(address + "?hide=1")
    entries = AccessEntry.objects.filter(what="Week one: list of answers to review")
    assert {(row.owner, row.reader) for row in entries} == {
        (world.learner, world.assistant),
        (world.learner, world.teacher),
    }
    assert entries.count() == 2


def test_reading_a_trials_answers_is_written_down(world: World) -> None:
    trial, _, _ = regraded(world, 1.0)
    client_of(world.teacher).get(reverse("teaching:regrade", args=[world.classroom.pk, trial.pk]))
    entries = AccessEntry.objects.filter(reader=world.teacher, what__contains="trial regrade")
    assert {row.owner for row in entries} == {world.learner, world.classmate}
