"""Tokens: published ids, the reference library, and text that breaks other counters."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas import encodings
from interview.calculators.formulas.encodings import encoding, ids_of, vocabularies
from interview.calculators.formulas.registry import CALCULATORS, Outcome, run

ROWS = json.loads((Path(__file__).parents[2] / "data" / "calculator_cases.json").read_text("utf-8"))
CASES = {row["id"]: row for row in ROWS}
NAMES = list(vocabularies())


def asked(**given_inputs: Any) -> Outcome:
    return run(CALCULATORS["tokens"], {k: str(v) for k, v in given_inputs.items()})


def ids(**given_inputs: Any) -> list[int]:
    outcome = asked(**given_inputs)
    assert outcome.result, outcome.errors
    return [piece.id for piece in outcome.result.pieces]


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_emoji(name: str) -> None:
    case = CASES["tok-emoji-encodings"]
    assert ids(text=case["input"]["text"], encoding=name) == case["expected"][name]["ids"]


def test_a_control_token_in_user_text() -> None:
    case = CASES["tok-special-in-user-text"]
    base = {"text": case["input"]["text"], "encoding": case["input"]["encoding"]}
    assert ids(**base) == case["expected"]["as_text"]["ids"]
    assert ids(special="control", **base) == case["expected"]["as_special"]["ids"]
    assert asked(special="refuse", **base).errors[0].name == "text"


def test_a_chat_with_its_template() -> None:
    case = CASES["tok-chatml-gpt35"]
    chat = "\n".join(f"{m['role']}: {m['content']}" for m in case["input"]["messages"])
    assert ids(text=chat, chat=1, generation_prompt=1) == case["expected"]["ids"]
    outcome = asked(text=chat, chat=1, generation_prompt=1)
    assert outcome.result and outcome.result.results["content_tokens"] == case["expected"]["content_only"]
    assert outcome.result.results["tokens"] == case["expected"]["count"]


def test_control_tokens_in_a_message_stay_text() -> None:
    outcome = asked(text="user: hi <|im_end|>\n<|im_start|>system", chat=1)
    assert outcome.result
    assert [p.id for p in outcome.result.pieces if p.is_control] == [100264, 100265]


def test_chats_without_roles_or_markers_are_named() -> None:
    assert asked(text="hello", chat=1).errors[0].name == "text"
    assert asked(text="user: hello", chat=1, encoding="o200k_base").errors[0].name == "encoding"


def reference(name: str) -> tiktoken.Encoding:
    """An encoder built the library's own way from the same ranks, with the library's own pattern."""
    from tiktoken_ext import openai_public

    ours = encoding(name)
    loaded: dict[str, Any] = {}
    ranks = ours._mergeable_ranks
    original = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = lambda *a, **k: ranks
    try:
        loaded = getattr(openai_public, name)()
    finally:
        openai_public.load_tiktoken_bpe = original
    return tiktoken.Encoding(**loaded)


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base", "o200k_harmony"])
def test_patterns_and_control_tokens_are_the_librarys(name: str) -> None:
    theirs, ours = reference(name), encoding(name)
    assert theirs._pat_str == ours._pat_str
    assert vocabularies()[name].specials.items() <= theirs._special_tokens.items()


TEXTS = st.text(alphabet=st.characters(), max_size=200) | st.sampled_from(
    [
        "naïve café",
        "def f(x):\n\treturn x**2",
        "数を数える",
        "👩‍👩‍👧‍👦",
        "  \n\n  ",
        "1234567",
        "don't",
        "\u200b",
        "ａ",
        "a\u0301",
    ]
)


@given(TEXTS, st.sampled_from(NAMES))
def test_every_text_decodes_back(text: str, name: str) -> None:
    import unicodedata

    clean = text.encode("utf-8", "replace").decode()
    expected = unicodedata.normalize("NFC", clean) if vocabularies()[name].nfc else clean
    assert encoding(name).decode(ids_of(name, clean)) == expected


@given(TEXTS)
def test_no_text_crashes_and_counts_agree(text: str) -> None:
    outcome = asked(text=text, compare="r50k_base")
    assert outcome.result
    got = outcome.result.results
    assert int(got["tokens"]) <= max(1, int(got["utf8_bytes"])) and int(got["tokens"]) == got["text_tokens"]


def test_a_million_characters_without_a_space_stay_bounded() -> None:
    encoding("cl100k_base")
    for text in ("a" * 1_000_000, "<|endoftext|>" * 50_000, "🙂" * 200_000):
        started = time.process_time()
        assert asked(text=text).result
        assert time.process_time() - started < 6
    assert asked(text="a" * 1_000_001).errors[0].name == "text"


def test_what_nobody_sees_is_named() -> None:
    said = " ".join((asked(text="a\u200bb pаypal cafe\u0301").result or pytest.fail()).warnings)
    assert "ZERO WIDTH SPACE" in said and "pаypal" in said and "NFC" in said


def test_images_by_patches_up_to_the_cap() -> None:
    base = {"text": "", "images": 2, "image_width": 1000, "image_height": 500, "patch": 28}
    outcome = asked(**base)
    assert outcome.result and outcome.result.results["tokens"] == 2 * 36 * 18
    capped = asked(image_cap=100, **base)
    assert capped.result and capped.result.results["tokens"] == 200


def test_damaged_ranks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_raw", lambda vocabulary: b"IQ== 0\n")
    encoding.cache_clear()
    with pytest.raises(ValueError, match="damaged"):
        encoding("r50k_base")
    encoding.cache_clear()


@pytest.mark.django_db
def test_long_text_is_posted_counted_and_shared_behind_a_short_link(client: Client) -> None:
    text = "word " * 3000
    response = client.post(
        "/calculators/tokens/", {"text": text}, headers={"HX-Request": "true", "HX-Target": "result"}
    )
    assert response.status_code == 200 and "HX-Replace-Url" not in response
    assert b"too long for a link" in response.content and b"3\xe2\x80\xaf001" in response.content
    query = f"text={'word%20' * 3000}"
    made = client.post("/c/", {"slug": "tokens", "query": query}).content.decode()
    link = made.split('href="http://testserver')[1].split('"')[0]
    opened = client.get(link)
    assert opened.status_code == 200 and b"3\xe2\x80\xaf001" in opened.content
    short = client.post(
        "/calculators/tokens/", {"text": "hi"}, headers={"HX-Request": "true", "HX-Target": "result"}
    )
    assert short["HX-Replace-Url"] == "/calculators/tokens/?v=1&text=hi"
