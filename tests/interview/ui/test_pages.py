"""The frame, the home page, the page of patterns, the pages for errors, and a form's fields."""

from __future__ import annotations

import json
import re

import pytest
from django import forms
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import Client, RequestFactory

from interview import home
from interview.accounts.models import User
from interview.questions.models import Question, Topic

pytestmark = pytest.mark.django_db


class Sample(forms.Form):
    name = forms.CharField(help_text="As your class knows you.")
    nick = forms.CharField(required=False)
    keep = forms.BooleanField(help_text="On this device.")
    mode = forms.ChoiceField(choices=[("needed", "needed"), ("vllm", "vLLM")], widget=forms.RadioSelect)


@pytest.fixture
def question() -> Question:
    topic = Topic.objects.create(id="kv-cache", title="KV cache", order=1, summary="What is kept.")
    return Question.objects.create(
        id="long-context",
        topic=topic,
        level="senior",
        title="Why is long context expensive?",
        prompt="Say why.",
    )


def test_home_asks_the_question_of_the_day(anonymous_client: Client, question: Question) -> None:
    page = anonymous_client.get("/").content.decode()
    assert question.title in page
    assert f'action="/questions/{question.pk}/submit/" method="post"' in page
    assert 'name="text"' in page and 'name="idempotency_key"' in page and "csrfmiddlewaretoken" in page
    assert 'href="/topics/kv-cache/"' in page


def test_home_lists_topics_in_teaching_order(anonymous_client: Client, question: Question) -> None:
    Topic.objects.create(id="aaa-last", title="The last", order=9, summary="Comes last.")
    Topic.objects.create(id="zzz-first", title="The first", order=0, summary="Comes first.")
    page = anonymous_client.get("/").content.decode()
    places = [page.index(f"<p>{summary}</p>") for summary in ("Comes first.", "What is kept.", "Comes last.")]
    assert places == sorted(places)


def test_home_with_an_empty_bank_says_what_to_do(anonymous_client: Client) -> None:
    assert "manage.py load_questions" in anonymous_client.get("/").content.decode()


def test_home_computes_the_cache_it_shows(anonymous_client: Client) -> None:
    page = anonymous_client.get("/").content.decode()
    n_bytes = 2 * 32 * 8 * 128 * home.KV_TOKENS * 2  # Llama 3.1 8B in fp16
    assert f"{n_bytes / 10**9:.3f}" in page
    options = re.findall(r'<option value="([^"]+)">', page)
    assert options[0] == "meta-llama/Meta-Llama-3.1-8B"
    for model in options:
        reading = anonymous_client.get("/calculators/kv-cache/", {"model": model, "tokens": "1024"})
        assert reading.status_code == 200 and b"headline-number" in reading.content


def test_every_page_has_the_frame(anonymous_client: Client, question: Question) -> None:
    page = anonymous_client.get("/").content.decode()
    assert '<a class="skip" href="#main">' in page and '<main id="main" tabindex="-1">' in page
    for address in ("/questions/", "/calculators/", "/playground/", "/classes/"):
        assert f'href="{address}"' in page
    assert page.count('button primary"') == 1
    assert "Sign in" in page


def test_htmx_is_told_to_evaluate_nothing_and_to_keep_no_history(anonymous_client: Client) -> None:
    page = anonymous_client.get("/").content.decode()
    found = re.search(r"name=\"htmx-config\" content='(.*?)'", page)
    assert found is not None
    config = json.loads(found.group(1))
    assert config["includeIndicatorStyles"] is config["allowEval"] is config["allowScriptTags"] is False
    assert config["historyCacheSize"] == 0
    token = re.search(r"<body hx-headers='(.*?)'", page)
    assert token is not None and len(json.loads(token.group(1))["x-csrftoken"]) == 64


def test_signed_in_the_bar_leads_to_the_account(owner_client: Client) -> None:
    page = owner_client.get("/").content.decode()
    assert 'href="/account/"' in page and 'href="/practice/"' in page and "Sign in" not in page


def test_patterns_render(rf: RequestFactory) -> None:
    request = rf.get("/patterns/")
    request.user = AnonymousUser()
    request.resolver_match = None
    page = home.patterns(request).content.decode()
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 40


@pytest.mark.parametrize("template", ["403.html", "403_csrf.html", "404.html", "429.html", "500.html"])
def test_error_pages_render_without_a_request(template: str) -> None:
    page = render_to_string(template)
    assert "<h1>" in page and "Prefill" in page


def test_an_unknown_address_gets_the_404_page(anonymous_client: Client) -> None:
    response = anonymous_client.get("/nothing/here/")
    assert response.status_code == 404
    assert b"There is nothing at this address" in response.content


def test_a_form_without_its_token_gets_the_page_that_explains(question: Question, owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post(f"/questions/{question.pk}/submit/", {"text": "x"})
    assert response.status_code == 403
    assert b"The form has expired" in response.content


def test_fields_are_labelled_and_described() -> None:
    html = str(Sample({"name": "", "mode": "other"}))
    ids = set(re.findall(r'\sid="([^"]+)"', html))
    assert set(re.findall(r'for="([^"]+)"', html)) <= ids
    described = " ".join(re.findall(r'aria-describedby="([^"]+)"', html)).split()
    assert described and set(described) <= ids
    assert html.count('class="errorlist"') == 3 and 'aria-invalid="true"' in html


def test_a_checkbox_comes_before_its_label() -> None:
    html = str(Sample()["keep"].as_field_group())
    assert 'class="field is-check"' in html
    assert html.index("<input") < html.index("<label")


def test_optional_fields_say_so_and_labels_carry_no_colon() -> None:
    form = Sample()
    assert '<span class="optional">(optional)</span>' in form["nick"].as_field_group()
    assert "optional" not in form["name"].as_field_group() + form["keep"].as_field_group()
    assert ":</label>" not in str(form)
