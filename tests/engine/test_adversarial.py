"""Answers made to fool the grader, to questions of the bank: what is denied, exchanged, mismeasured or only hinted at."""

from __future__ import annotations

import pytest

from engine.grading import Grader
from interview.questions.loader import Bank, load_bank
from interview.questions.management.commands.load_questions import BANK

LONG, SAMPLING, JSON = (
    "why-is-long-context-expensive",
    "temperature-vs-top-p",
    "what-does-json-mode-guarantee",
)
CACHE, DRAFT, BITS = "how-big-is-the-cache", "speculative-decoding", "weight-quantisation"
SEED, FLASH, ZERO = (
    "what-does-a-seed-fix",
    "what-does-flashattention-change",
    "is-temperature-zero-deterministic",
)
PREFIX, PHASES, GROUPS = "how-does-prompt-caching-work", "prefill-vs-decode", "what-does-gqa-save"
RIGHT = "the KV cache grows linearly with the number of tokens"
DENIED = (
    "It is not true that", "It is false that", "It's wrong that", "It is incorrect to say that", "It is untrue that",
    "It's a myth that", "I don't think that", "I do not believe", "I doubt that", "Nobody says that",
    "No one claims that", "It is a common misconception that", "It isn't the case that", "It's not the case that",
    "There is no evidence that", "It is hardly true that", "People wrongly think that",
    "It would be a mistake to say that", "I disagree that", "One cannot say that",
    "It couldn't be further from the truth that", "It is simply not true that", "Hardly anybody believes that",
    "You would be wrong to think that", "It's a lie that", "By no means does it follow that",
    "I refuse to believe that", "It is nonsense that", "This doesn't mean that",
)  # fmt: skip
AFFIRMED = (
    "Nobody would deny that", "It is not false that", "There is no doubt that", "It isn't a myth that", "I don't doubt that",
    "It is true that", "Contrary to popular belief,", "Contrary to what people say,", "Some say it is constant, but",
)  # fmt: skip
MET, CONTRADICTED, MISSING = ("met",), ("contradicted",), ("missing",)
NOT_MET = ("missing", "partial", "contradicted")
WRONG = ("missing", "contradicted")


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank(BANK)


def state(grader: Grader, bank: Bank, question: str, answer: str, point: str) -> str:
    asked = bank.question(question)
    verdict = grader.grade(question=asked.prompt, answer=answer, rubric=asked.rubric)
    return next(found.state for found in verdict.points if found.id == point)


@pytest.mark.parametrize("opening", DENIED)
def test_a_right_statement_after_a_denial_is_contradicted(grader: Grader, bank: Bank, opening: str) -> None:
    assert state(grader, bank, LONG, f"{opening} {RIGHT}.", "linear-cache") == "contradicted"


@pytest.mark.parametrize("opening", AFFIRMED)
def test_two_denials_or_a_contrast_affirm(grader: Grader, bank: Bank, opening: str) -> None:
    assert state(grader, bank, LONG, f"{opening} {RIGHT}.", "linear-cache") == "met"


@pytest.mark.parametrize(
    ("answer", "states"),
    [
        ("The KV cache growing linearly with the number of tokens is a myth.", CONTRADICTED),
        ("That the KV cache grows linearly with the number of tokens is wrong.", CONTRADICTED),
        ("The KV cache grows linearly with the number of tokens, which is false.", CONTRADICTED),
        ("The KV cache grows linearly with the number of tokens. That is a myth.", CONTRADICTED),
        ("The KV cache grows linearly with the number of tokens. Not!", CONTRADICTED),
        ("The KV cache grows linearly with the number of tokens? No.", MISSING),
        (
            "Contrary to the popular belief that the KV cache grows linearly with the number of tokens, it is tiny.",
            CONTRADICTED,
        ),
        ("The KV cache no longer grows once the prompt gets longer.", CONTRADICTED),
        ("The KV cache stays fixed rather than growing with each token.", CONTRADICTED),
        ("Some say the KV cache has a fixed size. That's wrong, it grows linearly with the tokens.", MET),
        (
            "The KV cache isn't constant: every token adds a key and a value per layer, so it grows linearly.",
            MET,
        ),
        ("It is wrong to think the cache is quadratic: the KV cache grows linearly with the tokens.", MET),
        ("The KV cache does nothing but grow linearly with the number of tokens.", MET),
        (
            "The KV cache probably, possibly, maybe grows linearly with the tokens, who knows.",
            ("partial", "missing"),
        ),
        ("I'm not certain whether the KV cache grows linearly with the tokens.", ("partial", "missing")),
        ("The ᏦV сасhе grοws lіnearly with the number of tokens.", MET),
        ("The K\u200bV ca\u00adche gr\u2060ows li\u200dnearly with the number of tok\ufeffens.", MET),
        ("Ｔｈｅ ＫＶ ｃａｃｈｅ ｇｒｏｗｓ ｌｉｎｅａｒｌｙ ｗｉｔｈ ｔｈｅ ｔｏｋｅｎｓ.", MET),
        ("linear KV cache, quadratic attention prefill, 19.3 GB, fewer requests, TTFT, batch", MISSING),
    ],
)
def test_what_is_said_of_the_cache(grader: Grader, bank: Bank, answer: str, states: tuple[str, ...]) -> None:
    assert state(grader, bank, LONG, answer, "linear-cache") in states


