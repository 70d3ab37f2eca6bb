"""The generate page: bad values are named beside their field, nothing typed is lost."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.runs.models import Run
from tests.factories import make_run

pytestmark = pytest.mark.django_db
URL = "/playground/generate/"
GOOD = {
    "prompt": "Say hello.",
    "system": "",
    "temperature": "0.7",
    "top_p": "0.9",
    "top_k": "0",
    "max_tokens": "16",
    "seed": "",
    "stop": "",
    "idempotency_key": "key-1",
}


def test_it_queues_a_run_and_shows_it_beside_the_form(owner_client: Client) -> None:
    response = owner_client.post(URL, GOOD | {"stop": "END\nSTOP", "seed": "7", "system": "Be brief."})
    run = Run.objects.get()
    assert response.headers["Location"] == f"{URL}?run={run.pk}"
    assert run.input == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}],
        "sampling": {
            "temperature": 0.7,
            "top_p": 0.9,
            "top_k": 0,
            "max_tokens": 16,
            "stop": ["END", "STOP"],
            "logprobs": 1,
            "seed": 7,
        },
    }
    page = owner_client.get(response.headers["Location"]).content.decode()
    assert "Say hello." in page
    assert "Be brief." in page
    assert "data-run-events" in page


def test_a_visitor_may_generate(anonymous_client: Client) -> None:
    assert anonymous_client.post(URL, GOOD).status_code == 302
    assert Run.objects.get().owner.is_guest


def test_a_double_click_is_one_run(owner_client: Client) -> None:
    owner_client.post(URL, GOOD)
    owner_client.post(URL, GOOD)
    assert Run.objects.count() == 1


def test_the_same_key_with_another_prompt_is_a_conflict(owner_client: Client) -> None:
    owner_client.post(URL, GOOD)
    assert owner_client.post(URL, GOOD | {"prompt": "Another."}).status_code == 409


def test_somebody_elses_run_is_not_shown(owner: User, other_client: Client) -> None:
    assert other_client.get(URL, {"run": str(make_run(owner).pk)}).status_code == 404


@pytest.mark.parametrize("run", ["x", "0", "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_run_is_404(owner_client: Client, run: str) -> None:
    assert owner_client.get(URL, {"run": run}).status_code == 404


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", ""),
        ("prompt", "\u200b"),
        ("prompt", "x" * 100_000),
        ("prompt", "a\x00b"),
        ("temperature", "-1"),
        ("temperature", "NaN"),
        ("temperature", "inf"),
        ("temperature", "warm"),
        ("temperature", "1e999"),
        ("top_p", "0"),
        ("top_p", "1.5"),
        ("top_k", "-1"),
        ("top_k", "1.5"),
        ("max_tokens", "0"),
        ("max_tokens", "1000000000000000000000000"),
        ("seed", "-1"),
        ("seed", "9" * 30),
        ("stop", "a\nb\nc\nd\ne"),
        ("system", "x" * 100_000),
    ],
)
def test_a_bad_value_is_named_and_the_rest_kept(owner_client: Client, field: str, value: str) -> None:
    response = owner_client.post(URL, GOOD | {"prompt": "Keep me.", field: value})
    assert response.status_code == 422
    assert response.context["form"].errors[field]
    if field != "prompt":
        assert "Keep me." in response.content.decode()
    assert not Run.objects.exists()


def test_markup_in_a_prompt_is_inert(owner_client: Client) -> None:
    location = owner_client.post(URL, GOOD | {"prompt": "<script>alert(1)</script>"}).headers["Location"]
    assert "<script>alert(1)" not in owner_client.get(location).content.decode()


def test_over_quota_says_what_to_do(owner: User, owner_client: Client, settings: Any) -> None:
    settings.RUN_QUEUE_LIMIT = 1
    make_run(owner)
    response = owner_client.post(URL, GOOD)
    assert response.status_code == 429
    assert "cancel one" in response.content.decode()
    assert "Say hello." in response.content.decode()


def test_a_prompt_may_come_with_the_link(owner_client: Client) -> None:
    assert (
        "From a link"
        in owner_client.get(reverse("playground:generate"), {"prompt": "From a link"}).content.decode()
    )


def test_the_run_that_is_shown_is_not_listed_again(owner: User, owner_client: Client) -> None:
    shown, earlier = make_run(owner), make_run(owner)
    page = owner_client.get(URL, {"run": str(shown.pk)}).content.decode()
    assert f"?run={earlier.pk}" in page
    assert f"?run={shown.pk}" not in page
