"""Question sets: picked, ordered, shared, copied, written to a file and read back."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.questions.models import Question, Topic
from interview.questions.own_selectors import content_of
from interview.questions.own_services import question_write
from interview.teaching.models import QuestionSet, SetItem
from interview.teaching.selectors.sets import set_items
from interview.teaching.services.set_files import set_document
from interview.teaching.services.sets import items_add, set_create, set_duplicate
from tests.interview.questions.own import full
from tests.interview.teaching.conftest import World, client_of, question_make, set_make

pytestmark = pytest.mark.django_db


def order(question_set: QuestionSet) -> list[str]:
    return [item.question_id for item in set_items(question_set)]


def fields(question_set: QuestionSet, **changes: str) -> dict[str, str]:
    """The list's form as the page shows it, with changes."""
    data: dict[str, str] = {}
    for place, item in enumerate(set_items(question_set), start=1):
        data |= {
            f"position-{item.pk}": str(place),
            f"points-{item.pk}": str(item.points),
            f"section-{item.pk}": item.section,
            f"note-{item.pk}": item.note,
        }
    return data | changes


def save(world: World, **changes: str) -> Any:
    address = reverse("teaching:items_update", args=[world.question_set.pk])
    return client_of(world.owner).post(address, fields(world.question_set, **changes))


def key(world: World, slug: str, field: str) -> str:
    return f"{field}-{world.question_set.items.get(question_id=slug).pk}"


def test_picking_adds_at_the_end_and_twice_is_once(world: World) -> None:
    question_make("routing")
    address = reverse("teaching:items_add", args=[world.question_set.pk])
    for _ in range(2):
        client_of(world.owner).post(address, {"question": ["routing", "paging", "nothing"]})
    assert order(world.question_set) == ["paging", "batching", "sampling", "routing"]


@pytest.mark.parametrize(
    ("slug", "place", "expected"),
    [
        ("sampling", "1", ["sampling", "paging", "batching"]),
        ("paging", "3", ["batching", "sampling", "paging"]),
        ("paging", "2", ["batching", "paging", "sampling"]),
        ("paging", "", ["paging", "batching", "sampling"]),
    ],
)
def test_a_place_is_typed(world: World, slug: str, place: str, expected: list[str]) -> None:
    save(world, **{key(world, slug, "position"): place})
    assert order(world.question_set) == expected


def test_a_button_moves_one_place_and_keeps_what_was_typed(world: World) -> None:
    pk = world.question_set.items.get(question_id="sampling").pk
    save(world, up=str(pk), **{key(world, "paging", "note"): "typed meanwhile"})
    assert order(world.question_set) == ["paging", "sampling", "batching"]
    assert world.question_set.items.get(question_id="paging").note == "typed meanwhile"


def test_moving_across_a_heading_changes_the_section(world: World) -> None:
    save(world, **{key(world, "sampling", "section"): "Part two"})
    pk = world.question_set.items.get(question_id="sampling").pk
    save(world, up=str(pk))
    assert order(world.question_set) == ["paging", "batching", "sampling"]
    assert world.question_set.items.get(pk=pk).section == ""


@pytest.mark.parametrize(("typed", "stored"), [("2,5", "2.50"), ("0", "0.00"), (" 10 ", "10.00")])
def test_points_as_people_type_them(world: World, typed: str, stored: str) -> None:
    assert save(world, **{key(world, "paging", "points"): typed}).status_code == 302
    assert str(world.question_set.items.get(question_id="paging").points) == stored


@pytest.mark.parametrize("typed", ["", "many", "-1", "1001", "1.005", "NaN", "1e9"])
def test_wrong_points_are_told_and_nothing_typed_is_lost(world: World, typed: str) -> None:
    answer = save(world, **{key(world, "paging", "points"): typed, key(world, "batching", "note"): "keep me"})
    assert answer.status_code == 422
    assert "keep me" in answer.content.decode()
    assert world.question_set.items.get(question_id="paging").points == Decimal(2)


def test_taking_out(world: World) -> None:
    save(world, **{key(world, "batching", "remove"): "on"})
    assert order(world.question_set) == ["paging", "sampling"]


def test_searching_while_picking(world: World) -> None:
    question_make("routing")
    address = reverse("teaching:set_page", args=[world.question_set.pk])
    page = client_of(world.owner).get(address, {"q": "routing"}, headers={"HX-Request": "true"})
    text = page.content.decode()
    assert "Why routing?" in text and "Why paging?" not in text and "<html" not in text


