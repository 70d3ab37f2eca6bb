"""A session lost while typing: the text survives signing in and is sent from there."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.accounts.sessions import TYPED_KEY, TYPED_LIMIT
from interview.practice.models import Draft
from interview.questions.models import Question
from tests.conftest import PASSWORD
from tests.interview.accounts.doors import sign_in, sign_up

pytestmark = pytest.mark.django_db
LONG = "A long text, typed for an hour.\nSecond line <b>with</b> markup & more."


def send_without_a_session(client: Client, **more: object) -> str:
    """Send the profile form after the session has gone; where that leads."""
    fields = {"name": LONG, "time_zone": "Europe/Zurich", "password": "never kept", **more}
    answer = client.post("/account/", fields)
    assert answer.status_code == 302
    return answer["Location"]


def test_it_is_shown_after_signing_in_and_can_be_sent(anonymous_client: Client, owner: User) -> None:
    where = send_without_a_session(anonymous_client)
    assert where == "/account/sign-in/?next=%2Faccount%2Ftyped%2F"
    assert "What you sent is kept" in anonymous_client.get(where).content.decode()
    assert sign_in(anonymous_client, "owner@example.org", PASSWORD, next="/account/typed/")["Location"] == (
        "/account/typed/"
    )
    page = anonymous_client.get("/account/typed/")
    text = page.content.decode()
    assert "Second line &lt;b&gt;with&lt;/b&gt; markup &amp; more." in text
    assert 'type="hidden" name="time_zone" value="Europe/Zurich"' in text
    assert "never kept" not in text and 'action="/account/"' in text
    again = anonymous_client.post("/account/", {"name": "Shorter", "time_zone": "Europe/Zurich"})
    assert again.status_code == 302
    owner.refresh_from_db()
    assert (owner.name, owner.time_zone) == ("Shorter", "Europe/Zurich")
    assert TYPED_KEY not in anonymous_client.session


def test_it_survives_signing_up_too(anonymous_client: Client) -> None:
    send_without_a_session(anonymous_client)
    sign_up(anonymous_client)
    assert "typed for an hour" in anonymous_client.get("/account/typed/").content.decode()


def test_it_can_be_discarded(anonymous_client: Client, owner: User) -> None:
    send_without_a_session(anonymous_client)
    sign_in(anonymous_client, "owner@example.org", PASSWORD)
    anonymous_client.post(reverse("accounts:typed_discard"))
    assert "Nothing is waiting" in anonymous_client.get("/account/typed/").content.decode()


def test_what_is_too_long_is_said_so(anonymous_client: Client, owner: User) -> None:
    send_without_a_session(anonymous_client, name="x" * (TYPED_LIMIT + 1))
    sign_in(anonymous_client, "owner@example.org", PASSWORD)
    assert "too long to be kept" in anonymous_client.get("/account/typed/").content.decode()


@pytest.mark.parametrize("text", ["", "x" * 100_000, "\u200b", "<script>alert(1)</script>", "null\x00byte"])
def test_any_text_is_kept(anonymous_client: Client, owner: User, text: str) -> None:
    send_without_a_session(anonymous_client, name=text)
    kept = dict(anonymous_client.session[TYPED_KEY]["fields"])
    assert kept["name"] == text
    sign_in(anonymous_client, "owner@example.org", PASSWORD)
    page = anonymous_client.get("/account/typed/")
    assert page.status_code == 200 and "<script>alert" not in page.content.decode()


def test_files_are_asked_for_again(anonymous_client: Client, owner: User) -> None:
    send_without_a_session(anonymous_client, file=SimpleUploadedFile("a.txt", b"text"))
    sign_in(anonymous_client, "owner@example.org", PASSWORD)
    assert "Files can’t be kept" in anonymous_client.get("/account/typed/").content.decode()


def test_htmx_is_sent_to_the_door_as_a_whole_page(anonymous_client: Client) -> None:
    headers = {"hx-request": "true", "hx-current-url": "http://testserver/account/tokens/?a=b"}
    answer = anonymous_client.get("/account/tokens/", headers=headers)
    assert answer["HX-Redirect"] == "/account/sign-in/?next=%2Faccount%2Ftokens%2F%3Fa%3Db"


def test_a_draft_typed_after_the_session_was_lost_is_in_the_account(
    owner_client: Client, owner: User, question: Question
) -> None:
    url = reverse("practice:draft_save", args=[question.pk])
    owner_client.post(url, {"text": "begun signed in", "revision": 1, "elapsed_seconds": 1})
    owner_client.cookies.pop("sessionid")
    owner_client.post(url, {"text": "begun signed in, went on without", "revision": 2, "elapsed_seconds": 2})
    assert Draft.objects.count() == 2
    sign_in(owner_client, "owner@example.org", PASSWORD)
    assert "went on without" in Draft.objects.get(owner=owner).text


def test_an_answer_submitted_after_the_session_was_lost_is_in_the_account(
    owner_client: Client, owner: User, question: Question
) -> None:
    owner_client.cookies.pop("sessionid")
    body = {
        "text": "Each token leaves keys and values behind.",
        "idempotency_key": "k1",
        "elapsed_seconds": 9,
    }
    assert owner_client.post(reverse("practice:submit", args=[question.pk]), body).status_code == 302
    sign_in(owner_client, "owner@example.org", PASSWORD)
    assert owner.attempts.get().text.startswith("Each token")
