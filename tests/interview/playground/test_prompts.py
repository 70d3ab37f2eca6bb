"""The prompt library: versions written once, templates that can't hang, runs that record what they used."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from interview.accounts.models import User
from interview.playground.models import Prompt, PromptVersion
from interview.playground.prompts.form import EXAMPLE_BODY, EXAMPLE_SYSTEM
from interview.playground.prompts.services import prompt_create, template_hash, version_write
from interview.playground.prompts.templates import TemplateRefused, rendered, variables
from interview.playground.prompts.views import difference
from interview.runs.models import Run
from tests.interview.playground.conftest import Execute

pytestmark = pytest.mark.django_db
URL = "/playground/prompts/"


@pytest.fixture
def prompt(owner: User) -> Prompt:
    return prompt_create(owner=owner, name="Zwölf", system=EXAMPLE_SYSTEM, body=EXAMPLE_BODY)


def test_variables_and_what_they_become() -> None:
    assert variables(EXAMPLE_SYSTEM, EXAMPLE_BODY) == ["audience", "context", "language", "topic"]
    values = {"topic": "caches", "audience": "", "context": "a\nb", "language": "English"}
    assert (
        rendered(EXAMPLE_BODY, values) == "Use these notes:\n- a\n- b\n\nExplain caches to a new colleague."
    )
    assert rendered(EXAMPLE_BODY, {**values, "context": ""}) == "Explain caches to a new colleague."
    assert rendered("{{ a|upper }} {{ a|length }}{% if not b %}!{% endif %}", {"a": "x", "b": ""}) == "X 1!"
    assert rendered("{{ '{{' }} {% raw %}{{ a }}{% endraw %}", {}) == "{{ {{ a }}"


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ a.__init__.__globals__ }}",
        "{{ a['__class__'] }}",
        "{{ self }}{{ self._TemplateReference__context }}",
        "{{ cycler.__init__ }}",
        "{{ range(10**9) }}",
        "{% for i in range(100000) %}{% endfor %}",
        "{% for x in a|lines %}{% for y in a|lines %}.{% endfor %}{% endfor %}",
        "{% for x in a|lines %}{% if x %}{% for y in a|lines %}.{% endfor %}{% endif %}{% endfor %}",
        "{% for x in a|lines recursive %}{{ loop(x) }}{% endfor %}",
        "{% for x in a %}{% endfor %}",
        "{{ 'a' * 10**9 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{{ a|join('x') }}",
        "{{ a|replace('', a) }}",
        "{{ a|indent(1000000000) }}",
        "{{ a|attr('__class__') }}",
        "{{ '%s' % a }}",
        "{{ a.format(1) }}",
        "{% set a = 1 %}",
        "{% macro m() %}{% endmacro %}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
        "{% block b %}{% endblock %}",
        "{{ a",
        "{% if %}",
        "{{ a|nosuch }}",
        "{% if a is odd %}{% endif %}",
        "{{ [1, 2] }}",
        "x" * 10_001,
        "".join(f"{{{{ v{i} }}}}" for i in range(21)),
        "{{ " + "(" * 3000 + "a" + ")" * 3000 + " }}",
    ],
)
def test_what_could_hang_or_reach_out_is_refused(source: str) -> None:
    with pytest.raises(TemplateRefused):
        variables(source)


def test_a_filled_in_prompt_is_bounded() -> None:
    with pytest.raises(TemplateRefused, match="20000 characters"):
        rendered("{% for x in a|lines %}{{ b }}{% endfor %}", {"a": "\n" * 10_000, "b": "y" * 10_000})
    with pytest.raises(TemplateRefused, match="'b' is undefined"):
        rendered("{{ b }}", {})


def test_a_version_is_written_once(prompt: Prompt) -> None:
    first = prompt.versions.get()
    assert first.number == 1 and first.hash == template_hash(EXAMPLE_SYSTEM, EXAMPLE_BODY)
    with pytest.raises(TypeError):
        first.save()
    again = version_write(prompt=prompt, system=EXAMPLE_SYSTEM, body=EXAMPLE_BODY, note="the same")
    assert again.pk == first.pk
    second = version_write(prompt=prompt, system="", body="Explain {{ topic }}.", note="shorter")
    assert second.number == 2 and second.hash != first.hash
    back = version_write(prompt=prompt, system=EXAMPLE_SYSTEM, body=EXAMPLE_BODY)
    assert back.number == 3 and back.hash == first.hash
    with pytest.raises(IntegrityError), transaction.atomic():
        PromptVersion.objects.create(prompt=prompt, number=3, body="x", hash="0")


def test_differences_are_line_by_line(prompt: Prompt) -> None:
    first = prompt.versions.get()
    second = version_write(
        prompt=prompt, system=EXAMPLE_SYSTEM, body=EXAMPLE_BODY.replace("Explain", "Describe")
    )
    lines = difference(first, second)
    assert [line.sign for line in lines if line.sign] == ["-", "+"]
    assert "Describe" in lines[-1].text


def test_a_run_records_name_version_hash_and_values(owner_client: Client, prompt: Prompt) -> None:
    sent = {"version": "1", "var_topic": "caches", "var_language": "English", "idempotency_key": "k"}
    location = owner_client.post(f"{URL}{prompt.pk}/run/", sent).headers["Location"]
    run = Run.objects.get()
    assert location == f"/playground/generate/?run={run.pk}"
    assert run.input["messages"][0] == {
        "role": "system",
        "content": "You answer in English, in one short paragraph.",
    }
    assert run.input["template"] == {
        "prompt": prompt.pk,
        "name": "Zwölf",
        "version": 1,
        "hash": prompt.versions.get().hash,
        "variables": {"audience": "", "context": "", "language": "English", "topic": "caches"},
    }
    page = owner_client.get(location).content.decode()
    assert f"{URL}{prompt.pk}/?version=1" in page and prompt.versions.get().hash[:12] in page


def test_the_trace_names_the_template_and_the_parts_are_counted(owner: User, execute: Execute) -> None:
    template = {"prompt": 1, "name": "n", "version": 2, "hash": "0" * 64, "variables": {}}
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name a colour."}]
    done = execute(
        owner, "generate", {"messages": messages, "sampling": {"max_tokens": 3}, "template": template}
    )
    assert done.run.trace.body["prompt_template"] == template
    parts = done.output["prompt"]["parts"]
    assert [role for role, _ in parts] == ["system", "user", "answer begins"]
    # <|im_start|> ass istant \n opens the answer.
    assert parts[-1] == ["answer begins", 4]
    assert sum(n for _, n in parts) == done.output["prompt"]["count"]


@pytest.mark.parametrize(
    ("change", "said"),
    [({"var_topic": "x" * 20_001}, "20000"), ({"temperature": "9"}, "less than or equal to 5"), ({"max_tokens": "0"}, "greater than or equal to 1")],
)  # fmt: skip
def test_a_bad_value_is_named_and_the_rest_kept(
    owner_client: Client, prompt: Prompt, change: dict[str, str], said: str
) -> None:
    sent = {
        "version": "1",
        "var_topic": "caches",
        "var_language": "Keep me",
        "idempotency_key": "k",
        **change,
    }
    response = owner_client.post(f"{URL}{prompt.pk}/run/", sent)
    assert (
        response.status_code == 422
        and said in response.content.decode()
        and "Keep me" in response.content.decode()
    )
    assert not Run.objects.exists()


@pytest.mark.parametrize("version", ["", "2", "x", "-1", "9" * 30])
def test_an_unknown_version_is_404(owner_client: Client, prompt: Prompt, version: str) -> None:
    assert owner_client.post(f"{URL}{prompt.pk}/run/", {"version": version}).status_code == 404


@pytest.mark.parametrize(
    ("name", "value"),
    [("name", "\u200b"), ("name", "x" * 81), ("body", ""), ("body", "{{ a"), ("system", "{% set a = 1 %}")],
)
def test_a_prompt_that_cannot_be_kept_says_why(owner_client: Client, name: str, value: str) -> None:
    sent = {"name": "Mine", "system": "", "body": "Say <b>{{ a }}</b>", name: value}
    response = owner_client.post(URL, sent)
    assert response.status_code == 422 and response.context["form"].errors[name]
    assert not Prompt.objects.exists()


def test_the_journey_of_a_prompt(owner_client: Client) -> None:
    location = owner_client.post(URL, {"name": "<i>Mine", "system": "", "body": "Say {{ a }}"}).headers[
        "Location"
    ]
    page = owner_client.get(location).content.decode()
    assert "&lt;i&gt;Mine" in page and "<i>" not in page
    changed = owner_client.post(location, {"system": "", "body": "Say {{ a }} twice", "note": "more"})
    assert changed.headers["Location"] == f"{location}?version=2"
    page = owner_client.get(f"{location}?version=2&against=1").content.decode()
    assert "is-added" in page and "is-gone" in page
    assert owner_client.get(URL).content.decode().count("2 versions") == 1
    assert owner_client.post(f"{location}delete/").headers["Location"] == URL
    assert not Prompt.objects.exists()


def test_nobody_else_sees_or_changes_it(
    prompt: Prompt, other_client: Client, anonymous_client: Client
) -> None:
    address = f"{URL}{prompt.pk}/"
    for client in (other_client, anonymous_client):
        assert client.get(address).status_code == 404
        assert client.post(address, {"body": "x"}).status_code == 404
        assert client.post(f"{address}run/", {"version": "1"}).status_code == 404
        assert client.post(f"{address}delete/").status_code == 404
        assert prompt.name not in client.get(URL).content.decode()
    assert prompt.versions.count() == 1


def test_queries_of_the_list_do_not_grow(
    owner: User, owner_client: Client, django_assert_num_queries: Any
) -> None:
    for number in range(4):
        prompt_create(owner=owner, name=f"p{number}", system="", body="x")
    with django_assert_num_queries(4):
        owner_client.get(URL)
