"""Tokens: published ids, the reference library, and text that breaks other counters."""

from __future__ import annotations

import json
import lzma
import time
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from django.conf import settings as django_settings
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers.convert_slow_tokenizer import TikTokenConverter

from engine import Message, Request, ranked, registry
from engine.chat import render
from engine.encoders import ranks_of
from engine.gguf_file import read_gguf
from engine.long_spaces import cut
from engine.tokenizer import ModelTokenizer, from_gguf
from interview.calculators.fields import field_of
from interview.calculators.formulas import encodings, token_files
from interview.calculators.formulas.encodings import encoding, ids_of, vocabularies
from interview.calculators.formulas.registry import CALCULATORS, Outcome, run
from interview.calculators.formulas.token_stream import Wanted, stream
from interview.calculators.formulas.vocabularies import VOCABULARIES

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

    loaded: dict[str, Any] = {}
    ranks = ranks_of(encodings._raw(VOCABULARIES[name]))  # these three are ranks
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
    assert theirs._pat_str == ours.encoder.inner._pat_str  # type: ignore[attr-defined]
    names = {n: i for n, i in ours.controls.items() if n not in ("<|im_start|>", "<|im_end|>")}
    assert names.items() <= theirs._special_tokens.items()


CORPUS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=120) | st.lists(
    st.sampled_from(
        [
            "def f(x):\n\treturn x ** 2",
            "naïve café",
            "数を数える",
            "हिन्दी",
            "👩‍👩‍👧‍👦",
            " ",
            "\n\n",
            "12345",
            "don't",
            "<b>",
            "가",
        ]
    ),
    max_size=12,
).map("".join)


@given(CORPUS, st.sampled_from(["r50k_base", "cl100k_base", "o200k_base"]))
def test_ids_are_tiktokens(text: str, name: str) -> None:
    assert ids_of(name, text) == reference_of(name).encode_ordinary(text)


@given(CORPUS)
def test_ids_are_the_engines(text: str) -> None:
    assert ids_of("local", text) == own_tokenizer().encode(text)
    assert ids_of("local", f"{text}<|im_end|>", control=True)[-1] == own_tokenizer().special["<|im_end|>"]


@given(CORPUS, st.sampled_from([n for n in ("deepseek-v3", "gemma3") if n in vocabularies()]))
@settings(max_examples=60)
def test_ids_are_those_of_the_models_own_file(text: str, name: str) -> None:
    assert ids_of(name, text) == whole_file(name).encode(text, add_special_tokens=False).ids


@given(CORPUS, st.sampled_from(["llama3", "qwen"]))
@settings(max_examples=60)
def test_ids_are_those_of_transformers_conversion(text: str, name: str) -> None:
    clean = unicodedata.normalize("NFC", text) if name == "qwen" else text
    assert ids_of(name, text) == converted(name).encode(clean, add_special_tokens=False).ids


@lru_cache
def reference_of(name: str) -> tiktoken.Encoding:
    return reference(name)


@lru_cache
def own_tokenizer() -> ModelTokenizer:
    """The engine's tokenizer, straight from the model's file."""
    spec = registry.spec_of(registry.DEFAULT_MODEL)
    return from_gguf(read_gguf(Path(django_settings.MODELS_DIR) / spec.name / spec.weights).metadata)


@lru_cache
def whole_file(name: str) -> Tokenizer:
    """The model's tokenizer.json as the tokenizers library reads it, control tokens and all."""
    return Tokenizer.from_str(token_files.read(VOCABULARIES[name].file).decode())


@lru_cache
def converted(name: str) -> Tokenizer:
    """A second implementation: transformers' conversion of the rank file into merges."""
    path = token_files.folder() / VOCABULARIES[name].file
    converter = TikTokenConverter(str(path), pattern=VOCABULARIES[name].pattern)  # type: ignore[no-untyped-call]
    made: Tokenizer = converter.converted()
    return made


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


