"""The bank that ships: complete, consistent, its numbers recomputed, its coverage document current."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from interview.questions.coverage import BANK, DOCUMENT, coverage_markdown, load_ideas, questions_by_idea
from interview.questions.loader import Bank, Computed, Question, load_bank

QUESTIONS = load_bank(BANK).questions
WORDS = (110, 200)  # of a strong answer: what fits into two minutes of speech


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank(BANK)


def each_question() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)


def test_every_topic_has_questions(bank: Bank) -> None:
    assert len(bank.topics) >= 12
    assert [topic.id for topic in bank.topics if not bank.of_topic(topic.id)] == []


def test_every_idea_is_taught_and_every_named_idea_is_listed(bank: Bank) -> None:
    assert [idea for idea, questions in questions_by_idea(bank, load_ideas()).items() if not questions] == []


def test_the_coverage_document_is_current(bank: Bank) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == coverage_markdown(bank, load_ideas()), (
        "run python -m interview.questions.coverage"
    )


def test_titles_are_unique(bank: Bank) -> None:
    titles = Counter(question.title for question in bank.questions)
    assert [title for title, count in titles.items() if count > 1] == []


@each_question()
def test_a_question_is_complete(question: Question) -> None:
    labels = Counter(sample.label for sample in question.samples)
    for label in ("strong", "paraphrase", "partial", "weak", "contradictory"):
        assert labels[label] >= 1, label
    assert labels["stuffed"] + labels["off_topic"] >= 1
    assert 3 <= len(question.rubric.points) <= 6
    assert 2 <= len(question.rubric.misconceptions) <= 6
    assert question.sources
    texts = [sample.text for sample in question.samples]
    assert len(set(texts)) == len(texts)


@each_question()
def test_answers_have_the_length_of_an_interview_answer(question: Question) -> None:
    words = len(question.strong_answer.split())
    assert WORDS[0] <= words <= WORDS[1], words
    assert len(question.weak_answer.split()) >= 12
    assert len(question.weak_because.split()) >= 20


@each_question()
def test_statements_are_worded_differently(question: Question) -> None:
    for point in question.rubric.points:
        sets = [frozenset(statement.lower().split()) for statement in point.statements]
        assert len(set(sets)) == len(sets), point.id
        for group in point.anchors:
            assert len(set(group)) == len(group), (point.id, Counter(group).most_common(1))


# The formulas behind the numbers, written here a second time so that a slip in either shows.
Inputs = Mapping[str, str]


def kv_bytes(given: Inputs) -> float:
    width = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "q8_0": 34 / 32, "q4_0": 18 / 32}[
        given.get("dtype", "fp16")
    ]
    shape = math.prod(int(given[key]) for key in ("layers", "kv_heads", "head_dim", "tokens"))
    return 2 * shape * width * int(given.get("sequences", 1))


def mla_bytes(given: Inputs) -> float:
    return int(given["layers"]) * (int(given["rank"]) + int(given["rope_dim"])) * int(given["tokens"]) * 2


def tempered(given: Inputs) -> list[float]:
    probs = [float(item) for item in given["probs"].split(",")]
    raised = [p ** (1 / float(given.get("temperature", 1))) for p in probs]
    kept = nucleus([p / sum(raised) for p in raised], float(given.get("top_p", 1)))
    if "top_k" in given:
        kept = [p if i < int(given["top_k"]) else 0.0 for i, p in enumerate(kept)]
    return [p / sum(kept) for p in kept]


def nucleus(probs: list[float], top_p: float) -> list[float]:
    """Probabilities (highest first) with the tail after the smallest set reaching top_p set to zero."""
    out, total = [], 0.0
    for p in probs:
        out.append(p if total < top_p - 1e-12 else 0.0)
        total += p
    return out


def bpe(given: Inputs) -> tuple[list[tuple[str, str]], list[int], dict[str, int]]:
    counts = {word: int(count) for word, count in (item.split(":") for item in given["counts"].split(","))}
    words = {word: list(word) for word in counts}
    merges, sizes = [], []
    for _ in range(int(given["merges"])):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, symbols in words.items():
            for pair in pairwise(symbols):
                pairs[pair] += counts[word]
        best, size = pairs.most_common(1)[0]
        merges.append(best)
        sizes.append(size)
        words = {word: merged(symbols, best) for word, symbols in words.items()}
    return merges, sizes, counts


def merged(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    out: list[str] = []
    for symbol in symbols:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return out


def bpe_tokens(given: Inputs) -> float:
    symbols = list(given["encode"])
    for pair in bpe(given)[0]:
        symbols = merged(symbols, pair)
    return len(symbols)


def number(given: Inputs, key: str, otherwise: float = 0.0) -> float:
    return float(given.get(key, otherwise))


def budget_left(given: Inputs) -> float:
    retrieved = number(given, "chunks") * number(given, "tokens_per_chunk")
    used = sum(number(given, key) for key in ("system", "tools", "history", "reserved_output", "safety"))
    return number(given, "window") - used - retrieved


def block_parameters(given: Inputs) -> dict[str, float]:
    d, expansion = number(given, "hidden"), number(given, "expansion", 4)
    return {"attention": 4 * d * d, "ffn": 2 * expansion * d * d, "embedding": number(given, "vocab") * d}


def experts_share(given: Inputs) -> float:
    return number(given, "active") / number(given, "experts")


def usd(given: Inputs) -> float:
    kinds = ("input", "output", "cached", "cache_write")
    per_call = sum(number(given, f"{kind}_tokens") * number(given, f"usd_{kind}") for kind in kinds) / 1e6
    return per_call * number(given, "calls", 1)


def usd_per_success(given: Inputs) -> float:
    success = number(given, "success")
    return (number(given, "call_usd") + (1 - success) * number(given, "failure_usd")) / success


def expected_tokens(given: Inputs) -> float:
    a, k = number(given, "acceptance"), int(given["draft"])
    return (1 - a ** (k + 1)) / (1 - a)


def standard_error(given: Inputs) -> float:
    p, n = number(given, "rate"), number(given, "n")
    return math.sqrt(p * (1 - p) / n)


def per_arm(given: Inputs) -> float:
    p = number(given, "rate")
    return 16 * p * (1 - p) / number(given, "difference") ** 2


def expected_loss(given: Inputs) -> float:
    missed = 1 - number(given, "caught")
    return number(given, "cases") * number(given, "error_rate") * missed * number(given, "cost")


def rope_angle(given: Inputs) -> float:
    exponent = -2 * number(given, "pair") / number(given, "head_dim")
    return float(number(given, "position") * number(given, "base") ** exponent)


def weights_seconds(given: Inputs) -> float:
    return number(given, "parameters") * number(given, "bytes_per_parameter") / number(given, "bandwidth")


FORMULAS: dict[tuple[str, str], Callable[[Inputs], float]] = {
    ("kv-cache", "bytes"): kv_bytes,
    ("kv-cache", "mla_bytes"): mla_bytes,
    ("kv-cache", "ratio"): lambda g: number(g, "heads") / number(g, "kv_heads"),
    ("kv-cache", "blocks"): lambda g: math.ceil(number(g, "tokens") / number(g, "block")),
    ("kv-cache", "sequences"): lambda g: number(g, "memory_gb") * 1e9 // kv_bytes(g),
    ("tokens", "tokens"): lambda g: number(g, "words") / number(g, "words_per_token"),
    ("attention", "pairs_full"): lambda g: number(g, "tokens") ** 2,
    ("attention", "pairs_causal"): lambda g: number(g, "tokens") * (number(g, "tokens") + 1) / 2,
    ("attention", "growth"): lambda g: (number(g, "to") / number(g, "tokens")) ** 2,
    ("attention", "score_std"): lambda g: math.sqrt(number(g, "head_dim")),
    ("attention", "head_dim"): lambda g: number(g, "hidden") / number(g, "heads"),
    ("loss", "nats"): lambda g: -math.log(number(g, "probability")),
    ("loss", "perplexity"): lambda g: math.exp(number(g, "nats")),
    ("loss", "predictions"): lambda g: number(g, "tokens") - 1,
    ("loss", "joint"): lambda g: number(g, "probability") ** number(g, "tokens"),
    ("sampling", "first"): lambda g: tempered(g)[0],
    ("sampling", "last"): lambda g: tempered(g)[-1],
    ("sampling", "kept"): lambda g: sum(p > 0 for p in tempered(g)),
    ("sampling", "two_different"): lambda g: 1 - sum(p * p for p in tempered(g)),
    ("positions", "angle"): rope_angle,
    ("positions", "scale"): lambda g: number(g, "trained") / number(g, "wanted"),
    ("context-budget", "left"): budget_left,
    ("latency", "decode_seconds"): lambda g: number(g, "output_tokens") * number(g, "ms_per_token") / 1000,
    ("latency", "weights_seconds"): weights_seconds,
    ("latency", "weight_bytes"): lambda g: number(g, "parameters") * number(g, "bits") / 8,
    ("bpe", "first_count"): lambda g: bpe(g)[1][0],
    ("bpe", "tokens"): bpe_tokens,
    ("parameters", "attention"): lambda g: block_parameters(g)["attention"],
    ("parameters", "ffn"): lambda g: block_parameters(g)["ffn"],
    ("parameters", "embedding"): lambda g: block_parameters(g)["embedding"],
    ("parameters", "share"): experts_share,
    ("cost", "usd"): usd,
    ("selection", "usd_per_success"): usd_per_success,
    ("selection", "standard_error"): standard_error,
    ("selection", "per_arm"): per_arm,
    ("selection", "expected_loss"): expected_loss,
    ("selection", "chain"): lambda g: number(g, "success") ** number(g, "steps"),
    ("speculative", "tokens"): expected_tokens,
    ("batching", "utilisation"): lambda g: number(g, "used") / number(g, "reserved"),
}
SCALE = {
    "GB": 1e-9, "MB": 1e-6, "kB": 1e-3, "GiB": 2.0**-30, "MiB": 2.0**-20, "KiB": 2.0**-10,
    "ms": 1e3, "million": 1e-6, "percent": 100.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "computed"),
    [(question.id, computed) for question in QUESTIONS for computed in question.computed],
    ids=lambda item: item.label if isinstance(item, Computed) else item,
)
def test_a_number_follows_from_its_formula(question: str, computed: Computed) -> None:
    formula = FORMULAS[computed.calculator, computed.result]
    value = formula(dict(parse_qsl(computed.query, strict_parsing=True))) * SCALE.get(computed.unit, 1.0)
    assert value == pytest.approx(computed.value, rel=2e-5, abs=1e-9)


@each_question()
def test_calculator_links_parse(question: Question) -> None:
    for link in question.calculators:
        if link.query:
            assert parse_qsl(link.query, strict_parsing=True)


def test_the_bank_is_text_without_paths_of_a_machine() -> None:
    for file in sorted(Path(BANK).rglob("*.md")):
        text = file.read_text(encoding="utf-8")
        assert "/home/" not in text and "/work/" not in text, file
