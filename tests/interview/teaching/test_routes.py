"""Every route of the room and who may use it: the table is complete, and each row is tried by every persona."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.teaching.models import (
    Assignment,
    Attachment,
    Dispute,
    Extension,
    JoinLink,
    Membership,
    Override,
    Regrade,
    RosterEntry,
    Submission,
)
from interview.teaching.services.notices import choice_of, unsubscribe_token
from interview.teaching.services.regrade import regrade_try
from interview.teaching.services.roster import invitation_token
from interview.teaching.services.sets import set_share
from interview.teaching.services.work import attempt_start
from interview.teaching.urls import urlpatterns
from tests.interview.teaching.conftest import World, client_of, handed_in

pytestmark = pytest.mark.django_db

Args = Callable[[World], list[Any]]
PERSONAS = ("nobody", "stranger", "learner", "assistant", "teacher", "owner")


def none(world: World) -> list[Any]:
    return []


def cls(world: World) -> list[Any]:
    return [world.classroom.pk]


def member(world: World) -> list[Any]:
    return [world.classroom.pk, world.seat(world.classmate).pk]


def co_teacher(world: World) -> list[Any]:
    return [world.classroom.pk, world.seat(world.teacher).pk]


def entry(world: World) -> list[Any]:
    found, _ = RosterEntry.objects.get_or_create(classroom=world.classroom, email="new@example.org")
    return [world.classroom.pk, found.pk]


def letter(world: World) -> list[Any]:
    return [invitation_token(RosterEntry.objects.get(pk=entry(world)[1]))]


def link(world: World) -> list[Any]:
    return [world.classroom.pk, JoinLink.objects.get(classroom=world.classroom).pk]


def code(world: World) -> list[Any]:
    return [JoinLink.objects.get(classroom=world.classroom).code]


def qset(world: World) -> list[Any]:
    return [world.question_set.pk]


def shared(world: World) -> list[Any]:
    set_share(question_set=world.question_set, on=True)
    world.question_set.refresh_from_db()
    return [world.question_set.share_code]


def item(world: World) -> list[Any]:
    return [world.question_set.pk, "paging"]


def assignment(world: World) -> list[Any]:
    return [world.classroom.pk, world.assignment.pk]


def extension(world: World) -> list[Any]:
    row, _ = Extension.objects.get_or_create(
        assignment=world.assignment, owner=world.learner, defaults={"due": world.assignment.due}
    )
    return [*assignment(world), row.pk]


def attachment(world: World) -> list[Any]:
    row, _ = Attachment.objects.get_or_create(
        assignment=world.assignment, label="KV cache", path="/calculators/kv-cache/"
    )
    return [*assignment(world), row.pk]


def first_question(world: World) -> list[Any]:
    return [*assignment(world), 1]


def attempt(world: World) -> list[Any]:
    return [attempt_start(assignment=world.assignment, learner=world.learner).pk]


def open_work(world: World) -> list[Any]:
    return [*attempt(world), 1]


def work_attachment(world: World) -> list[Any]:
    return [*attempt(world), attachment(world)[-1]]


def scores_csv(world: World) -> list[Any]:
    return [*assignment(world), "scores", "csv"]


def course_csv(world: World) -> list[Any]:
    return [world.classroom.pk, "csv"]


def item_of(world: World) -> list[Any]:
    done(world)
    return [*assignment(world), world.assignment.questions.get(position=1).pk]


def done(world: World) -> Submission:
    """Lena's attempt, handed in and assessed, with feedback that she may see."""
    Assignment.objects.filter(pk=world.assignment.pk).update(feedback="full")
    world.assignment.refresh_from_db()
    found = Submission.objects.filter(owner=world.learner, submitted__isnull=False).first()
    return found or handed_in(world.assignment, world.learner)


def answer(world: World) -> list[Any]:
    return [world.classroom.pk, done(world).answers.order_by("pk")[0].pk]


def ruling(world: World) -> list[Any]:
    here = answer(world)
    row, _ = Override.objects.get_or_create(answer_id=here[1], defaults={"share": 1, "reason": "x"})
    return [*here, row.pk]


def disputed(world: World) -> list[Any]:
    here = answer(world)
    row, _ = Dispute.objects.get_or_create(answer_id=here[1], comment="x")
    return [*here, row.pk]


def own_answer(world: World) -> list[Any]:
    submission = done(world)
    return [submission.pk, submission.answers.order_by("pk")[0].pk]


def trial(world: World) -> list[Any]:
    item = world.assignment.questions.select_related("question__rubric").get(position=1)
    done(world)
    row = Regrade.objects.filter(item=item).first() or regrade_try(item=item, by=world.owner)
    return [world.classroom.pk, row.pk]