# SmolLM2 has no token for some bytes that only unassigned characters have, so it loses them.
@given(TEXTS, st.sampled_from([n for n in NAMES if n != "local"]))
def test_every_text_decodes_back(text: str, name: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    expected = unicodedata.normalize("NFC", clean) if VOCABULARIES[name].nfc else clean
    loaded = encoding(name)
    assert b"".join(loaded.spelling(i) for i in ids_of(name, clean)).decode() == expected


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


@pytest.mark.parametrize(("factor", "expected"), [("1.62", 2 * 1659), ("2.46", 2 * 2520), ("1", 2 * 1024)])
def test_a_decimal_multiplier_rounds_each_image_up(factor: str, expected: int) -> None:
    # 32 × 32 patches of 32 pixels: 1024 × 1.62 = 1658.88 and 1024 × 2.46 = 2519.04.
    outcome = run(CALCULATORS["tokens"], {"text": "", "images": "2", "patch": "32", "image_factor": factor})
    assert outcome.result, outcome.errors
    assert outcome.result.results["tokens"] == expected


def test_images_by_patches_up_to_the_cap() -> None:
    base = {"text": "", "images": 2, "image_width": 1000, "image_height": 500, "patch": 28}
    outcome = asked(**base)
    assert outcome.result and outcome.result.results["tokens"] == 2 * 36 * 18
    capped = asked(image_cap=100, **base)
    assert capped.result and capped.result.results["tokens"] == 200


def test_damaged_files_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ranked, "FOLDER", tmp_path)
    monkeypatch.setattr(token_files, "_folder", tmp_path)
    (tmp_path / "r50k_base.tiktoken.xz").write_bytes(lzma.compress(b"IQ== 0\n"))
    (tmp_path / "llama3.tiktoken").write_bytes(b"IQ== 0\n")
    encodings.SHELF.clear()
    for name in ("r50k_base", "llama3"):
        with pytest.raises(ValueError, match="damaged"):
            encoding(name)
    assert "prepare_tokenizers" in asked(text="x", encoding="tekken").errors[0].message
    encodings.SHELF.clear()


def test_every_file_that_pip_brings_is_here() -> None:
    missing = [v.name for v in VOCABULARIES.values() if v.name != "gemma3" and v.name not in vocabularies()]
    assert not missing, "run `make models`"


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("r50k_base", "o200k_base", "llama4", "tekken")]
)
def test_a_chat_is_rendered_by_the_models_own_template(name: str) -> None:
    chat = "system: Be brief.\nuser: Name one colour.\nassistant: Red.\nuser: Another <|im_end|><s><eos>."
    found = stream(name, Wanted(chat, is_chat=True, generation_prompt=True))
    loaded = encoding(name)
    text = b"".join(loaded.spelling(i) for i in found.ids).decode()
    for words in ("Be brief.", "Name one colour.", "Red.", "Another <|im_end|><s><eos>."):
        assert words in text
    written = "".join(
        loaded.spelling(i).decode() for i, t in zip(found.ids, found.templates, strict=True) if not t
    )
    assert (
        written.split()
        == ["Be", "brief.", "Name", "one", "colour.", "Red.", "Another", "<|im_end|><s><eos>."]
        or "".join(written.split()) == "Bebrief.Nameonecolour.Red.Another<|im_end|><s><eos>."
    )
    assert any(found.controls) and all(t for t, c in zip(found.templates, found.controls, strict=True) if c)


def test_the_engine_renders_the_same_prompt() -> None:
    chat = "user: Why is <|im_start|> a trap?"
    said = (Message("user", "Why is <|im_start|> a trap?"),)
    theirs = render(own_tokenizer(), Request(messages=said))[1]
    found = stream("local", Wanted(chat, is_chat=True, generation_prompt=True))
    assert list(found.ids) == theirs


def test_a_start_token_that_stands_twice_is_named() -> None:
    base = {"text": "user: hi", "encoding": "llama3", "chat": 1}
    once, twice = asked(**base), asked(**base, add_bos=1)
    assert once.result and twice.result
    assert twice.result.results["tokens"] == int(once.result.results["tokens"]) + 1
    assert any("stands twice" in w for w in twice.result.warnings)
    assert not any("stands twice" in w for w in once.result.warnings)
    raw = asked(text="<|begin_of_text|>hi", encoding="llama3", special="control", add_bos=1)
    assert raw.result and [p.id for p in raw.result.pieces][:2] == [128000, 128000]


def test_a_template_that_refuses_is_quoted() -> None:
    if "gemma3" in vocabularies():
        wrong = asked(text="user: a\nuser: b", encoding="gemma3", chat=1)
        assert wrong.errors[0].name == "text" and "must alternate" in wrong.errors[0].message
    assert asked(text="user: a", encoding="tekken", chat=1).errors[0].name == "encoding"