def test_no_key_point_or_strong_answer_is_on_a_sets_pages(world: World) -> None:
    client = client_of(world.owner)
    page = client.get(reverse("teaching:set_page", args=[world.question_set.pk])).content.decode()
    assert "STRONG" not in page and "grows with every token" not in page


def test_a_set_is_shared_by_its_link_until_it_is_switched_off(world: World) -> None:
    client = client_of(world.owner)
    address = reverse("teaching:set_share", args=[world.question_set.pk])
    client.post(address, {"on": "1"})
    world.question_set.refresh_from_db()
    link = reverse("teaching:set_shared", args=[world.question_set.share_code])
    assert "Why paging?" in Client().get(link).content.decode()
    client.post(address, {"on": "0"})
    assert Client().get(link).status_code == 404


def test_a_published_set_is_read_and_copied_by_others(world: World) -> None:
    client_of(world.owner).post(reverse("teaching:set_publish", args=[world.question_set.pk]), {"on": "1"})
    assert "Caches and batches" in Client().get(reverse("teaching:gallery")).content.decode()
    SetItem.objects.update(note="my private note")
    page = Client().get(reverse("teaching:set_page", args=[world.question_set.pk])).content.decode()
    assert "Why batching?" in page and "my private note" not in page
    client_of(world.stranger).post(reverse("teaching:set_duplicate", args=[world.question_set.pk]))
    copy = QuestionSet.objects.get(owner=world.stranger)
    assert order(copy) == order(world.question_set)
    assert set(copy.items.values_list("note", flat=True)) == {""}, "notes are for whoever wrote them"
    copy.items.all().delete()
    assert len(order(world.question_set)) == 3


def test_an_empty_set_is_not_published(world: World) -> None:
    empty = set_create(owner=world.owner, title="Empty")
    answer = client_of(world.owner).post(
        reverse("teaching:set_publish", args=[empty.pk]), {"on": "1"}, follow=True
    )
    assert "at least one question" in answer.content.decode()


def test_a_shared_set_is_copied_with_its_code_only(world: World) -> None:
    QuestionSet.objects.update(share_code="secret-code")
    address = reverse("teaching:set_duplicate", args=[world.question_set.pk])
    assert client_of(world.stranger).post(address, {"code": "wrong"}).status_code == 404
    assert client_of(world.stranger).post(address, {"code": "secret-code"}).status_code == 302


def test_a_set_survives_its_file(world: World) -> None:
    save(
        world,
        **{key(world, "paging", "section"): "Erster Teil ü", key(world, "batching", "points"): "0.25"},
    )
    client = client_of(world.owner)
    answer = client.get(reverse("teaching:set_export", args=[world.question_set.pk]))
    assert answer["Content-Disposition"] == 'attachment; filename="prefill-set-caches-and-batches.json"'
    file = SimpleUploadedFile("set.json", b"\xef\xbb\xbf" + answer.content)
    client.post(reverse("teaching:set_import"), {"file": file})
    copy = QuestionSet.objects.exclude(pk=world.question_set.pk).get()
    assert set_document(copy) == set_document(world.question_set)


def own_question(owner: User, **changes: Any) -> Question:
    Topic.objects.get_or_create(id="kv-cache", defaults={"title": "The KV cache", "summary": "x"})
    question, _ = question_write(owner=owner, content=full(**changes))
    return question


def send_back(user: User, file: bytes) -> QuestionSet:
    upload = SimpleUploadedFile("set.json", file)
    answer = client_of(user).post(reverse("teaching:set_import"), {"file": upload})
    assert answer.status_code == 302, answer.content.decode()
    return QuestionSet.objects.filter(owner=user).latest("created")


def test_a_set_with_own_questions_moves_to_another_account_whole(world: World) -> None:
    mine = own_question(world.owner)
    items_add(question_set=world.question_set, questions=[mine])
    save(world, **{key(world, mine.pk, "note"): "hint", key(world, mine.pk, "points"): "2.5"})
    file = client_of(world.owner).get(reverse("teaching:set_export", args=[world.question_set.pk])).content
    copy = send_back(world.stranger, file)
    theirs = copy.items.get(question__owner=world.stranger)
    assert content_of(theirs.question) == content_of(mine) and theirs.question.pk != mine.pk
    assert (theirs.note, str(theirs.points), theirs.position) == ("hint", "2.50", 4)
    assert send_back(world.stranger, file).items.get(position=4).question == theirs.question, "once is enough"
    again = set_document(copy)
    assert again["items"][:3] == set_document(world.question_set)["items"][:3]
    assert list(again["questions"].values()) == list(set_document(world.question_set)["questions"].values())


