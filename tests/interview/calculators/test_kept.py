"""Configurations under a name, links another room may store, and the questions a calculator belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from interview.accounts.models import User
from interview.calculators import selectors, services
from interview.calculators.formulas.parameters import InputErrors
from interview.calculators.formulas.registry import UnknownCalculator, find, run
from interview.calculators.models import SavedConfiguration
from interview.questions.loader import Bank
from interview.questions.models import Question
from tests.factories import make_attempt

pytestmark = pytest.mark.django_db
KV = "/calculators/kv-cache/"
QUERY = "v=1&tokens=4096"


def keep(client: Client, name: str = "eight users", **more: Any) -> Any:
    return client.post(f"{KV}keep/", {"name": name, "query": QUERY}, **more)


def test_an_account_keeps_opens_and_deletes_one(owner_client: Client) -> None:
    assert keep(owner_client)["Location"] == f"{KV}?{QUERY}"
    one = SavedConfiguration.objects.get()
    assert f'href="{KV}?v=1&amp;tokens=4096">eight users</a>' in owner_client.get(KV).content.decode()
    assert "eight users" in owner_client.get("/calculators/").content.decode()
    assert "eight users" not in owner_client.get("/calculators/cost/").content.decode()
    assert owner_client.post(f"/calculators/kept/{one.pk}/delete/").status_code == 302
    assert not SavedConfiguration.objects.exists()


def test_the_same_name_is_written_over(owner_client: Client) -> None:
    keep(owner_client)
    owner_client.post(f"{KV}keep/", {"name": " eight  users ", "query": "tokens=1"})
    one = SavedConfiguration.objects.get()
    assert one.query == "v=1&tokens=1" and one.name == "eight users"


def test_the_script_gets_the_list_alone(owner_client: Client) -> None:
    answer = keep(owner_client, headers={"HX-Request": "true"}).content.decode()
    assert "eight users" in answer and "<html" not in answer
    one = SavedConfiguration.objects.get()
    gone = owner_client.post(
        f"/calculators/kept/{one.pk}/delete/", {"query": QUERY}, headers={"HX-Request": "true"}
    )
    assert b"eight users" not in gone.content and b"v=1&amp;tokens=4096" in gone.content


def test_a_visitor_signs_in_first_and_the_name_is_kept(anonymous_client: Client) -> None:
    answer = keep(anonymous_client)
    assert answer["Location"].startswith("/account/sign-in/") and not SavedConfiguration.objects.exists()
    assert ["name", "eight users"] in [list(f) for f in anonymous_client.session["typed"]["fields"]]
    assert b"Sign in</a> to keep" in anonymous_client.get(KV).content


def test_somebody_elses_is_not_there(owner: User, other_client: Client) -> None:
    one = services.keep(owner, run(find("kv-cache"), {"tokens": "1"}), "mine")
    assert other_client.post(f"/calculators/kept/{one.pk}/delete/").status_code == 404
    assert b"mine" not in other_client.get(KV).content
    assert SavedConfiguration.objects.filter(pk=one.pk).exists()


@pytest.mark.parametrize("name", ["", " ", "\u200b", "x" * 81])
def test_a_name_is_needed_and_what_was_typed_stays(owner_client: Client, name: str) -> None:
    answer = keep(owner_client, name)
    assert answer.status_code == 422 and b"at most 80 characters" in answer.content
    assert name[:80] in answer.content.decode() and not SavedConfiguration.objects.exists()


def test_bad_inputs_long_texts_and_too_many_are_refused(
    owner: User, owner_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert owner_client.post(f"{KV}keep/", {"name": "x", "query": "tokens=x"}).status_code == 422
    long = owner_client.post("/calculators/tokens/keep/", {"name": "x", "query": f"text={'word+' * 3000}"})
    assert long.status_code == 422 and b"short link" in long.content
    monkeypatch.setattr(services, "MOST_KEPT", 1)
    keep(owner_client)
    assert keep(owner_client).status_code == 302
    assert keep(owner_client, "another").status_code == 422
    assert owner_client.get(f"{KV}keep/").status_code == 405
    assert owner_client.post("/calculators/none/keep/").status_code == 404


def test_a_link_for_another_room_is_checked_and_canonical() -> None:
    made = selectors.checked_link("kv-cache", "tokens=4096&dtype=fp16")
    assert (made.path, made.title) == (f"{KV}?{QUERY}", "KV cache")
    for bad in ("tokens=x", "colour=red", "tokens=1&tokens=2"):
        with pytest.raises(InputErrors):
            selectors.checked_link("kv-cache", bad)
    with pytest.raises(UnknownCalculator):
        selectors.checked_link("none", "")


def test_a_calculator_names_its_questions_and_they_name_it(
    owner: User, owner_client: Client, bank: Bank
) -> None:
    """A question names it after the first own answer: what a prefilled link shows would give points away."""
    page = owner_client.get(KV).content.decode()
    assert "Questions it belongs to" in page
    slug = selectors.questions_about("kv-cache")[0][0]
    assert f"/questions/{slug}/" in page
    prefilled, question = "/calculators/kv-cache/?", f"/questions/{slug}/"
    assert prefilled not in owner_client.get(question).content.decode()
    make_attempt(owner, Question.objects.get(id=slug))
    assert prefilled in owner_client.get(question).content.decode()


def test_every_calculator_belongs_to_a_question(bank: Bank) -> None:
    from interview.calculators.formulas.registry import CALCULATORS

    assert [s for s in CALCULATORS if not selectors.questions_about(s)] == []


def test_queries(client: Client, owner_client: Client, bank: Bank, django_assert_num_queries: Any) -> None:
    selectors.forget_questions()
    with django_assert_num_queries(1):  # the questions, for everybody, once in five minutes
        client.get(KV)
    with django_assert_num_queries(0):
        client.get(KV)
    keep(owner_client, headers={"HX-Request": "true"})
    with django_assert_num_queries(3):  # session, account, what it keeps
        owner_client.get(KV)