def feed(world: World) -> list[Any]:
    return [choice_of(world.learner).feed_key]


def unsubscribe(world: World) -> list[Any]:
    return [unsubscribe_token(world.learner)]


# name: (method, address, data, the answer for nobody, stranger, learner, assistant, teacher, owner).
# A 302 of "nobody" leads to the sign-in page.
ROUTES: dict[str, tuple[str, Args, dict[str, Any], tuple[int, ...]]] = {
    "class_list": ("get", none, {}, (200, 200, 200, 200, 200, 200)),
    "class_create": ("get", none, {}, (302, 200, 200, 200, 200, 200)),
    "class_page": ("get", cls, {}, (302, 404, 200, 200, 200, 200)),
    "class_edit": ("get", cls, {}, (302, 404, 403, 403, 200, 200)),
    "class_archive": ("post", cls, {}, (302, 404, 403, 403, 403, 302)),
    "class_delete": ("get", cls, {}, (302, 404, 403, 403, 403, 200)),
    "class_leave": ("post", cls, {}, (302, 404, 302, 302, 302, 409)),
    "people": ("get", cls, {}, (302, 404, 403, 200, 200, 200)),
    "roster_import": ("post", cls, {"people": "a@b.example"}, (302, 404, 403, 403, 200, 200)),
    "member_edit": ("get", member, {}, (302, 404, 403, 403, 200, 200)),
    "member_remove": ("post", member, {}, (302, 404, 403, 403, 302, 302)),
    "member_restore": ("post", member, {}, (302, 404, 403, 403, 302, 302)),
    "owner_change": ("post", co_teacher, {}, (302, 404, 403, 403, 403, 302)),
    "invitation_send": ("post", entry, {}, (302, 404, 403, 403, 302, 302)),
    "invitation_remove": ("post", entry, {}, (302, 404, 403, 403, 302, 302)),
    "link_create": ("post", cls, {"role": "learner"}, (302, 404, 403, 403, 302, 302)),
    "link_revoke": ("post", link, {}, (302, 404, 403, 403, 302, 302)),
    "assignment_create": ("get", cls, {}, (302, 404, 403, 403, 200, 200)),
    "assignment": ("get", assignment, {}, (302, 404, 200, 200, 200, 200)),
    "assignment_edit": ("get", assignment, {}, (302, 404, 403, 403, 200, 200)),
    "assignment_delete": ("post", assignment, {}, (302, 404, 403, 403, 302, 302)),
    "extension_give": ("post", assignment, {}, (302, 404, 403, 403, 422, 422)),
    "extension_take_back": ("post", extension, {}, (302, 404, 403, 403, 302, 302)),
    "attachment_add": ("post", assignment, {"calculator": "kv-cache"}, (302, 404, 403, 403, 302, 302)),
    "attachment_open": ("get", attachment, {}, (302, 404, 403, 302, 302, 302)),
    "attachment_remove": ("post", attachment, {}, (302, 404, 403, 403, 302, 302)),
    "preview": ("get", first_question, {}, (302, 404, 403, 200, 200, 200)),
    "attempt_start": ("post", assignment, {}, (302, 404, 302, 403, 403, 403)),
    # An attempt is its learner's alone; teachers read it through the gradebook, which leaves a trace.
    "work": ("get", open_work, {}, (302, 404, 200, 404, 404, 404)),
    "work_save": ("post", open_work, {"text": "x", "go": "2"}, (302, 404, 302, 404, 404, 404)),
    "answer_draft": ("post", open_work, {"text": "x", "revision": 1}, (302, 404, 200, 404, 404, 404)),
    "hand_in": ("get", attempt, {}, (302, 404, 200, 404, 404, 404)),
    "hand_in_confirm": ("post", attempt, {}, (302, 404, 302, 404, 404, 404)),
    "receipt": ("get", attempt, {}, (302, 404, 302, 404, 404, 404)),
    "result": ("get", attempt, {}, (302, 404, 302, 404, 404, 404)),
    "work_attachment": ("get", work_attachment, {}, (302, 404, 302, 404, 404, 404)),
    "review_queue": ("get", assignment, {}, (302, 404, 403, 200, 200, 200)),
    "gradebook": ("get", assignment, {}, (302, 404, 403, 200, 200, 200)),
    "question_points": ("get", assignment, {}, (302, 404, 403, 200, 200, 200)),
    "gradebook_upload": ("get", assignment, {}, (302, 404, 403, 200, 200, 200)),
    "gradebook_file": ("get", scores_csv, {}, (302, 404, 403, 200, 200, 200)),
    "items": ("get", assignment, {}, (302, 404, 403, 403, 200, 200)),
    "item_update": ("post", item_of, {"points": "3"}, (302, 404, 403, 403, 302, 302)),
    "regrade_try": ("post", item_of, {}, (302, 404, 403, 403, 302, 302)),
    "regrade": ("get", trial, {}, (302, 404, 403, 403, 200, 200)),
    "regrade_apply": ("post", trial, {}, (302, 404, 403, 403, 302, 302)),
    "answer": ("get", answer, {}, (302, 404, 403, 200, 200, 200)),
    "override": ("post", answer, {"points": "1", "reason": "x"}, (302, 404, 403, 302, 302, 302)),
    "override_remove": ("post", ruling, {}, (302, 404, 403, 302, 302, 302)),
    "override_equal": ("post", ruling, {}, (302, 404, 403, 302, 302, 302)),
    "reviewed": ("post", answer, {}, (302, 404, 403, 302, 302, 302)),
    "assess_again": ("post", answer, {}, (302, 404, 403, 409, 409, 409)),
    "dispute_resolve": ("post", disputed, {"reply": "x"}, (302, 404, 403, 302, 302, 302)),
    "course": ("get", cls, {}, (302, 404, 403, 200, 200, 200)),
    "course_file": ("get", course_csv, {}, (302, 404, 403, 200, 200, 200)),
    "learner": ("get", member, {}, (302, 404, 403, 200, 200, 200)),
    # Another learner's file is a 404; one's own is in test_personal_data.py.
    "learner_export": ("get", member, {}, (302, 404, 404, 404, 200, 200)),
    "learner_delete": ("post", member, {}, (302, 404, 403, 403, 302, 302)),
    "insight": ("get", cls, {}, (302, 404, 403, 200, 200, 200)),
    "follow_up": ("post", cls, {}, (302, 404, 403, 403, 302, 302)),
    "due": ("get", none, {}, (302, 200, 200, 200, 200, 200)),
    "calendar": ("get", feed, {}, (200, 200, 200, 200, 200, 200)),
    "notifications": ("get", none, {}, (302, 200, 200, 200, 200, 200)),
    "notice_choice": ("post", none, {"digest": "0"}, (302, 302, 302, 302, 302, 302)),
    "unsubscribe": ("get", unsubscribe, {}, (200, 200, 200, 200, 200, 200)),
    "dispute": ("post", own_answer, {"comment": "x"}, (302, 404, 302, 404, 404, 404)),
    "join_code": ("get", none, {}, (200, 200, 200, 200, 200, 200)),
    "join_invited": ("get", letter, {}, (302, 200, 200, 200, 200, 200)),
    "join": ("get", code, {}, (200, 200, 200, 200, 200, 200)),
    "set_list": ("get", none, {}, (302, 200, 200, 200, 200, 200)),
    "set_create": ("get", none, {}, (302, 200, 200, 200, 200, 200)),
    "set_import": ("get", none, {}, (302, 200, 200, 200, 200, 200)),
    "gallery": ("get", none, {}, (200, 200, 200, 200, 200, 200)),
    "set_shared": ("get", shared, {}, (200, 200, 200, 200, 200, 200)),
    "set_page": ("get", qset, {}, (404, 404, 404, 404, 404, 200)),
    "set_update": ("post", qset, {"title": "New"}, (302, 404, 404, 404, 404, 302)),
    "items_add": ("post", qset, {}, (302, 404, 404, 404, 404, 302)),
    "items_update": ("post", qset, {}, (302, 404, 404, 404, 404, 302)),
    "item_remove": ("post", item, {}, (302, 404, 404, 404, 404, 302)),
    "set_duplicate": ("post", qset, {}, (302, 404, 404, 404, 404, 302)),
    "set_share": ("post", qset, {"on": "1"}, (302, 404, 404, 404, 404, 302)),
    "set_publish": ("post", qset, {"on": "1"}, (302, 404, 404, 404, 404, 302)),
    "set_delete": ("post", qset, {}, (302, 404, 404, 404, 404, 302)),
    "set_export": ("get", qset, {}, (302, 404, 404, 404, 404, 200)),
}
PUBLIC = {
    "calendar",
    "unsubscribe",
    "class_list",
    "join_code",
    "join",
    "gallery",
    "set_shared",
    "set_page",
    "set_list",
}
OPEN = {"join", "set_shared", "calendar", "unsubscribe"}  # whoever has the address is meant


