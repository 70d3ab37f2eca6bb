"""Drafts: no keystroke is lost, an older save never overwrites a newer one."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.practice.adoption import drafts_adopt
from interview.practice.models import ANSWER_LIMIT, Draft
from interview.questions.models import Question

pytestmark = pytest.mark.django_db


def save(client: Client, question: Question, text: str, revision: object = 1) -> Any:
    url = reverse("practice:draft_save", args=[question.pk])
    return client.post(url, {"text": text, "revision": revision, "elapsed_seconds": 3})


def test_a_draft_is_kept_and_shown_again(owner_client: Client, question: Question) -> None:
    answer = save(owner_client, question, "half a thought")
    assert answer.json() == {"revision": 1, "words": 3}
    page = owner_client.get(reverse("practice:question", args=[question.pk]))
    assert "half a thought" in page.content.decode()


def test_a_visitor_becomes_a_guest_by_typing(anonymous_client: Client, question: Question) -> None:
    assert save(anonymous_client, question, "mine").status_code == 200
    assert Draft.objects.get().owner.is_guest


def test_looking_makes_no_guest(anonymous_client: Client, question: Question) -> None:
    anonymous_client.get(reverse("practice:question", args=[question.pk]))
    assert not User.objects.exists()


def test_an_older_revision_is_refused_with_the_newer_text(owner_client: Client, question: Question) -> None:
    save(owner_client, question, "newer", 5)
    answer = save(owner_client, question, "older", 4)
    assert answer.status_code == 409
    assert answer.json()["text"] == "newer"
    assert Draft.objects.get().text == "newer"


def test_the_same_save_twice_is_fine(owner_client: Client, question: Question) -> None:
    save(owner_client, question, "same", 5)
    assert save(owner_client, question, "same", 5).status_code == 200


def test_somebody_elses_draft_is_not_shown(
    owner_client: Client, other_client: Client, question: Question
) -> None:
    save(owner_client, question, "only the owner's")
    page = other_client.get(reverse("practice:question", args=[question.pk]))
    assert "only the owner's" not in page.content.decode()


@pytest.mark.parametrize("revision", ["0", "-1", "x", "", "1e9", "99999999999999999999", "NaN"])
def test_a_bad_revision_is_refused(owner_client: Client, question: Question, revision: str) -> None:
    assert save(owner_client, question, "text", revision).status_code == 422
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("", ""),
        ("\u200b", "\u200b"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("a\x00b", "a\ufffdb"),
        ("two\r\nlines", "two\nlines"),
    ],
)
def test_odd_text_is_kept_inert(owner_client: Client, question: Question, sent: str, kept: str) -> None:
    assert save(owner_client, question, sent).status_code == 200
    assert Draft.objects.get().text == kept
    page = owner_client.get(reverse("practice:question", args=[question.pk])).content.decode()
    assert "<script>alert(1)" not in page


def test_too_long_is_said_not_cut(owner_client: Client, question: Question) -> None:
    answer = save(owner_client, question, "x" * 100_000)
    assert answer.status_code == 422
    assert "100,000 characters" in answer.json()["message"]
    assert f"{ANSWER_LIMIT:,}" in answer.json()["message"]


def test_both_texts_survive_a_sign_in(owner: User, question: Question) -> None:
    guest = User.objects.create_guest()
    Draft.objects.create(owner=owner, question=question, text="from the account", revision=3)
    Draft.objects.create(owner=guest, question=question, text="from the guest", revision=1)
    assert drafts_adopt(guest=guest, user=owner).merged == 1
    merged = Draft.objects.get()
    assert merged.owner == owner
    assert "from the account" in merged.text
    assert "from the guest" in merged.text
