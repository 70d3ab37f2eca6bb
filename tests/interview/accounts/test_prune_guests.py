"""Guests whom no session holds any more are deleted with what they own; all others stay."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from interview.accounts.models import User
from interview.practice.models import Draft
from interview.questions.models import Question
from tests.interview.accounts.doors import become_guest
from tests.interview.accounts.owned_rows import make_everything

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(days=100)


def prune() -> str:
    out = StringIO()
    call_command("prune_guests", stdout=out)
    return out.getvalue().strip()


def test_only_unreachable_guests_go(owner: User, question: Question) -> None:
    held = become_guest(Client())
    lost = become_guest(Client())
    fresh = User.objects.create_guest()
    make_everything(lost, question)
    User.objects.exclude(pk=fresh.pk).update(date_joined=LONG_AGO)
    Session.objects.filter(
        pk__in=[s.pk for s in Session.objects.all() if s.get_decoded()["guest_id"] == lost.pk]
    ).update(expire_date=LONG_AGO)
    assert prune() == "1 guests deleted."
    assert set(User.objects.all()) == {owner, held, fresh}
    assert not Draft.objects.exists()
    assert Session.objects.count() == 1


def test_guests_kept_for_an_account_stay(owner: User) -> None:
    guest = User.objects.create_guest()
    User.objects.filter(pk=guest.pk).update(date_joined=LONG_AGO, merged_into=owner)
    assert prune() == "0 guests deleted."
