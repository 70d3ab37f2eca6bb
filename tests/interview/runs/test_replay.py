"""Replaying, comparing and sharing: what is pinned, what differs, and who may read it."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.runs import replay, retention, services, sharing
from interview.runs.comparison import compare
from interview.runs.models import Run, RunShare, Trace
from tests.factories import make_run

pytestmark = pytest.mark.django_db
OUTPUT: dict[str, Any] = {
    "text": "Hi <b>you</b>",
    "finish_reason": "stop",
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cached_tokens": 0},
    "timings": {"ttft_ms": 12.0, "itl_ms_p50": 8.0, "itl_ms_p95": 9.0, "tokens_per_s": 100.0},
    "per_token": [[0, 11, "Hi", -0.1, 12.0], [1, 12, " <b>you</b>", -2.0, 20.0]],
}
FOUND: dict[str, Any] = {
    **OUTPUT,
    "model": {"name": "m", "sha256": "f" * 64, "weight_format": "int4"},
    "machine": {"device": "cpu", "threads": 2},
    "stats": {"seed": 77, "batch_size_max": 1},
}


def ended(owner: User, run: Run | None = None, **found: Any) -> Run:
    claimed = services.run_claim(str((run or make_run(owner)).pk), worker="host:1")
    assert claimed is not None
    services.run_succeed(claimed, OUTPUT, {**FOUND, **found})
    claimed.refresh_from_db()
    return claimed


def test_a_replay_pins_the_seed_that_was_drawn(owner: User) -> None:
    run = ended(owner)
    again = replay.run_replay(run, owner)
    assert again.input["sampling"] == {**run.input["sampling"], "seed": 77}
    assert again.input["messages"] == run.input["messages"]
    assert again.origin == {"replay_of": str(run.pk)}
    assert ended(owner, again).trace.body["origin"] == again.origin


def test_an_identical_replay_says_so(owner: User) -> None:
    again = ended(owner, replay.run_replay(ended(owner), owner))
    found = replay.replayed(again, owner)
    assert found is not None
    assert (found.tokens, found.difference, found.doubts) == (2, None, ())


def test_the_first_token_that_differs_is_named(owner: User) -> None:
    rows = [OUTPUT["per_token"][0], [1, 99, " me", -1.0, 20.0]]
    again = ended(owner, replay.run_replay(ended(owner), owner), per_token=rows)
    found = replay.replayed(again, owner)
    assert found is not None
    assert found.difference == replay.Difference(0, 1, " <b>you</b>", " me")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"model": {**FOUND["model"], "sha256": "e" * 64}}, "another model file"),
        ({"machine": {"device": "cuda", "threads": 2}}, "another device"),
        ({"stats": {"seed": 77, "batch_size_max": 3}}, "shared the batch"),
        (
            {"usage": {**OUTPUT["usage"], "cached_tokens": 4}},
            "prefix cache gave 0 tokens the first time and 4 now",
        ),
    ],
)
def test_why_equality_could_not_be_expected(owner: User, changed: dict[str, Any], words: str) -> None:
    again = ended(owner, replay.run_replay(ended(owner), owner), **changed)
    found = replay.replayed(again, owner)
    assert found is not None and any(words in doubt for doubt in found.doubts)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"token_ids": [11, 12]}, "Identical: both records hold the same hash"),
        ({"token_ids": [11, 99]}, "The tokens differ. Which is the first can&#x27;t be told"),
        ({}, "the tokens are the same can&#x27;t be told"),
    ],
)
def test_without_texts_hashes_say_whether_a_replay_is_identical(
    owner: User, owner_client: Client, settings: Any, found: dict[str, Any], words: str
) -> None:
    settings.TRACE_TEXT = "hash"
    first = ended(owner, token_ids=[11, 12])
    again = ended(owner, replay.run_replay(first, owner), **found)
    page = owner_client.get(reverse("runs:run", args=[again.pk])).content.decode()
    assert again.input["sampling"]["seed"] == 77, "the seed is no text"
    assert words in page.replace("'", "&#x27;") and "Identical: all" not in page


def test_choices_of_one_request_are_no_strangers() -> None:
    trace = {"stats": [{"batch_size_max": 3}] * 3, "usage": {"cached_tokens": 0}}
    assert replay.doubts(trace, trace) == ()


def test_what_cannot_be_replayed_says_why(owner: User, owner_client: Client) -> None:
    waiting, erased = make_run(owner), ended(owner)
    retention.run_erase(erased)
    for run in (waiting, erased):
        with pytest.raises(replay.CannotReplay):
            replay.run_replay(run, owner)
    page = owner_client.post(reverse("runs:replay", args=[waiting.pk]), follow=True)
    assert "Only a run that succeeded" in page.content.decode()


def test_the_page_of_a_replay_compares(owner: User, owner_client: Client) -> None:
    run = ended(owner)
    response = owner_client.post(reverse("runs:replay", args=[run.pk]))
    again = Run.objects.exclude(pk=run.pk).get()
    assert response.headers["Location"] == reverse("runs:run", args=[again.pk])
    ended(owner, again)
    page = owner_client.get(reverse("runs:run", args=[again.pk])).content.decode()
    assert "Identical: all 2 tokens" in page and "Equality could be expected" in page


def test_a_comparison_marks_what_differs(owner: User, owner_client: Client) -> None:
    a, b = ended(owner), ended(owner, finish_reason="length")
    found = compare(a.trace.body, b.trace.body)
    assert {"finish_reason", "run"} <= {row.name for row in found.different}
    assert {"model.sha256", "kind", "request.messages[0].content"} <= {row.name for row in found.same}
    page = owner_client.get(reverse("runs:compare"), {"a": str(a.pk), "b": str(b.pk)}).content.decode()
    assert "finish_reason" in page and page.count("differs</span>") == len(found.different)
    assert "<b>you</b>" not in page


@pytest.mark.parametrize(
    "query", [{}, {"a": "x", "b": "y"}, {"a": str(uuid.uuid4()), "b": str(uuid.uuid4())}]
)
def test_a_comparison_of_nothing_is_404(owner_client: Client, query: dict[str, str]) -> None:
    assert owner_client.get(reverse("runs:compare"), query).status_code == 404


def test_others_traces_are_not_compared(owner: User, other: User, other_client: Client) -> None:
    theirs, mine = ended(owner), ended(other)
    assert (
        other_client.get(reverse("runs:compare"), {"a": str(mine.pk), "b": str(theirs.pk)}).status_code == 404
    )


def shared(owner: User) -> tuple[Run, str]:
    run = ended(owner)
    return run, sharing.share_create(run).key


def test_whoever_has_the_link_reads_run_and_trace(owner: User, anonymous_client: Client) -> None:
    run, key = shared(owner)
    page = anonymous_client.get(reverse("runs:shared", args=[key]))
    text = page.content.decode()
    assert page.status_code == 200 and page.headers["X-Robots-Tag"] == "noindex"
    assert "Say hello." in text and "&lt;b&gt;you" in text and "<b>you</b>" not in text
    assert "owner@example.org" not in text and "Olive" not in text
    assert anonymous_client.get(reverse("runs:shared_trace", args=[key])).json()["hash"] == run.trace.hash
    assert anonymous_client.get(reverse("runs:run", args=[run.pk])).status_code == 404


def test_the_link_cannot_be_guessed_and_stays_the_same(owner: User) -> None:
    run, key = shared(owner)
    assert len(key) == 43
    assert sharing.share_create(run).key == key


def test_a_revoked_link_opens_nothing(owner: User, owner_client: Client, anonymous_client: Client) -> None:
    run, key = shared(owner)
    owner_client.post(reverse("runs:unshare", args=[run.pk]))
    for name in ("shared", "shared_trace"):
        assert anonymous_client.get(reverse(f"runs:{name}", args=[key])).status_code == 404
    assert anonymous_client.post(reverse("runs:fork", args=[key])).status_code == 404
    assert sharing.share_create(run).key != key


def test_an_erased_run_is_no_longer_shared(owner: User, anonymous_client: Client) -> None:
    run, key = shared(owner)
    retention.run_erase(run)
    assert anonymous_client.get(reverse("runs:shared", args=[key])).status_code == 404


@pytest.mark.parametrize("name", ["share", "unshare", "replay"])
def test_only_the_owner_may(owner: User, other_client: Client, anonymous_client: Client, name: str) -> None:
    run, _ = shared(owner)
    for client in (other_client, anonymous_client):
        assert client.post(reverse(f"runs:{name}", args=[run.pk])).status_code == 404
    assert RunShare.objects.count() == 1 and Run.objects.count() == 1


def test_a_fork_is_ones_own_run(owner: User, other: User, other_client: Client) -> None:
    run, key = shared(owner)
    response = other_client.post(reverse("runs:fork", args=[key]))
    fork = Run.objects.get(owner=other)
    assert response.headers["Location"] == f"{reverse('playground:generate')}?run={fork.pk}"
    assert (fork.input, fork.origin) == (run.input, {"forked_from": str(run.pk)})


def test_a_fork_over_quota_says_so(owner: User, other: User, other_client: Client, settings: Any) -> None:
    settings.RUN_QUEUE_LIMIT = 1
    make_run(other)
    _, key = shared(owner)
    page = other_client.post(reverse("runs:fork", args=[key]), follow=True)
    assert "is the limit" in page.content.decode()
    assert Trace.objects.count() == 1


def test_a_waiting_run_and_an_assessment_are_not_shared(owner: User) -> None:
    for run in (make_run(owner), make_run(owner, kind="grade")):
        with pytest.raises(sharing.CannotShare):
            sharing.share_create(run)
