"""A collection that goes with an assignment: who may attach, read and ask it, and who sees what was asked."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from interview.documents import assignment_sharing, services
from interview.documents.models import AssignmentCollection, Collection, Document
from interview.documents.selectors import readable_get
from interview.runs.models import Run
from interview.runs.services import run_create
from interview.teaching.models import Assignment, Membership
from tests.interview.teaching.conftest import World, client_of, handed_in, world  # noqa: F401  (fixture)

pytestmark = pytest.mark.django_db


@pytest.fixture
def handbook(world: World) -> Collection:  # noqa: F811
    made = services.collection_create(owner=world.owner, name="Handbook")
    document = Document.objects.create(
        owner=world.owner, name="handbook.txt", sha256="0" * 64, size=1, version=1, state="ready"
    )
    services.collection_put(collection=made, document=document)
    return made


def place(world: World, way: str = "") -> str:  # noqa: F811
    return f"/documents/assignments/{world.assignment.pk}/{way}"


def attach(world: World, collection: Collection) -> None:  # noqa: F811
    sent = client_of(world.owner).post(place(world, "attach/"), {"collection": str(collection.pk)})
    assert sent.status_code == 302


def asks(client: Client, world: World, collection: Collection, question: str) -> Run:  # noqa: F811
    """Ask from the assignment's page, as its form does."""
    form = {
        "question": question,
        "style": "quote",
        "scope": f"c:{collection.pk}",
        "most": "6",
        "assignment": str(world.assignment.pk),
        "idempotency_key": uuid.uuid4().hex,
    }
    sent = client.post("/documents/ask/", form)
    assert sent.status_code == 302, sent.content.decode()
    return Run.objects.get(pk=sent["Location"].partition("run=")[2])


def test_learners_read_and_ask_what_goes_with_an_open_assignment(
    world: World,  # noqa: F811
    handbook: Collection,
) -> None:
    document = handbook.documents.get()
    assert readable_get(document.pk, world.learner) is None
    attach(world, handbook)
    attach(world, handbook)
    assert AssignmentCollection.objects.count() == 1
    assert readable_get(document.pk, world.learner) == document
    assert readable_get(document.pk, world.assistant) == document
    assert readable_get(document.pk, world.stranger) is None
    learner = client_of(world.learner)
    page = learner.get(f"/classes/{world.classroom.pk}/assignments/{world.assignment.pk}/").content.decode()
    link = f"/documents/ask/?assignment={world.assignment.pk}&amp;scope=c:{handbook.pk}"
    assert link in page and "sees what you ask" in page
    form = learner.get(link.replace("&amp;", "&")).content.decode()
    assert "Week one" in form and f'value="{world.assignment.pk}"' in form
    assert readable_get(document.pk, world.learner)
    Assignment.objects.update(opens=timezone.now() + timedelta(hours=1))
    assert readable_get(document.pk, world.learner) is None, "not open yet"
    assert readable_get(document.pk, world.teacher) == document
    Assignment.objects.update(opens=timezone.now() - timedelta(hours=1))
    detach = place(world, f"detach/{handbook.pk}/")
    assert client_of(world.owner).post(detach).status_code == 302
    assert readable_get(document.pk, world.learner) is None


def test_a_learner_who_left_reads_no_more(world: World, handbook: Collection) -> None:  # noqa: F811
    attach(world, handbook)
    Membership.objects.filter(owner=world.learner).update(left=timezone.now())
    assert readable_get(handbook.documents.get().pk, world.learner) is None


