"""Own questions: written, changed, tried, imported and exported by their author; nobody else sees them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.accounts.services import account_delete
from interview.practice.models import Attempt
from interview.questions import own_selectors, selectors
from interview.questions.content import content_from
from interview.questions.formats.registry import FORMATS
from interview.questions.kinds import KIND
from interview.questions.loader import Bank
from interview.questions.models import Question, QuestionVersion, RubricVersion, Topic
from interview.questions.own_forms import QuestionForm
from interview.questions.own_services import question_write
from interview.questions.services import bank_sync
from interview.runs import services as runs
from interview.runs.models import Run
from tests.factories import make_attempt
from tests.interview.questions.own import TOPICS, full

pytestmark = pytest.mark.django_db


def sent(**changes: Any) -> dict[str, Any]:
    """The author's form with one point, as a browser sends it."""
    data = {
        "q-title": "",
        "q-topic": "other",
        "q-level": "mid",
        "q-prompt": "Why does the cache grow?",
        "q-strong": "Every token adds keys and values. So memory grows linearly.",
        **{
            f"{name}-{part}": 0
            for name in ("misconceptions", "samples")
            for part in ("TOTAL_FORMS", "INITIAL_FORMS")
        },
        "points-TOTAL_FORMS": 1,
        "points-INITIAL_FORMS": 0,
        "points-0-means": "Memory grows linearly.",
        "points-0-weight": "2",
        "points-0-numbers": "19.3 GB | 3 % | cache | required",
    }
    return {**data, **changes}


@pytest.fixture(autouse=True)
def topic(db: None) -> Topic:
    """The one topic of the bank that these questions name."""
    return Topic.objects.create(id="kv-cache", title="The KV cache", summary="What a server keeps.")


@pytest.fixture
def own(owner: User, topic: Topic) -> Question:
    return question_write(owner=owner, content=full())[0]


def test_a_question_is_written_and_practised(owner_client: Client, owner: User) -> None:
    answer = owner_client.post(reverse("questions:own_new"), sent())
    assert answer.status_code == 302
    written = Question.objects.get(owner=owner)
    assert written.rubric and written.rubric.body["points"][0]["numbers"][0]["tolerance"] == 0.03
    assert written.title == "Why does the cache grow?"
    page = owner_client.get(reverse("practice:question", args=[written.pk])).content.decode()
    assert "Memory grows linearly" not in page
    submitted = owner_client.post(
        reverse("practice:submit", args=[written.pk]), {"text": "It grows.", "idempotency_key": "k"}
    )
    assert submitted.status_code == 302
    assert Attempt.objects.get().rubric == written.rubric


def test_without_points_the_reference_gives_them(owner_client: Client, owner: User) -> None:
    owner_client.post(reverse("questions:own_new"), sent(**{"points-0-means": "", "points-0-numbers": ""}))
    rubric = Question.objects.get(owner=owner).rubric
    assert rubric and [point["means"] for point in rubric.body["points"]] == [
        "Every token adds keys and values.",
        "So memory grows linearly.",
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"q-prompt": ""}, "This field is required"),
        ({"points-0-numbers": "many GB"}, "is no number with a unit"),
        ({"q-strong": "x" * 20_001}, "20,000 is the limit"),
        ({"q-sources": "A | http://plain.example"}, "https://"),
        ({"q-calculators": "abacus | | x"}, "none of tokens"),
        ({"points-0-weight": "-1"}, "greater than or equal"),
        ({"points-TOTAL_FORMS": "x"}, ""),
    ],
)
def test_a_fault_is_shown_and_nothing_typed_is_lost(
    owner_client: Client, changes: dict[str, Any], problem: str
) -> None:
    answer = owner_client.post(reverse("questions:own_new"), sent(**changes))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert problem in page and not Question.objects.filter(owner__isnull=False).exists()
    if "q-prompt" not in changes:
        assert "Why does the cache grow?" in page


def test_a_button_adds_an_empty_point_and_saves_nothing(owner_client: Client) -> None:
    answer = owner_client.post(reverse("questions:own_new"), sent(add="points"))
    assert answer.status_code == 200
    assert 'name="points-1-means"' in answer.content.decode()
    assert not Question.objects.exists()


def test_the_form_gives_back_what_it_was_given(owner: User, own: Question) -> None:
    content = own_selectors.content_of(own)
    form = QuestionForm(content=content)
    data: dict[str, Any] = {}
    for part in (form.head, *(item for kind in form.sets.values() for item in kind.forms)):
        for field in part:
            value = field.value()
            if value not in (None, False):
                data[field.html_name] = "on" if value is True else value
    for kind in form.sets.values():
        data |= {f"{kind.prefix}-TOTAL_FORMS": len(kind.forms), f"{kind.prefix}-INITIAL_FORMS": 0}
    again = QuestionForm(data).content(uid=content.uid, topics=TOPICS)
    assert again == content


