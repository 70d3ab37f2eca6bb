"""Deleting takes everything owned, nothing else, and only after the word was typed."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client

from interview.accounts import services
from interview.accounts.models import User
from interview.practice.models import Attempt
from interview.questions.models import Question
from tests.interview.accounts.doors import become_guest, signed_in_as
from tests.interview.accounts.owned_rows import DEPENDENT, OWNED, make_everything

pytestmark = pytest.mark.django_db
URL = "/account/delete/"


def left(labels: list[str]) -> dict[str, int]:
    return {label: apps.get_model(label)._base_manager.count() for label in labels}


def labels_and_rows_before() -> tuple[list[str], dict[str, int]]:
    """Every owned model, and what it holds that is nobody's (the bank has questions and rubrics too)."""
    labels = sorted({name.rpartition(".")[0] for name in OWNED} | set(DEPENDENT))
    return labels, left(labels)


def test_everything_owned_goes(owner_client: Client, owner: User, question: Question) -> None:
    labels, before = labels_and_rows_before()
    make_everything(owner, question)
    assert owner_client.post(URL, {"confirm": " Owner@Example.org "}).status_code == 302
    assert left(labels) == before
    assert not User.objects.exists()
    assert signed_in_as(owner_client) is None


def test_nothing_of_others_goes(owner_client: Client, other: User, question: Question) -> None:
    labels = list(make_everything(other, question))
    before = left(labels)
    owner_client.post(URL, {"confirm": "owner@example.org"})
    assert left(labels) == before
    assert Question.objects.filter(pk=question.pk).exists()


def test_a_guest_deletes_by_the_word_delete(anonymous_client: Client, question: Question) -> None:
    labels, before = labels_and_rows_before()
    make_everything(become_guest(anonymous_client), question)
    assert "Type delete to confirm" in anonymous_client.get(URL).content.decode()
    assert anonymous_client.post(URL, {"confirm": "delete"}).status_code == 302
    assert left(labels) == before


@pytest.mark.parametrize(
    "typed", ["", "delete", "other@example.org", "x" * 100_000, "owner@example.org\x00", "\u200b"]
)
def test_another_word_deletes_nothing(owner_client: Client, owner: User, typed: str) -> None:
    assert owner_client.post(URL, {"confirm": typed}).status_code == 422
    assert User.objects.filter(pk=owner.pk).exists()


def test_opening_the_page_deletes_nothing(owner_client: Client, owner: User) -> None:
    assert owner_client.get(URL).status_code == 200
    assert User.objects.filter(pk=owner.pk).exists()


def test_a_visitor_has_nothing_to_delete(anonymous_client: Client) -> None:
    assert anonymous_client.get(URL).status_code == 404


def test_follow_ups_and_their_first_answer_go_together(owner: User, question: Question) -> None:
    assert question.rubric is not None
    first = Attempt.objects.create(
        owner=owner, question=question, rubric=question.rubric, text="a", idempotency_key="1"
    )
    Attempt.objects.create(
        owner=owner, question=question, rubric=question.rubric, text="b", idempotency_key="2", parent=first
    )
    services.account_delete(owner=owner)
    assert not Attempt.objects.exists()


def test_stored_files_are_deleted_after_the_commit(
    owner: User, settings: object, tmp_path: object, django_capture_on_commit_callbacks: object
) -> None:
    settings.MEDIA_ROOT = tmp_path  # type: ignore[attr-defined]
    name = default_storage.save("of-the-owner.txt", ContentFile(b"text"))
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        services._delete_files([(default_storage, name), (default_storage, "gone-already.txt")])
    assert not default_storage.exists(name)


def test_a_merged_guest_goes_with_the_account(owner: User, question: Question) -> None:
    guest = User.objects.create_guest()
    make_everything(guest, question)
    User.objects.filter(pk=guest.pk).update(merged_into=owner)
    services.account_delete(owner=owner)
    assert not User.objects.exists()