CASES = [
    (LONG, "consequence", "Longer context does not change how many users fit on a GPU.", WRONG),
    (LONG, "consequence", "Longer contexts allow more concurrent requests on the same GPU.", CONTRADICTED),
    (LONG, "quadratic-prefill", "Attention work in prefill grows linearly with the prompt.", CONTRADICTED),
    (LONG, "quadratic-prefill", "Attention work in prefill isn't linear but quadratic in the prompt.", MET),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds 19.3 MB of KV cache.", NOT_MET),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds 19,3 GB of KV cache.", MET),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds 17.97 GiB of KV cache.", MET),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds 19.3 GiB of KV cache.", NOT_MET),
    (LONG, "figure", "One GPT-3-sized request of 4k tokens holds 19.3 GB of KV cache.", MET),
    (LONG, "figure", "One GPT-3-sized request of 128,000 tokens holds 19.3 GB of KV cache.", NOT_MET),
    (LONG, "figure", "The KV cache of a request takes 19.3 GB at a thousand tokens.", NOT_MET),
    (
        LONG,
        "figure",
        "The KV cache of a request takes 19.3 GB at 4,096 tokens, 604 GB at 128,000 tokens.",
        MET,
    ),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds between 19 and 20 GB of KV cache.", MET),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds from 1 to 100 GB of KV cache.", NOT_MET),
    (
        LONG,
        "figure",
        "One GPT-3-sized request of 4,096 tokens holds $19{,}3\\,\\mathrm{GB}$ of KV cache.",
        MET,
    ),
    (
        LONG,
        "figure",
        "One GPT-3-sized request of 4,096 tokens holds $1.93 \\times 10^{10}$ bytes of KV cache.",
        MET,
    ),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds 1.93·10¹⁰ bytes of KV cache.", MET),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds -19.3 GB of KV cache.", NOT_MET),
    (LONG, "figure", "One GPT-3-sized request of 4,096 tokens holds less than 19.3 GB of KV cache.", NOT_MET),
    (LONG, "quadratic-prefill", "Attention, prefill and quadratic are words that matter here.", MISSING),
    (LONG, "linear-cache", "There is a KV cache and there is something linear.", MISSING),
    (LONG, "linear-cache", "Oh sure, the KV cache grows linearly with the tokens, and pigs fly.", NOT_MET),
    (
        LONG,
        "linear-cache",
        "The KV cache grows linearly with the number of tokens. Actually, scrap that: it has a fixed size.",
        CONTRADICTED,
    ),
    (
        LONG,
        "linear-cache",
        'People say "the KV cache has a fixed size", but each token adds a key and a value, so it grows linearly.',
        MET,
    ),
    (SAMPLING, "temperature", "If I had to guess, temperature divides the logits.", ("partial", "missing")),
    (
        SAMPLING,
        "top-p",
        "Terms like top-p, cumulative mass, smallest set and tail are important here.",
        MISSING,
    ),
    (
        "make-tool-calls-safe",
        "permissions",
        "Permissions come from the model's text, not from the session.",
        WRONG,
    ),
    (
        "how-does-bpe-build-a-vocabulary",
        "merge-most-frequent",
        "Count adjacent pairs and merge the rarest pair into a new symbol.",
        NOT_MET,
    ),
    (SAMPLING, "temperature", "Temperature does not divide the logits before the softmax.", CONTRADICTED),
    (
        SAMPLING,
        "temperature",
        "Below one, temperature flattens the distribution; above one it sharpens it.",
        CONTRADICTED,
    ),
    (SAMPLING, "temperature", "A low temperature does not flatten the distribution, it sharpens it.", MET),
    (
        SAMPLING,
        "top-p",
        "Top-p keeps the largest set of tokens whose cumulative probability stays under p.",
        NOT_MET,
    ),
    (SAMPLING, "reshape-vs-remove", "Temperature removes tokens from the distribution.", NOT_MET),
    (SAMPLING, "reshape-vs-remove", "Temperature never removes a token and never alters the ranking.", MET),
    (
        SAMPLING,
        "adaptive",
        "The set kept by top-p is large when the model is confident and small when it is unsure.",
        CONTRADICTED,
    ),
    (JSON, "syntax-only", "JSON mode doesn't guarantee your schema, only well-formed JSON.", MET),
    (JSON, "syntax-only", "JSON mode guarantees your schema, not only valid JSON.", CONTRADICTED),
    (
        JSON,
        "syntax-only",
        "It is a misconception that JSON mode guarantees your schema; it only promises that the text parses.",
        MET,
    ),
    (JSON, "not-semantics", "A schema-valid total is always right.", NOT_MET),
    (SEED, "random-stream", "A seed does not fix the stream of pseudo-random numbers.", CONTRADICTED),
    (
        SEED,
        "nothing-else",
        "A seed fixes the logits, the model revision and the tool results as well.",
        CONTRADICTED,
    ),
    (SEED, "nothing-else", "A seed doesn't fix the logits or the model revision.", MET),
    (SEED, "not-quality", "A seed makes the answer better and more correct.", CONTRADICTED),
    (FLASH, "exact", "FlashAttention is an approximation rather than exact attention.", WRONG),
    (FLASH, "exact", "FlashAttention is exact rather than an approximation of attention.", MET),
    (
        FLASH,
        "still-quadratic",
        "With FlashAttention the number of score operations is no longer quadratic.",
        CONTRADICTED,
    ),
    (FLASH, "still-quadratic", "The number of operations doesn't become linear, it stays quadratic.", MET),
    (
        ZERO,
        "floating-point",
        "Floating-point addition is associative, so the order of summation doesn't change the logits.",
        WRONG,
    ),
    (
        ZERO,
        "floating-point",
        "Floating-point addition isn't associative, so another order of summation gives slightly different logits.",
        MET,
    ),
    (PREFIX, "identical-prefix", "Put the variable parts first and the stable parts last.", CONTRADICTED),
    (PREFIX, "not-memory", "Prompt caching returns a stored answer for the same question.", CONTRADICTED),
    (
        PREFIX,
        "not-memory",
        "It isn't a cache of answers: the text is still sent with every request.",
        MET,
    ),
    (PHASES, "decode", "Decode is compute-bound and prefill is limited by memory bandwidth.", CONTRADICTED),
    (
        GROUPS,
        "gqa-shares",
        "GQA does not shrink the cache: each query head keeps its own key and value head.",
        CONTRADICTED,
    ),
    (
        BITS,
        "bandwidth",
        "Fewer bits don't make decode faster, because reading the weights isn't the limit.",
        CONTRADICTED,
    ),
    (BITS, "quality", "Rounding never costs accuracy, not even at 4 bits.", CONTRADICTED),
    (BITS, "quality", "Quantisation isn't free of loss: rounding costs accuracy, more at 4 bits.", MET),
    (
        DRAFT,
        "acceptance",
        "Speculative decoding lowers the quality because the small model writes the text.",
        CONTRADICTED,
    ),
    (
        DRAFT,
        "acceptance",
        "It doesn't lower quality: the rejection rule preserves the target's distribution.",
        MET,
    ),
    (
        DRAFT,
        "acceptance",
        "The rejection rule preserves the target's distribution. "
        "The rejection rule does not preserve the target's distribution.",
        CONTRADICTED,
    ),
    (CACHE, "per-token", "Per token 128 kB of cache are needed in 16 bits.", MET),
    (CACHE, "per-token", "Per token 128 MiB of cache are needed in 16 bits.", NOT_MET),
    (CACHE, "per-token", "Llama 3 8B needs 128 KiB per token. It doesn't need 128 KiB per token.", NOT_MET),
]