def test_saving_makes_a_version_and_answers_keep_theirs(
    owner_client: Client, owner: User, own: Question
) -> None:
    attempt = make_attempt(owner, own)
    assert own.rubric
    before = own.rubric.hash
    owner_client.post(reverse("questions:own_edit", args=[own.pk]), sent())
    own.refresh_from_db()
    attempt.refresh_from_db()
    assert own.rubric.hash != before
    assert attempt.rubric.hash == before
    assert [version.number for version in own.versions.all()] == [2, 1]
    owner_client.post(reverse("questions:own_restore", args=[own.pk, 1]))
    own.refresh_from_db()
    assert own_selectors.content_of(own) == full()
    assert own.versions.count() == 3


def test_saving_the_same_again_writes_nothing(owner: User, own: Question) -> None:
    assert question_write(owner=owner, content=full()) == (own, False)
    assert QuestionVersion.objects.count() == 1


def test_a_version_is_never_changed(own: Question) -> None:
    with pytest.raises(TypeError, match="written once"):
        own.versions.get().save()


PAGES = [("own_edit", []), ("own_remove", []), ("own_restore", [1])]


@pytest.mark.parametrize(("name", "more"), PAGES)
def test_others_get_404_and_visitors_sign_in(
    other_client: Client, anonymous_client: Client, own: Question, name: str, more: list[int]
) -> None:
    url = reverse(f"questions:{name}", args=[own.pk, *more])
    assert other_client.post(url).status_code == 404
    answer = anonymous_client.post(url)
    assert answer.status_code == 302 and answer["Location"].startswith("/account/sign-in/")
    assert Question.objects.filter(pk=own.pk, retired=None).exists()


def test_nobody_else_can_read_or_answer_it(
    other: User, other_client: Client, anonymous_client: Client, own: Question
) -> None:
    for client in (other_client, anonymous_client):
        assert client.get(reverse("practice:question", args=[own.pk])).status_code == 404
        assert (
            client.post(
                reverse("practice:submit", args=[own.pk]), {"text": "x", "idempotency_key": "k"}
            ).status_code
            == 404
        )
        assert client.get(f"/api/v1/questions/{own.pk}").status_code == 404
        assert own.title not in client.get(reverse("questions:question_list")).content.decode()
    assert selectors.question_get(own.pk, other) is None


def test_the_lists_of_the_bank_hold_the_bank_only(owner: User, own: Question, parsed_bank: Bank) -> None:
    bank_sync(parsed_bank)
    assert own not in selectors.question_list()
    assert own not in selectors.question_list(topic="kv-cache")
    counts = {topic.pk: topic.n_questions for topic in selectors.topic_list()}  # type: ignore[attr-defined]
    assert counts["kv-cache"] == selectors.question_list(topic="kv-cache").count()


def test_loading_the_bank_leaves_own_questions_alone(own: Question, parsed_bank: Bank) -> None:
    bank_sync(parsed_bank)
    own.refresh_from_db()
    assert own.retired is None


def test_removing_deletes_unless_it_was_answered(owner_client: Client, owner: User, own: Question) -> None:
    second = question_write(owner=owner, content=full(uid="two"))[0]
    make_attempt(owner, second)
    for question in (own, second):
        assert owner_client.post(reverse("questions:own_remove", args=[question.pk])).status_code == 302
    assert not Question.objects.filter(pk=own.pk).exists()
    second.refresh_from_db()
    assert second.retired is not None
    assert second not in own_selectors.own_list(owner)


def test_a_leaving_author_takes_no_answer_of_others_along(owner: User, other: User, own: Question) -> None:
    attempt = make_attempt(other, own)
    alone = question_write(owner=owner, content=full(uid="alone"))[0]
    account_delete(owner=owner)
    attempt.refresh_from_db()
    assert attempt.question.owner is None and attempt.question.retired is not None
    assert selectors.question_get(own.pk, other) is None
    assert not Question.objects.filter(pk=alone.pk).exists()


def upload(client: Client, name: str, data: bytes) -> Any:
    return client.post(reverse("questions:own_import"), {"file": SimpleUploadedFile(name, data)})