def test_every_route_is_in_the_table() -> None:
    assert {pattern.name for pattern in urlpatterns} == set(ROUTES)


@pytest.mark.parametrize("persona", PERSONAS)
@pytest.mark.parametrize("name", ROUTES)
def test_rights(world: World, name: str, persona: str) -> None:
    method, args, data, expected = ROUTES[name]
    address = reverse(f"teaching:{name}", args=args(world))
    client = Client() if persona == "nobody" else client_of(getattr(world, persona))
    answer = getattr(client, method)(address, data)
    assert answer.status_code == expected[PERSONAS.index(persona)], (name, persona)
    if persona == "nobody" and name not in PUBLIC:
        assert answer["Location"].startswith("/account/sign-in/?next=")
    if answer.status_code in (403, 404) and name not in OPEN:
        assert world.classroom.name not in answer.content.decode()


@pytest.mark.parametrize(
    "name", [name for name, row in ROUTES.items() if row[1] is not none and name not in OPEN]
)
def test_who_left_is_a_stranger(world: World, name: str) -> None:
    method, args, data, expected = ROUTES[name]
    address = reverse(f"teaching:{name}", args=args(world))
    Membership.objects.filter(owner=world.assistant).update(left=world.classroom.created)
    answer = getattr(client_of(world.assistant), method)(address, data)
    assert answer.status_code == expected[1], name


