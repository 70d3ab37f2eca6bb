"""Bringing a roster in: every usable line is, the others are told, and doing it twice changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse

from interview.accounts import mail
from interview.accounts.models import User, email_canonical
from interview.plain_text import storable
from interview.teaching.errors import TeachingRefused
from interview.teaching.models import LEARNER, Classroom, Membership, RosterEntry
from interview.teaching.roster_text import Person, people_in

ROWS = 2_000
INVITATION_SALT = "teaching.invitation"
INVITATION_SECONDS = 60 * 60 * 24 * 60


@dataclass(frozen=True)
class RosterLine:
    """What became of one line: enrolled, restored, invited, already, repeated or refused."""

    line: int
    email: str
    name: str
    outcome: str
    why: str = ""


@transaction.atomic
def roster_import(*, classroom: Classroom, text: str) -> list[RosterLine]:
    """Enrol who has an account, invite who has none; a report per line. Raises TeachingRefused when it is too long."""
    people = people_in(storable(text))
    if not people:
        raise TeachingRefused("There is nobody in this list. Put one e-mail address on each line.")
    if len(people) > ROWS:
        raise TeachingRefused(f"The list has {len(people)} lines and {ROWS} is the limit. Send it in parts.")
    # Two teachers with the same list come one after the other.
    Classroom.objects.select_for_update().get(pk=classroom.pk)
    known = _Known(classroom, people)
    report = [known.bring_in(person) for person in people]
    Membership.objects.bulk_create(known.enrolled)
    invited = RosterEntry.objects.bulk_create(known.invited)
    transaction.on_commit(lambda: _invite_all(invited))
    return report


def _invite_all(entries: list[RosterEntry]) -> None:
    for entry in entries:
        mail.send_soon(invitation_letter(entry))


class _Known:
    """Everybody the list may mean, read in three queries."""

    def __init__(self, classroom: Classroom, people: list[Person]) -> None:
        self.classroom = classroom
        self.canonical = {person.email: _canonical(person.email) for person in people if not person.fault}
        addresses = {address for address in self.canonical.values() if address}
        self.users = {user.email: user for user in User.objects.filter(email__in=addresses, is_guest=False)}
        seats = Membership.objects.filter(classroom=classroom, owner__in=self.users.values())
        self.seats = {seat.owner_id: seat for seat in seats}
        self.entries = set(
            RosterEntry.objects.filter(classroom=classroom, email__in=addresses).values_list(
                "email", flat=True
            )
        )
        self.seen: dict[str, int] = {}
        self.invited: list[RosterEntry] = []
        self.enrolled: list[Membership] = []

    def bring_in(self, person: Person) -> RosterLine:
        address = self.canonical.get(person.email, "")
        if person.fault or not address:
            why = person.fault or "This is not an e-mail address."
            return RosterLine(person.line, person.email, person.name, "refused", why)
        if address in self.seen:
            why = f"The same address as in line {self.seen[address]}."
            return RosterLine(person.line, address, person.name, "repeated", why)
        self.seen[address] = person.line
        user = self.users.get(address)
        if user is not None and (why := self._kept_out(user)):
            return RosterLine(person.line, address, person.name, "refused", why)
        outcome = self._enrol(user, person) if user is not None else self._invite(address, person)
        return RosterLine(person.line, address, person.name, outcome)

    def _kept_out(self, user: User) -> str:
        seat = self.seats.get(user.pk)
        if seat is None or seat.left is None or seat.role == LEARNER:
            return ""
        return "They were on the staff: the owner lets them back in below."

    def _enrol(self, user: User, person: Person) -> str:
        seat = self.seats.get(user.pk)
        if seat is None:
            made = Membership(classroom=self.classroom, owner=user, name=person.name, number=person.number)
            self.enrolled.append(made)
            return "enrolled"
        if seat.left is None:
            return "already"
        Membership.objects.filter(pk=seat.pk).update(left=None, removed=False)
        return "restored"

    def _invite(self, address: str, person: Person) -> str:
        if address in self.entries:
            return "already"
        number = person.number
        made = RosterEntry(classroom=self.classroom, email=address, name=person.name, number=number)
        self.invited.append(made)
        return "invited"


def _canonical(address: str) -> str:
    try:
        return email_canonical(address)
    except UnicodeError:
        return ""


def invitation_token(entry: RosterEntry) -> str:
    """What the letter carries; it opens this one seat, and nothing once the entry is gone."""
    return signing.dumps({"entry": entry.pk}, salt=INVITATION_SALT)


def invitation_entry(token: str) -> RosterEntry | None:
    """The roster entry behind a letter's link, or None when it is used up, taken back or too old."""
    try:
        claim = signing.loads(token, salt=INVITATION_SALT, max_age=INVITATION_SECONDS)
    except signing.BadSignature:
        return None
    return RosterEntry.objects.select_related("classroom").filter(pk=claim["entry"]).first()


def invitation_letter(entry: RosterEntry) -> EmailMessage:
    """The letter that offers a seat."""
    link = reverse("teaching:join_invited", args=[invitation_token(entry)])
    context = {"name": entry.name, "classroom": entry.classroom, "link": f"{settings.SITE_URL}{link}"}
    return EmailMessage(
        subject=" ".join(f"You are invited to {entry.classroom.name}".split()),
        body=render_to_string("teaching/mail/invitation.txt", context),
        to=[entry.email],
    )


def invitation_send(*, entry: RosterEntry) -> None:
    """Send the letter again."""
    mail.send_soon(invitation_letter(entry))


def invitation_remove(*, entry: RosterEntry) -> None:
    """Take an invitation back; its letter opens nothing any more."""
    entry.delete()