def test_staff_see_what_each_learner_asked_for_the_assignment(
    world: World,  # noqa: F811
    handbook: Collection,
) -> None:
    attach(world, handbook)
    run = asks(client_of(world.learner), world, handbook, "Who kept the log?")
    assert run.origin == {"assignment": str(world.assignment.pk)}
    private = {"question": "Something private", "most": 6, "style": "quote", "collection": str(handbook.pk)}
    run_create(owner=world.learner, kind="ask", input=private)
    answered = {"status": "answered", "answer": "The keeper did.", "style": "quote"}
    Run.objects.filter(pk=run.pk).update(output=answered)
    for staff in (world.owner, world.teacher, world.assistant):
        page = client_of(staff).get(place(world)).content.decode()
        assert "Who kept the log?" in page and "The keeper did." in page and "Lena" in page
        assert "Something private" not in page
    answer = handed_in(world.assignment, world.learner).answers.first()
    assert answer is not None
    graded = f"/classes/{world.classroom.pk}/answers/{answer.pk}/"
    assert "Who kept the log?" in client_of(world.assistant).get(graded).content.decode()
    gradebook = client_of(world.teacher).get(
        f"/classes/{world.classroom.pk}/assignments/{world.assignment.pk}/gradebook/"
    )
    assert place(world) in gradebook.content.decode()


def test_questions_of_the_same_collection_for_another_assignment_stay_apart(
    world: World,  # noqa: F811
    handbook: Collection,
) -> None:
    attach(world, handbook)
    asks(client_of(world.learner), world, handbook, "Who kept the log?")
    assert [row.name for row in assignment_sharing.asked(world.assignment)] == ["Lena"]
    assert assignment_sharing.asked(world.assignment, world.classmate) == []
    copy = Assignment.objects.create(
        classroom=world.classroom, title="Two", opens=world.assignment.opens, due=world.assignment.due
    )
    assert assignment_sharing.asked(copy) == []


def test_an_assignment_one_does_not_do_is_left_out_of_a_question(
    world: World,  # noqa: F811
    handbook: Collection,
) -> None:
    attach(world, handbook)
    form = {"question": "x?", "style": "quote", "scope": "", "most": "6", "idempotency_key": "k1"}
    sent = client_of(world.stranger).post("/documents/ask/", {**form, "assignment": str(world.assignment.pk)})
    assert sent.status_code == 302 and Run.objects.get().origin == {}
    for odd in ("x", str(uuid.uuid4()), "\u0000"):
        assert client_of(world.stranger).get("/documents/ask/", {"assignment": odd}).status_code == 200


@pytest.mark.parametrize(
    ("who", "expected"),
    [("stranger", 404), ("learner", 403), ("assistant", 403), ("teacher", 404), ("owner", 302)],
)
def test_only_who_changes_the_assignment_attaches_their_own_collection(
    world: World,  # noqa: F811
    handbook: Collection,
    who: str,
    expected: int,
) -> None:
    """A co-teacher may change the assignment; the collection is not theirs to give."""
    client = client_of(getattr(world, who))
    assert client.post(place(world, "attach/"), {"collection": str(handbook.pk)}).status_code == expected
    assert AssignmentCollection.objects.count() == (1 if who == "owner" else 0)
    seen = client.get(place(world)).status_code
    assert seen == {"stranger": 404, "learner": 403}.get(who, 200)
    if expected in (403, 404) and who != "teacher":
        assert client.post(place(world, f"detach/{handbook.pk}/")).status_code == expected
    for wrong in ("", "x", str(uuid.uuid4())):
        sent = client.post(place(world, "attach/"), {"collection": wrong}).status_code
        assert sent == (404 if who in ("teacher", "owner") else expected)


def test_anonymous_visitors_are_sent_to_sign_in(world: World, anonymous_client: Client) -> None:  # noqa: F811
    assert anonymous_client.get(place(world)).status_code == 302
    assert anonymous_client.post(place(world, "attach/")).status_code == 302


def test_an_assignment_holds_ten_collections(world: World) -> None:  # noqa: F811
    for number in range(assignment_sharing.MOST + 1):
        attach(world, services.collection_create(owner=world.owner, name=f"Part {number}"))
    assert AssignmentCollection.objects.count() == assignment_sharing.MOST


def test_the_list_takes_three_queries_however_long(
    world: World,  # noqa: F811
    handbook: Collection,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    attach(world, handbook)
    for learner in (world.learner, world.classmate):
        for number in range(3):
            asks(client_of(learner), world, handbook, f"Question {number}?")
    with django_assert_num_queries(2):
        assert len(assignment_sharing.asked(world.assignment)) == 6