@pytest.mark.parametrize("name", [name for name, row in ROUTES.items() if row[0] == "post"])
def test_forms_need_their_csrf_token(world: World, name: str) -> None:
    _, args, data, _ = ROUTES[name]
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.owner)
    assert client.post(reverse(f"teaching:{name}", args=args(world)), data).status_code == 403


def test_a_classmate_sees_nothing_of_anothers_attempt(world: World) -> None:
    client = client_of(world.classmate)
    for name in ("work", "hand_in", "receipt", "result"):
        assert client.get(reverse(f"teaching:{name}", args=ROUTES[name][1](world))).status_code == 404, name


def test_only_the_owner_changes_staff(world: World) -> None:
    address = reverse("teaching:member_edit", args=[world.classroom.pk, world.seat(world.assistant).pk])
    assert client_of(world.teacher).get(address).status_code == 403
    data = {"name": "", "number": "", "role": "teacher"}
    assert client_of(world.owner).post(address, data).status_code == 302
    assert world.seat(world.assistant).role == "teacher"


def test_a_teacher_lets_no_staff_in(world: World) -> None:
    address = reverse("teaching:link_create", args=[world.classroom.pk])
    assert client_of(world.teacher).post(address, {"role": "teacher"}).status_code == 403
    assert client_of(world.owner).post(address, {"role": "teacher"}).status_code == 302
    assert JoinLink.objects.get(role="teacher").expires is not None


def test_a_teacher_gives_nobody_another_role(world: World) -> None:
    address = reverse("teaching:member_edit", args=[world.classroom.pk, world.seat(world.learner).pk])
    client_of(world.teacher).post(address, {"name": "Lena L", "number": "7", "role": "teacher"})
    assert (world.seat(world.learner).role, world.seat(world.learner).name) == ("learner", "Lena L")


def test_an_archived_class_is_read_but_not_changed(world: World) -> None:
    client = client_of(world.owner)
    client.post(reverse("teaching:class_archive", args=[world.classroom.pk]))
    for name in ("roster_import", "link_create"):
        _, args, data, _ = ROUTES[name]
        assert client.post(reverse(f"teaching:{name}", args=args(world)), data).status_code == 409
    assert client.get(reverse("teaching:people", args=[world.classroom.pk])).status_code == 200
    client.post(reverse("teaching:class_archive", args=[world.classroom.pk]))
    world.classroom.refresh_from_db()
    assert world.classroom.archived is None


def test_an_id_of_another_class_opens_nothing_under_ones_own(world: World) -> None:
    """The stranger owns a class and knows every id of this one."""
    client = client_of(world.stranger)
    for name, (method, args, data, _) in ROUTES.items():
        if name.startswith(("set", "item")) and args in (qset, item):
            continue
        ids = args(world)
        if len(ids) < 2 or ids[0] != world.classroom.pk:
            continue
        address = reverse(f"teaching:{name}", args=[world.elsewhere.pk, *ids[1:]])
        if args not in (course_csv,):  # the class's own file has no other id in it
            refused = 403 if name == "attempt_start" else 404  # a teacher starts nothing, whatever the id
            assert getattr(client, method)(address, data).status_code == refused, name


def test_a_learner_of_another_class_and_one_who_was_dropped_see_no_attempt(world: World) -> None:
    dropped = world.seat(world.learner)
    ids = {name: ROUTES[name][1](world) for name in ("receipt", "result", "work_attachment", "dispute")}
    dropped.left, dropped.removed = world.classroom.created, True
    dropped.save()
    for user in (world.stranger, world.learner):
        for name, args in ids.items():
            method, _, data, _ = ROUTES[name]
            address = reverse(f"teaching:{name}", args=args)
            assert getattr(client_of(user), method)(address, data).status_code == 404, (name, user)