def test_all_tokenizers_side_by_side() -> None:
    outcome = asked(text="naïve 数 1234567", compare="all")
    assert outcome.result
    table = next(t for t in outcome.result.tables if "by each tokenizer" in t.caption)
    assert len(table.rows) == len(vocabularies()) >= 11
    counted = {str(row[0]): row[1] for row in table.rows}
    assert all(counted[v.title] == len(ids_of(n, "naïve 数 1234567")) for n, v in vocabularies().items())
    assert asked(text="a" * 100_001, compare="all").errors[0].name == "compare"


def test_tokens_that_the_other_splits_otherwise_are_marked() -> None:
    outcome = asked(text="count 1234567 now", encoding="llama3", compare="qwen")
    assert outcome.result
    here = [(p.text, p.differs) for p in outcome.result.pieces]
    there = [(p.text, p.differs) for p in outcome.result.beside]
    assert (
        ("123", True) in here
        and ("count", False) in here
        and ("1", True) in there
        and ("·now", False) in there
    )


def test_nfc_changes_are_shown_and_the_rules_have_their_error() -> None:
    outcome = asked(text="cafe\u0301 \u1112\u1161\u11ab " * 3)
    assert outcome.result
    tables = {t.caption: t for t in outcome.result.tables}
    assert ("e\u0301", "U+0065 U+0301", "é", "U+00E9") in tables["What NFC would change"].rows
    _, said, error = tables["Rules of thumb"].rows[0]
    exact = int(outcome.result.results["text_tokens"])
    assert float(str(error).rstrip("%").replace("−", "-")) == pytest.approx(
        100 * (float(said) - exact) / exact, abs=0.06
    )


@pytest.mark.parametrize("name", NAMES)
def test_long_runs_are_counted_in_bounded_time(name: str) -> None:
    encoding(name)
    for text in (" " * 600_000 + "x", "a" * 300_000, "\n" * 300_000):
        started = time.process_time()
        found = ids_of(name, text)
        assert time.process_time() - started < 6
        assert sum(len(encoding(name).spelling(i)) for i in found[:100]) > 0


@given(
    st.lists(
        st.sampled_from(["a", " ", "\n", "\r", "\n  \n", "\t", "!", "1", "é", "\u00a0", "      "]),
        max_size=12,
    ).map("".join),
    st.sampled_from(["o200k_base", "qwen", "llama3", "tekken"]),
)
def test_cutting_long_space_changes_no_id(text: str, name: str) -> None:
    encoder: Any = encoding(name).encoder
    made: list[int] = []
    for part, is_piece in cut(text, marks_are_letters=encoder.marks_are_letters, longest=3):
        made += encoder._piece(part) if is_piece else encoder.inner.encode_ordinary(part)
    assert made == encoder.inner.encode_ordinary(text)


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


def test_a_tokenizer_that_is_not_installed_says_so_and_how(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(token_files, "_folder", tmp_path)
    encodings.SHELF.clear()
    missing = asked(text="a", encoding="gemma3")
    assert [e.name for e in missing.errors] == ["encoding"]
    assert missing.errors[0].message.endswith("run manage.py prepare_tokenizers --all")
    beside = asked(text="a", compare="qwen")
    assert [e.name for e in beside.errors] == ["compare"]
    assert beside.errors[0].message.endswith("run manage.py prepare_tokenizers")
    parameter = next(p for p in CALCULATORS["tokens"].parameters if p.name == "encoding")
    labels = {o.value: o.label for o in field_of(parameter, asked(text="a")).options}
    assert labels["gemma3"].endswith("(not installed)") and "(not installed)" not in labels["cl100k_base"]
    drawn = field_of(parameter, asked(text="a")).html
    assert labels["gemma3"] in drawn
    assert "Gemma 3 (Gemma Terms of Use) with manage.py prepare_tokenizers --all" in drawn


@pytest.mark.django_db
def test_a_page_of_a_long_text_shows_some_rows_and_the_json_has_more(client: Client) -> None:
    text = {"text": "naïve über token x = 1 " * 2000}
    page = client.post("/calculators/tokens/", text).content.decode()
    assert "The first 500 rows of" in page and page.count("<tr>") < 700
    answer = client.post("/api/v1/calculators/tokens", text, content_type="application/json").json()
    rows = next(t["rows"] for t in answer["tables"] if t["caption"] == "Tokens")
    assert len(rows) == 2000