@pytest.mark.parametrize(("question", "point", "answer", "states"), CASES)
def test_point_by_point(
    grader: Grader, bank: Bank, question: str, point: str, answer: str, states: tuple[str, ...]
) -> None:
    assert state(grader, bank, question, answer, point) in states


OPENINGS = (
    "It is not true that {}", "It would be wrong to say that {}", "I disagree that {}", "Contrary to the truth, {}",
    "The following is a myth: {}", "{} None of this is true.", "{} The opposite is the case.",
)  # fmt: skip


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_strong_answer_denied_as_a_whole_is_not_accepted(grader: Grader, bank: Bank, opening: str) -> None:
    for name in (LONG, GROUPS, BITS):
        asked, answer = bank.question(name), _strong(bank, name)
        verdict = grader.grade(question=asked.prompt, answer=opening.format(answer), rubric=asked.rubric)
        assert verdict.verdict == "contradictory", (name, verdict.points)
        assert verdict.score <= 0.25, (name, verdict.points)


@pytest.mark.parametrize("opening", ["It is not true that", "Nobody should believe that"])
def test_a_misconception_denied_before_a_strong_answer_takes_nothing_from_it(
    grader: Grader, bank: Bank, opening: str
) -> None:
    for name in (LONG, GROUPS, BITS):
        asked = bank.question(name)
        wrong = asked.rubric.misconceptions[0].statements[0]
        answer = f"{opening} {wrong[:1].lower()}{wrong[1:]} {_strong(bank, name)}"
        verdict = grader.grade(question=asked.prompt, answer=answer, rubric=asked.rubric)
        assert verdict.verdict == "correct", (name, verdict.points)
        assert not verdict.misconceptions


def _strong(bank: Bank, name: str) -> str:
    return next(sample.text for sample in bank.question(name).samples if sample.label == "strong")
