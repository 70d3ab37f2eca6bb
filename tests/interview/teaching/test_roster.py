"""A roster as teachers send it: the usable lines come in, the others are told, twice is once."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from interview.accounts import mail as letters
from interview.teaching.models import Membership, RosterEntry
from interview.teaching.roster_text import decoded, people_in
from interview.teaching.services.roster import invitation_token, roster_import
from tests.interview.teaching.conftest import World, account, client_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _letters_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letters, "send_soon", lambda letter: letter.send())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ada@example.org", ("ada@example.org", "", "")),
        ("Ada King <ada@example.org>", ("ada@example.org", "Ada King", "")),
        ("King, Ada, ada@example.org", ("ada@example.org", "King Ada", "")),
        (
            "\ufeffEmail;Name;Student ID\r\n ada@example.org ; Ada King ; 0042 ",
            ("ada@example.org", "Ada King", "0042"),
        ),
        ("First name\tLast name\tE-Mail\nZoë\tKing\tada@example.org", ("ada@example.org", "Zoë King", "")),
        ('"King, Ada",ada@example.org', ("ada@example.org", "King, Ada", "")),
        ("\n\n  ada@example.org\u00a0\n", ("ada@example.org", "", "")),
        ("0042,Ada King,mailto:ada@example.org", ("ada@example.org", "Ada King", "0042")),
        ("King, Ada <ada@example.org>", ("ada@example.org", "Ada King", "")),
        ('"King, Ada" <ada@example.org>', ("ada@example.org", "King, Ada", "")),
        ('Ada "Al" King <ada@example.org>', ("ada@example.org", 'Ada "Al" King', "")),
        ("ada+llm@example.org.", ("ada+llm@example.org", "", "")),
        ("sep=;\nname;email\nAda King;ada@example.org", ("ada@example.org", "Ada King", "")),
        ("Vorname;Nachname;E-Mail-Adresse\nZoë;King;ada@example.org", ("ada@example.org", "Zoë King", "")),
        ('email,name\nada@example.org,"King,\nAda"', ("ada@example.org", "King, Ada", "")),
        (
            "ada@example.org, Ada King, 7, ada.private@example.org",
            ("ada@example.org", "Ada King ada.private@example.org", "7"),
        ),
    ],
)
def test_a_line_is_read(text: str, expected: tuple[str, str, str]) -> None:
    (person,) = people_in(text)
    assert (person.email, person.name, person.number, person.fault) == (*expected, "")


@pytest.mark.parametrize(
    "line",
    [
        "Ada King <ada@example.org>; Bob Ray <bob@example.org>; cy@example.org",
        "Ada King <ada@example.org>, Bob Ray <bob@example.org>, cy@example.org,",
        '"King, Ada" <ada@example.org>, "Ray, Bob" <bob@example.org>; <cy@example.org>',
        "King, Ada <ada@example.org>; Ray, Bob <bob@example.org>; cy@example.org;",
        "ada@example.org bob@example.org\tcy@example.org",
        "ada@example.org,bob@example.org,cy@example.org",
        "<ada@example.org>; <bob@example.org>; <cy@example.org>",
    ],
)
def test_a_group_that_a_mail_program_copied_into_one_line_is_all_its_people(line: str) -> None:
    people = people_in(f"dan@example.org\n{line}\n\neve@example.org")
    assert [person.email.partition("@")[0] for person in people] == ["dan", "ada", "bob", "cy", "eve"]
    assert [person.line for person in people] == [1, 2, 2, 2, 4] and not any(
        person.fault for person in people
    )


@pytest.mark.parametrize("header", ["", "name,email\n"])
def test_a_quote_that_is_never_closed_swallows_nobody(header: str) -> None:
    text = (
        f'{header}Ada,ada@example.org\n"Bob,bob@example.org\nCy,cy@example.org\nDan "D" Ray,dan@example.org'
    )
    people = people_in(text)
    assert [(person.email.partition("@")[0], person.fault) for person in people] == [
        *(("ada", ""), ("bob", ""), ("cy", ""), ("dan", "")),
    ]
    assert people[1].name == "Bob"


def test_lines_may_differ_in_their_separator() -> None:
    people = people_in(
        "ada@example.org\nBob Ray; bob@example.org\nCy\tcy@example.org\nDan Ray, dan@example.org"
    )
    assert [person.name for person in people] == ["", "Bob Ray", "Cy", "Dan Ray"]
    assert not any(person.fault for person in people)


def test_a_thousand_rows_are_one_answer_with_few_queries(
    world: World, django_assert_max_num_queries: Any
) -> None:
    text = "name;email;id\n" + "\n".join(
        f'"Learner; no. {n}";L{n}+x@Exämple.org;{n:04}' for n in range(1_000)
    )
    with django_assert_max_num_queries(20):
        report = roster_import(classroom=world.classroom, text=text)
    assert {line.outcome for line in report} == {"invited"} and len(report) == 1_000
    entry = RosterEntry.objects.get(number="0007")
    assert (entry.email, entry.name) == ("l7+x@xn--exmple-cua.org", "Learner; no. 7")


def left(world: World, role: str, *, removed: bool = False) -> Membership:
    seat = world.seat(world.assistant)
    seat.role, seat.left, seat.removed = role, world.classroom.created, removed
    seat.save()
    return seat


@pytest.mark.parametrize("role", ["assistant", "teacher"])
def test_who_was_on_the_staff_comes_back_without_its_rights(world: World, role: str) -> None:
    """A public link, a list by a teacher, or a letter gives nobody what only the owner gives."""
    seat = left(world, role)
    link = world.classroom.join_links.get()
    client_of(world.assistant).post(reverse("teaching:join", args=[link.code]))
    seat.refresh_from_db()
    assert (seat.role, seat.left) == ("learner", None)
    left(world, role)
    (line,) = roster_import(classroom=world.classroom, text="anton@example.org")
    assert line.outcome == "refused" and "staff" in line.why
    left(world, role, removed=True)
    entry = RosterEntry.objects.create(classroom=world.classroom, email="letter@example.org")
    client_of(world.assistant).post(reverse("teaching:join_invited", args=[invitation_token(entry)]))
    seat.refresh_from_db()
    assert (seat.role, seat.left, seat.removed) == ("learner", None, False)


def test_a_revoked_link_lets_nobody_back_in(world: World) -> None:
    link = world.classroom.join_links.get()
    join = reverse("teaching:join", args=[link.code])
    client_of(world.learner).post(reverse("teaching:class_leave", args=[world.classroom.pk]))
    link.revoked = world.classroom.created
    link.save()
    assert client_of(world.learner).post(join).status_code == 409
    told = client_of(world.classmate).post(join, follow=True)
    assert "You are already in" in told.content.decode()


@pytest.mark.parametrize(
    "text", ["no address here", "Name,Age\nAda,7", "a@b", "ada@example", "x y@example.org"]
)
def test_a_faulty_line_is_told(text: str) -> None:
    assert all(person.fault for person in people_in(text))


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_an_uploaded_file_is_read_in_its_own_encoding(codec: str) -> None:
    assert decoded("Zoë,zoe@example.org".encode(codec)).lstrip("\ufeff") == "Zoë,zoe@example.org"


def test_every_line_has_its_outcome(world: World) -> None:
    account("ada")
    seat = world.seat(world.classmate)
    Membership.objects.filter(pk=seat.pk).update(left=world.classroom.created, removed=True)
    text = "\n".join(
        [
            "\ufeffname,email",
            " Ada King , ADA@Example.org ",
            "Lena,lena@example.org",
            "Ada again,ada@example.org",
            "New,new@example.org",
            "Milo,milo@example.org",
            "Broken,nowhere",
        ]
    )
    report = roster_import(classroom=world.classroom, text=text)
    assert [(line.line, line.outcome) for line in report] == [
        (2, "enrolled"),
        (3, "already"),
        (4, "repeated"),
        (5, "invited"),
        (6, "restored"),
        (7, "refused"),
    ]
    assert Membership.objects.get(owner__email="ada@example.org").name == "Ada King"
    again = roster_import(classroom=world.classroom, text=text)
    assert {line.outcome for line in again} == {"already", "repeated", "refused"}


def test_a_file_is_uploaded_and_reported(world: World) -> None:
    account("ada")
    file = SimpleUploadedFile("r.csv", "\ufeffE-mail;Name\nADA@example.org;Zoë".encode())
    answer = client_of(world.teacher).post(
        reverse("teaching:roster_import", args=[world.classroom.pk]), {"file": file}
    )
    assert "is in now" in answer.content.decode() and "Zoë" in answer.content.decode()


@pytest.mark.parametrize("data", [{}, {"people": "\n \n"}])
def test_an_empty_list_is_refused(world: World, data: dict[str, str]) -> None:
    address = reverse("teaching:roster_import", args=[world.classroom.pk])
    answer = client_of(world.teacher).post(address, data)
    assert answer.status_code == 422


def test_the_letter_opens_one_seat_once(world: World, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        roster_import(classroom=world.classroom, text="Nora N <nora@elsewhere.example>")
    (letter,) = mail.outbox
    entry = RosterEntry.objects.get()
    link = reverse("teaching:join_invited", args=[invitation_token(entry)])
    assert link in letter.body and letter.to == ["nora@elsewhere.example"]
    nora = account("nora")  # another address than the letter's: whoever holds the letter is meant
    client = client_of(nora)
    assert "Serving models" in client.get(link).content.decode()
    assert client.post(link).status_code == 302
    assert world.seat(nora).name == "Nora N"
    assert client.get(link).status_code == 410


def test_joining_by_the_class_link_takes_the_rosters_name(world: World) -> None:
    roster_import(classroom=world.classroom, text="Nora N,nora@example.org,0042")
    client_of(account("nora")).post(reverse("teaching:join", args=[world.classroom.join_links.get().code]))
    seat = Membership.objects.get(owner__email="nora@example.org")
    assert (seat.name, seat.number) == ("Nora N", "0042")
    assert not RosterEntry.objects.exists()


def test_a_letter_with_a_changed_token_opens_nothing(world: World) -> None:
    assert client_of(world.stranger).get("/join/invited/abc:def/").status_code == 410
    assert Client().get("/join/invited/abc:def/").status_code == 302