def test_an_import_overwrites_no_question(world: World) -> None:
    mine = own_question(world.owner)
    other = own_question(world.stranger, title="Something else under the same id")
    items_add(question_set=world.question_set, questions=[mine])
    file = json.dumps(set_document(world.question_set)).encode()
    copy = send_back(world.stranger, file)
    other.refresh_from_db()
    assert other.title == "Something else under the same id"
    assert copy.items.get(position=4).question.title == mine.title
    assert send_back(world.owner, file).items.get(position=4).question == mine


def test_a_copied_set_gives_nobody_elses_question_away(world: World) -> None:
    mine = own_question(world.owner)
    items_add(question_set=world.question_set, questions=[mine])
    copy = set_duplicate(question_set=world.question_set, owner=world.stranger)
    assert set_document(copy)["questions"] == {}


@pytest.mark.parametrize("body", [{}, {"prompt": ""}, [], "x", {"uid": "a", "prompt": "b", "strong": 1}])
def test_a_broken_question_in_a_file_is_told(world: World, body: Any) -> None:
    document = {"format": "prefill-set-1", "items": [{"question": "own-1"}], "questions": {"own-1": body}}
    file = SimpleUploadedFile("s.json", json.dumps(document).encode())
    page = client_of(world.owner).post(reverse("teaching:set_import"), {"file": file}, follow=True)
    assert "The question “own-1” in the file can&#x27;t be used" in page.content.decode()


def test_what_an_import_leaves_out_is_told(world: World) -> None:
    rows = [
        {"question": "paging", "points": 2},
        {"question": "nowhere"},
        {"question": "paging"},
        {"question": "batching", "points": "lots"},
    ]
    file = SimpleUploadedFile("s.json", json.dumps({"format": "prefill-set-1", "items": rows}).encode())
    page = client_of(world.owner).post(reverse("teaching:set_import"), {"file": file}, follow=True)
    text = page.content.decode()
    assert "Item 2: there is no question “nowhere”" in text
    assert "Item 3" in text and "Item 4: points must be a number" in text
    assert QuestionSet.objects.filter(title="Imported set").get().items.count() == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b"[]", b"{}", b'{"format": "prefill-set-1", "items": [1]}', b"[" * 90_000, b"[" + b"9" * 5_000 + b"]"],
)  # fmt: skip
def test_a_file_that_is_no_set_is_refused(world: World, body: bytes) -> None:
    answer = client_of(world.owner).post(
        reverse("teaching:set_import"), {"file": SimpleUploadedFile("s.json", body)}
    )
    assert answer.status_code == 422


def test_a_set_has_a_limit(world: World) -> None:
    many = [question_make(f"q{index}") for index in range(98)]
    answer = client_of(world.owner).post(
        reverse("teaching:items_add", args=[world.question_set.pk]), {"question": [q.pk for q in many]}
    )
    assert answer.status_code == 409
    assert "at most 100" in answer.content.decode()


def test_queries_do_not_grow_with_the_set(world: World, django_assert_max_num_queries: Any) -> None:
    big = set_make(world.owner, *[f"q{index}" for index in range(40)])
    items_add(question_set=big, questions=[question_make("more", topic="other")])
    client = client_of(world.owner)
    with django_assert_max_num_queries(8):
        client.get(reverse("teaching:set_page", args=[big.pk]))
    with django_assert_max_num_queries(4):
        client.get(reverse("teaching:set_list"))


def test_only_my_own_narrows_what_there_is_to_pick(world: World) -> None:
    question_make("elsewhere")
    mine = Question.objects.get(pk="paging")
    mine.owner, mine.uid = world.owner, "own-1"
    mine.save(update_fields=["owner", "uid"])
    address = reverse("teaching:set_page", args=[world.question_set.pk])
    client = client_of(world.owner)
    assert {row[0].pk for row in client.get(address).context["found"]} > {"paging", "elsewhere"}
    assert [row[0].pk for row in client.get(address + "?own=1").context["found"]] == ["paging"]


def test_a_set_leads_to_assigning_it(world: World) -> None:
    page = client_of(world.owner).get(reverse("teaching:set_page", args=[world.question_set.pk]))
    assign = reverse("teaching:assignment_create", args=[world.classroom.pk])
    link = f"{assign}?set={world.question_set.pk}"
    assert link in page.content.decode()
    newer = set_make(world.owner, "newer")
    form = client_of(world.owner).get(link).content.decode()
    assert f'value="{world.question_set.pk}" selected' in form
    assert f'value="{newer.pk}" selected' in client_of(world.owner).get(assign).content.decode()
    assert client_of(world.owner).get(f"{assign}?set=nonsense").status_code == 200
