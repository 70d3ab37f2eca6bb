"""Grounded answers by the real models: gates, styles, verbatim citations, cancelling, documents that give orders."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from engine import InvalidRequest, Passage
from engine.ask import STYLES, AskResult, Citation, ask
from engine.ask_cli import main as ask_main
from engine.ask_cli import parse_task
from engine.ask_prompts import mint, number
from engine.embeddings import Embedder
from engine.llm import Engine
from engine.relevance import consider
from engine.remote import RemoteEngine
from engine.thresholds import load_thresholds

BRIDGE = Passage(
    "bridge",
    "The old bridge was designed by Ann Lee. It opened in 1932 after six years of work. Dr. Lee saw it.",
)
RIVER = Passage("river", "The river is 40 km long and freezes in winter. Ships use it in summer.")
WHEN = "When did the old bridge open?"


def holds(result: AskResult, *passages: Passage) -> bool:
    """Every citation stands verbatim in its passage."""
    texts = {p.id: p.text for p in passages}
    return all(texts[c.passage][c.start : c.end] == c.text for c in result.citations)


def test_a_question_about_something_else_stops_at_the_floor(engine: Engine, embedder: Embedder) -> None:
    result = ask(engine, embedder, "Which enzyme digests starch in saliva?", [BRIDGE, RIVER])
    assert (result.status, result.reason, result.decided_by) == ("abstained", "off_topic", "retrieval")
    assert (result.answer, result.citations, result.usage["prompt_tokens"]) == ("", (), 0)
    assert {p.passage for p in result.passages} == {"bridge", "river"}


def test_the_gate_named_is_the_one_that_kept_the_answer_back(engine: Engine, embedder: Embedder) -> None:
    # The free style goes on past the first two gates, so that a failed one need not have decided.
    off_topic = ask(engine, embedder, "Which enzyme digests starch in saliva?", [BRIDGE, RIVER])
    assert not off_topic.gates[0].passed
    for status, reason, gate in [
        ("abstained", "unsupported", "support"),
        ("abstained", "truncated", ""),
        ("answered", "", ""),
    ]:
        told = replace(off_topic, status=status, reason=reason, style="free").to_dict()
        assert told["decided_by"] == gate


def test_no_text_is_no_answer(engine: Engine, embedder: Embedder) -> None:
    for passages in ([], [Passage("a", " \n ")]):
        result = ask(engine, embedder, WHEN, passages)
        assert (result.status, result.reason) == ("abstained", "no_passages")


def test_why_a_passage_is_considered(embedder: Embedder) -> None:
    bridge, river = consider(WHEN, [BRIDGE, RIVER], embedder)
    assert bridge.relevance > river.relevance
    assert set(bridge.terms) == {"old", "bridge", "open"}
    assert river.terms == ()


@pytest.mark.parametrize("style", STYLES)
def test_events_and_results_tell_every_gate(engine: Engine, embedder: Embedder, style: Any) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []
    result = ask(engine, embedder, WHEN, [BRIDGE, RIVER], style, lambda *event: seen.append(event), seed=1)
    assert [data for name, data in seen if name == "gate"] == list(result.to_dict()["gates"])
    assert result.gates[0].name == "retrieval"
    assert holds(result, BRIDGE, RIVER)
    assert (result.status == "answered") == bool(result.answer) == bool(result.citations)
    assert json.loads(json.dumps(result.to_dict()))["style"] == style
    assert result.versions["ask"]
    assert result.timings["total_ms"] > 0


def test_the_same_seed_asks_the_same(engine: Engine, embedder: Embedder) -> None:
    one, two = (ask(engine, embedder, WHEN, [BRIDGE], "cited", seed=7) for _ in range(2))
    assert one.results[-1]["rendered_prompt"] == two.results[-1]["rendered_prompt"]
    assert (one.answer, one.gates, one.claims) == (two.answer, two.gates, two.claims)


def test_cancelling_ends_it_with_what_is_known(engine: Engine, embedder: Embedder) -> None:
    result = ask(engine, embedder, WHEN, [BRIDGE], "free", cancelled=lambda: True)
    assert (result.status, result.reason) == ("abstained", "cancelled")
    calls = iter(range(1000))
    late = ask(engine, embedder, WHEN, [BRIDGE], "free", cancelled=lambda: next(calls) > 3)
    assert late.reason == "cancelled"


def test_ids_are_minted_for_the_request() -> None:
    import random

    ids = {s.id for seed in range(5) for s in number([BRIDGE], mint(random.Random(seed)))}
    assert len(ids) == 5 * 3
    assert [s.citation.text for s in number([RIVER], "x")] == [
        "The river is 40 km long and freezes in winter.",
        "Ships use it in summer.",
    ]


def test_the_sentence_with_the_quoted_words_is_numbered_first() -> None:
    at = RIVER.text.index("Ships")
    words = Citation("river", at, at + 5, "Ships")
    sentences = number([BRIDGE, RIVER], "x", words)
    assert (sentences[0].id, sentences[0].citation.text) == ("x-1", "Ships use it in summer.")
    assert {s.citation.text for s in sentences} == {s.citation.text for s in number([BRIDGE, RIVER], "x")}


def test_with_citations_it_answers_what_it_quotes(engine: Engine, embedder: Embedder) -> None:
    """A verbatim quote is found first and shown to the model, which cites the sentence that holds it."""
    told: list[str] = []
    result = ask(
        engine, embedder, WHEN, [BRIDGE, RIVER], "cited", lambda name, data: told.append(f"{name} {data}"),
        seed=1, thresholds=replace(load_thresholds(), stated=0.0, stated_alone=0.0),
    )  # fmt: skip
    assert (result.status, result.reason) == ("answered", ""), result.claims
    assert "1932" in result.answer and "1932" in result.citations[0].text
    assert '"Words that may answer: ' not in "".join(told), "the prompt is not the answer"
    assert len(result.results) == 2 and "Words that may answer: " in result.results[1]["rendered_prompt"]


@pytest.mark.parametrize(
    ("question", "passages", "style"),
    [
        ("", [BRIDGE], "quote"),
        ("x" * 2001, [BRIDGE], "quote"),
        (5, [BRIDGE], "quote"),
        (WHEN, [BRIDGE, BRIDGE], "quote"),
        (WHEN, [Passage(str(i), "x") for i in range(65)], "quote"),
        (WHEN, [BRIDGE], "poem"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    engine: Engine, embedder: Embedder, question: Any, passages: list[Passage], style: Any
) -> None:
    with pytest.raises(InvalidRequest):
        ask(engine, embedder, question, passages, style)


def test_a_remote_model_is_refused_with_the_reason(embedder: Embedder) -> None:
    with RemoteEngine("http://127.0.0.1:9/v1", "any") as remote, pytest.raises(InvalidRequest) as caught:
        ask(remote, embedder, WHEN, [BRIDGE])
    assert caught.value.code == "local_model_needed"


@pytest.mark.parametrize(
    "line",
    [
        {"question": WHEN},
        {"question": WHEN, "passages": "text"},
        {"question": WHEN, "passages": [{"id": "a"}]},
        {"question": WHEN, "passages": [{"id": 1, "text": "x"}]},
        {"question": WHEN, "passages": [], "seed": "1"},
        {"question": WHEN, "passages": [], "topic": 1},
    ],
)
def test_a_bad_line_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        parse_task(line, "quote")


@pytest.mark.usefixtures("models_dir")
def test_the_command_answers_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], models_dir: Any
) -> None:
    lines = [
        {"question": WHEN, "passages": [{"id": "a", "text": RIVER.text}], "style": "poem"},
        {"question": "Which enzyme digests starch?", "passages": [{"id": "a", "text": RIVER.text}]},
    ]
    text = "[\n" + "\n".join(map(json.dumps, lines)) + "\n"
    monkeypatch.setenv("PREFILL_MODELS_DIR", str(models_dir))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ask_main([]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [d.get("error", {}).get("code") for d in found] == ["malformed_line", "invalid_style", None]
    assert found[2]["status"] == "abstained"
    assert {"status", "answer", "reason", "citations", "claims", "support"} <= found[2].keys()
