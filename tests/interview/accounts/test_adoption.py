"""A visitor's work follows them into an account, by signing up and by signing in; no text is lost on the way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts import services
from interview.accounts.models import User
from interview.accounts.owners import GUEST_KEY
from interview.accounts.signals import guest_adopted
from interview.practice.models import Attempt, Draft, ReviewCard
from interview.questions.models import Question
from interview.runs.models import Run
from tests.conftest import PASSWORD
from tests.interview.accounts.doors import EMAIL, become_guest, sign_in, sign_up, signed_in_as
from tests.interview.accounts.owned_rows import MARK, make_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def nobody_merges() -> Iterator[None]:
    """As if no room had connected to the signal: what conflicts is met by the generic move."""
    receivers, guest_adopted.receivers = guest_adopted.receivers, []
    guest_adopted.sender_receivers_cache.clear()
    yield
    guest_adopted.receivers = receivers
    guest_adopted.sender_receivers_cache.clear()


def test_signing_up_keeps_the_row_and_all_that_hangs_on_it(
    anonymous_client: Client, question: Question
) -> None:
    guest = become_guest(anonymous_client)
    made = make_everything(guest, question)
    assert sign_up(anonymous_client).status_code == 302
    account = User.objects.get(email=EMAIL)
    assert account.pk == guest.pk and not account.is_guest
    assert signed_in_as(anonymous_client) == account
    assert all(row._meta.model.objects.filter(pk=row.pk).exists() for row in made.values())


def test_signing_in_moves_every_row_and_removes_the_guest(
    anonymous_client: Client, owner: User, question: Question
) -> None:
    guest = become_guest(anonymous_client)
    made = make_everything(guest, question)
    sign_in(anonymous_client, "owner@example.org", PASSWORD)
    assert not User.objects.filter(pk=guest.pk).exists()
    for label, row in made.items():
        kept = row._meta.model.objects.get(pk=row.pk)
        assert getattr(kept, "owner", owner) == owner, label


def test_drafts_at_the_same_question_are_merged_with_both_texts(
    anonymous_client: Client, owner: User, question: Question
) -> None:
    Draft.objects.create(owner=owner, question=question, text="from my account", revision=3)
    guest = become_guest(anonymous_client)
    Draft.objects.create(owner=guest, question=question, text="typed as a guest", revision=9)
    sign_in(anonymous_client, "owner@example.org", PASSWORD)
    draft = Draft.objects.get()
    assert draft.owner == owner
    assert "from my account" in draft.text and "typed as a guest" in draft.text


@pytest.mark.usefixtures("nobody_merges")
def test_what_a_constraint_refuses_stays_reachable(owner: User, question: Question) -> None:
    Draft.objects.create(owner=owner, question=question, text="from my account")
    guest = User.objects.create_guest()
    made = make_everything(guest, question)
    runs = Run.objects.filter(owner=guest).count()
    adoption = services.account_adopt(guest=guest, user=owner)
    assert adoption.kept == (("practice.draft", str(made["practice.draft"].pk)),)
    assert Run.objects.filter(owner=owner).count() == runs
    assert set(Attempt.objects.values_list("owner", flat=True)) == {owner.pk}
    guest.refresh_from_db()
    assert guest.merged_into == owner and not guest.is_active
    assert Draft.objects.get(owner=guest).text == MARK


@pytest.mark.usefixtures("nobody_merges")
def test_what_stayed_is_told_and_exported(anonymous_client: Client, owner: User, question: Question) -> None:
    Draft.objects.create(owner=owner, question=question, text="from my account")
    Draft.objects.create(owner=become_guest(anonymous_client), question=question, text="typed as a guest")
    page = anonymous_client.post(
        reverse("accounts:sign_in"),
        {"email": "owner@example.org", "password": PASSWORD, "next": "/account/"},
        follow=True,
    )
    assert "Both versions are in the export" in page.content.decode()
    with pytest.warns(Warning, match="asynchronous iterators"):
        body = b"".join(anonymous_client.get(reverse("accounts:export"))).decode()
    assert "typed as a guest" in body and "from my account" in body


def test_a_guest_that_was_merged_is_nobodys_guest_any_more(
    anonymous_client: Client, owner: User, question: Question
) -> None:
    guest = become_guest(anonymous_client)
    User.objects.filter(pk=guest.pk).update(merged_into=owner)
    assert anonymous_client.get(reverse("accounts:export")).status_code == 404


def test_an_old_session_of_a_guest_who_signed_up_opens_nothing(
    anonymous_client: Client, question: Question
) -> None:
    guest = become_guest(anonymous_client)
    services.account_create(email=EMAIL, password=PASSWORD, guest=guest)
    assert anonymous_client.session[GUEST_KEY] == guest.pk
    assert anonymous_client.get(reverse("accounts:export")).status_code == 404
    assert signed_in_as(anonymous_client) is None


def test_signing_up_twice_from_one_guest_makes_two_accounts(question: Question) -> None:
    guest = User.objects.create_guest()
    first = services.account_create(email="a@example.org", password=PASSWORD, guest=guest)
    second = services.account_create(email="b@example.org", password=PASSWORD, guest=guest)
    assert first.pk == guest.pk != second.pk


def test_adopting_oneself_or_an_account_changes_nothing(owner: User, other: User) -> None:
    assert services.account_adopt(guest=owner, user=owner).n_moved == 0
    assert services.account_adopt(guest=other, user=owner).n_moved == 0
    assert User.objects.count() == 2


def test_review_dates_are_not_doubled(anonymous_client: Client, owner: User, question: Question) -> None:
    from tests.interview.accounts.owned_rows import review_card

    review_card(owner, question)
    review_card(become_guest(anonymous_client), question)
    sign_in(anonymous_client, "owner@example.org", PASSWORD)
    assert ReviewCard.objects.get().owner == owner
    assert not User.objects.filter(is_guest=True).exists()


def test_the_session_gets_a_new_key_and_keeps_what_it_holds(anonymous_client: Client, owner: User) -> None:
    become_guest(anonymous_client)
    session = anonymous_client.session
    session["kept"] = "yes"
    session.save()
    before = session.session_key
    sign_in(anonymous_client, "owner@example.org", PASSWORD)
    assert anonymous_client.session.session_key != before
    assert anonymous_client.session["kept"] == "yes"
    assert GUEST_KEY not in anonymous_client.session