def test_an_import_shows_first_and_writes_after(owner_client: Client, owner: User, own: Question) -> None:
    data = FORMATS["json"].write([full(title="Renamed"), full(uid="new-1")])
    preview = upload(owner_client, "q.json", data).content.decode()
    assert "Renamed" in preview and ">changed<" in preview and ">new<" in preview
    assert own_selectors.uids_with_hashes(owner) == {"abc-1": full().hash}
    done = owner_client.post(reverse("questions:own_import"), {"confirm": "1", "text": data.decode()})
    assert done.status_code == 302
    assert set(own_selectors.uids_with_hashes(owner)) == {"abc-1", "new-1"}
    own.refresh_from_db()
    assert own.title == "Renamed"
    owner_client.post(reverse("questions:own_import"), {"confirm": "1", "text": data.decode()})
    assert Question.objects.filter(owner=owner).count() == 2


@pytest.mark.parametrize("format", list(FORMATS))
def test_importing_an_export_twice_updates(
    owner_client: Client, owner: User, own: Question, format: str
) -> None:
    exported = owner_client.get(reverse("questions:own_export", args=[format]))
    assert exported.status_code == 200 and "attachment" in exported["Content-Disposition"]
    for _ in range(2):
        page = upload(owner_client, f"q{FORMATS[format].endings[0]}", exported.content)
        assert page.status_code == 200
        owner_client.post(reverse("questions:own_import"), {"confirm": "1", "text": page.context["data"]})
    assert Question.objects.filter(owner=owner).count() == 1


def test_a_bad_row_writes_nothing(owner_client: Client, owner: User) -> None:
    rows = b"question,reference,level\nWhy?,Because it is so.,mid\nHow?,So.,expert\n"
    answer = upload(owner_client, "q.csv", rows)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "line 3" in page and "is none of warm-up" in page and 'name="confirm"' not in page
    forced = json.dumps([{"prompt": "Why?", "strong": "So."}, {"prompt": "How?"}])
    assert (
        owner_client.post(reverse("questions:own_import"), {"confirm": "1", "text": forced}).status_code
        == 422
    )
    assert not Question.objects.filter(owner=owner).exists()


def test_a_pasted_text_that_cannot_be_read_stays(owner_client: Client) -> None:
    answer = owner_client.post(reverse("questions:own_import"), {"text": "what is this"})
    assert answer.status_code == 422 and "what is this" in answer.content.decode()


def test_an_import_of_anothers_export_makes_ones_own(
    other_client: Client, other: User, own: Question
) -> None:
    data = FORMATS["json"].write([full()]).decode()
    other_client.post(reverse("questions:own_import"), {"confirm": "1", "text": data})
    assert Question.objects.get(owner=other).uid == own.uid
    own.refresh_from_db()
    assert own.owner != other


def test_samples_are_tried_without_saving(owner_client: Client, owner: User) -> None:
    samples = {
        "samples-TOTAL_FORMS": 1,
        "samples-0-label": "off_topic",
        "samples-0-text": "Bananas are yellow.",
    }
    page = owner_client.post(reverse("questions:own_new"), sent(**samples, **{"try": "1"})).content.decode()
    run = Run.objects.get(kind=KIND)
    assert [sample["label"] for sample in run.input["samples"]] == ["off_topic", "strong"]
    assert reverse("questions:own_tried", args=[run.pk]) in page
    assert not Question.objects.filter(owner=owner).exists()


def test_a_try_shows_what_does_not_fit(owner_client: Client, other_client: Client, owner: User) -> None:
    owner_client.post(reverse("questions:own_new"), sent(**{"try": "1"}))
    run = runs.run_claim(str(Run.objects.get(kind=KIND).pk), worker="host:1")
    assert run is not None
    verdict = {
        "score": 0.0,
        "verdict": "incorrect",
        "points": [{"id": "p1", "state": "missing", "evidence": None, "why": ""}],
        "misconceptions": [],
        "flags": [],
    }
    runs.run_succeed(run, {"verdicts": [verdict]}, {})
    url = reverse("questions:own_tried", args=[run.pk])
    page = owner_client.get(url).content.decode()
    assert "wanted correct" in page and "1 missing" in page
    assert other_client.get(url).status_code == 404


def test_the_list_costs_the_same_for_many(
    owner_client: Client, owner: User, own: Question, django_assert_max_num_queries: Any
) -> None:
    for number in range(5):
        question_write(owner=owner, content=full(uid=f"n{number}"))
    with django_assert_max_num_queries(4):
        owner_client.get(reverse("questions:own_list"))
    with django_assert_max_num_queries(4):
        owner_client.get(reverse("questions:own_export", args=["json"]))


def test_rubrics_are_shared_between_equal_versions(owner: User, own: Question) -> None:
    question_write(owner=owner, content=content_from({**full().to_dict(), "title": "Other"}, topics=TOPICS))
    assert RubricVersion.objects.filter(question=own).count() == 1
