"""The generate page: bad values are named beside their field, nothing typed is lost."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.playground.generated import forked
from interview.playground.kinds import check, engine_request
from interview.playground.presets import PRESETS
from interview.runs.comparison import compare
from interview.runs.kinds import InputRefused
from interview.runs.models import Run
from tests.factories import make_run

pytestmark = pytest.mark.django_db
URL = "/playground/generate/"
FORK = "/playground/generate/fork/"
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
            "logprobs": 10,
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
    page = owner_client.get(URL, {"run": str(shown.pk)})
    assert [run.pk for run in page.context["recent"]] == [earlier.pk]


def test_every_control_reaches_the_engine(owner_client: Client) -> None:
    extra = {
        "min_p": "0.05",
        "typical_p": "0.95",
        "repetition_penalty": "1.1",
        "frequency_penalty": "0.2",
        "presence_penalty": "-0.3",
        "no_repeat_ngram": "3",
        "order": "temperature_last",
        "logit_bias": "28 -100\n504: 2.5",
        "speculate": "4",
        "mode": "raw",
        "allow_special": "on",
    }
    owner_client.post(URL, GOOD | extra)
    body = Run.objects.get().input
    assert body["prompt"] == "Say hello." and body["allow_special"] is True and body["speculate"] == 4
    assert body["sampling"]["logit_bias"] == {"28": -100, "504": 2.5}
    request = engine_request(body)
    assert (request.sampling.min_p, request.sampling.typical_p) == (0.05, 0.95)
    assert (request.sampling.repetition_penalty, request.sampling.no_repeat_ngram) == (1.1, 3)
    assert (request.sampling.frequency_penalty, request.sampling.presence_penalty) == (0.2, -0.3)
    assert request.sampling.order == "temperature_last"
    page = owner_client.get(URL, {"run": str(Run.objects.get().pk)})
    assert "28 -100\n504 2.5" in page.content.decode()


@pytest.mark.parametrize(
    ("field", "value"),
    [("min_p", "2"), ("typical_p", "0"), ("repetition_penalty", "0"), ("order", "sideways"), ("logit_bias", "a b"),
     ("logit_bias", "1 1000"), ("logit_bias", "1 nan"), ("speculate", "65"), ("mode", "telepathy")],
)  # fmt: skip
def test_a_bad_folded_value_opens_its_fold(owner_client: Client, field: str, value: str) -> None:
    response = owner_client.post(URL, GOOD | {field: value})
    assert response.status_code == 422 and response.context["form"].errors[field]
    form = response.context["form"]
    assert form.has_special_prompt or form.has_special_sampling or field in {"min_p", "mode"}


def test_a_preset_fills_the_form_and_says_why(owner_client: Client) -> None:
    for one in PRESETS:
        page = owner_client.get(URL, {"preset": one.name})
        assert one.why in unescape(page.content.decode())
        form = page.context["form"]
        data = {**{name: form[name].value() or "" for name in form.fields}, "idempotency_key": one.name}
        assert owner_client.post(URL, data).status_code == 302
    assert owner_client.get(URL, {"preset": "unheard-of"}).status_code == 200


@pytest.mark.parametrize("prompt", ["", " \n", "\u200b", "\u2060\ufeff"])
@pytest.mark.parametrize("way", ["prompt", "messages"])
def test_the_api_refuses_the_blank_prompt_that_the_form_refuses(prompt: str, way: str) -> None:
    body = {"prompt": prompt} if way == "prompt" else {"messages": [{"role": "user", "content": prompt}]}
    with pytest.raises(InputRefused) as caught:
        check(body)
    assert caught.value.code == "empty_prompt"


def ended(owner: User, **input: Any) -> Run:
    """A generation of three tokens as a worker leaves it."""
    run = make_run(owner, **input)
    top = [
        [504, "The", 0.6, 0.8, [0.7, 0.8]],
        [331, " A", 0.2, 0.2, [0.25, 0.2]],
        [28, ",", 0.1, 0.0, [0.05, 0.0]],
    ]
    step = {"entropy": 1.2, "masked": None, "steps": [["temperature", 49152], ["top_p", 2]], "top": top}
    output = {
        "text": "The<b>, ",
        "token_ids": [504, 9, 10],
        "per_token": [[0, 504, "The", -0.5, 1.0], [1, 9, "<b>", -0.1, 2.0], [2, 10, "", -2.3, 3.0]],
        "steps": [step, step, step],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 0},
        "timings": {"ttft_ms": 40.0, "itl_ms_p50": 9.0, "itl_ms_p95": 9.5, "tokens_per_s": 100.0},
        "prompt": {"count": 9, "left_out": 0, "continued": 0, "window": 8192, "kv_bytes_per_token": 23040,
                   "tokens": [[1, "<|im_start|>", True], [4093, "user", False], [198, "\n", False]]},
        "stats": {"seed": 3, "kv_bytes_used": 253440},
        "finish_reason": "length",
    }  # fmt: skip
    Run.objects.filter(pk=run.pk).update(state="succeeded", output=output)
    run.refresh_from_db()
    return run


def test_a_token_shows_what_it_could_have_been(owner: User, owner_client: Client) -> None:
    run = ended(owner)
    page = owner_client.get(URL, {"run": str(run.pk), "token": "0"}).content.decode()
    assert "1.200 nats = 1.731 bits" in page and "2 after top-p" in page
    assert "Go on from  A" in page and page.count("Go on from") == 2
    assert "<b>" not in page.split("data-run-tokens")[1].split("</div>")[0]
    part = owner_client.get(
        URL, {"run": str(run.pk), "token": "1"}, headers={"HX-Request": "true", "HX-Target": "token-panel"}
    ).content.decode()
    assert part.lstrip().startswith('<section id="token-panel"')


@pytest.mark.parametrize("token", ["3", "-1", "x", "9" * 40])
def test_a_token_that_is_not_there_is_404(owner: User, owner_client: Client, token: str) -> None:
    assert owner_client.get(URL, {"run": str(ended(owner).pk), "token": token}).status_code == 404


def test_a_fork_keeps_what_came_before_token_for_token(owner: User, owner_client: Client) -> None:
    run = ended(owner, continue_ids=[7, 8], fork={"text": "So: "})
    sent = {"run": str(run.pk), "index": "2", "token": "331", "idempotency_key": "fork-1"}
    location = owner_client.post(FORK, sent).headers["Location"]
    fork = Run.objects.exclude(pk=run.pk).get()
    assert location == f"{URL}?run={fork.pk}"
    assert fork.input["continue_ids"] == [7, 8, 504, 9, 331]
    assert fork.input["fork"] == {"run": str(run.pk), "index": 2, "token": 331, "text": "So: The<b> A"}
    assert engine_request(fork.input).continue_ids == (7, 8, 504, 9, 331)
    page = owner_client.get(location).content.decode()
    assert "an earlier run" in page and "The&lt;b&gt;" in page


def test_a_fork_is_compared_from_the_beginning_of_the_answer(owner: User) -> None:
    """What a fork kept stands before its own tokens: it parts from its source where it was forked, not at once."""
    run = ended(owner)
    whole = {"per_token": (run.output or {})["per_token"], "request": run.input}
    body = forked(run, 2, 331)
    assert body["fork"]["kept"] == [[504, "The"], [9, "<b>"], [331, " A"]]
    found = compare(whole, {"per_token": [[0, 5, " fork", -1.0, 2.0]], "request": body})
    assert found.tokens is not None and found.tokens.index == 2 and found.tokens.after == " A"


@pytest.mark.parametrize("change", [{"token": "99"}, {"index": "3"}, {"run": "x"}, {"index": "-1"}])
def test_a_fork_from_nowhere_is_404(owner: User, owner_client: Client, change: dict[str, str]) -> None:
    sent = {"run": str(ended(owner).pk), "index": "0", "token": "331", "idempotency_key": "k"} | change
    assert owner_client.post(FORK, sent).status_code == 404


def test_nobody_else_forks_it(owner: User, other_client: Client, anonymous_client: Client) -> None:
    sent = {"run": str(ended(owner).pk), "index": "0", "token": "331", "idempotency_key": "k"}
    assert other_client.post(FORK, sent).status_code == 404
    assert anonymous_client.post(FORK, sent).status_code == 404
    assert Run.objects.count() == 1


def test_over_quota_a_fork_says_so_beside_the_run(owner: User, owner_client: Client, settings: Any) -> None:
    run = ended(owner)
    settings.RUN_QUEUE_LIMIT = 1
    make_run(owner)
    response = owner_client.post(
        FORK, {"run": str(run.pk), "index": "0", "token": "331", "idempotency_key": "k"}
    )
    assert response.status_code == 429 and "cancel one" in response.content.decode()


def test_queries_of_the_page_do_not_grow(
    owner: User, owner_client: Client, django_assert_max_num_queries: Any
) -> None:
    runs = [ended(owner) for _ in range(7)]
    with django_assert_max_num_queries(8):
        owner_client.get(URL, {"run": str(runs[0].pk), "token": "0"})


@pytest.mark.parametrize("mode", ["chat", "raw"])
def test_a_prompt_over_the_window_is_refused_with_both_numbers(owner_client: Client, mode: str) -> None:
    prompt = "# " * 9000
    response = owner_client.post(URL, GOOD | {"mode": mode, "prompt": prompt})
    fault = response.context["form"].errors["prompt"][0]
    assert response.status_code == 422 and not Run.objects.exists()
    assert re.search(r"has (9\d{3}|18\d{3}) tokens; the context window holds 8192", fault), fault
    assert response.context["form"]["prompt"].value() == prompt, "nothing is lost"


def test_a_token_that_is_not_there_is_refused(owner_client: Client) -> None:
    response = owner_client.post(URL, GOOD | {"logit_bias": "49152 5"})
    assert response.status_code == 422 and "up to 49151" in response.context["form"].errors["logit_bias"][0]
    assert owner_client.post(URL, GOOD | {"logit_bias": "49151 5"}).status_code == 302
