"""docs/corrections.md: every figure on the page is computed here and has to stand in its section."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from jsonschema import ValidationError, validate
from openai.resources.responses.input_tokens import InputTokens
from pydantic import BaseModel, field_validator

from interview.calculators.formulas.encodings import ids_of
from interview.questions.coverage import BANK
from interview.questions.loader import load_bank

PAGE = (Path(__file__).parents[3] / "docs" / "corrections.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, flags=re.M | re.S))
DRINKS = np.array([0.50, 0.20, 0.15, 0.10, 0.05])
STRINGS = ("The quick brown fox jumps", "def quicksort(arr): return arr", "快速排序算法", "🚀🎉✨")
GPT3 = {"parameters": 175e9, "layers": 96, "width": 12288}


def states(section: str, *figures: str) -> None:
    for figure in figures:
        assert re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", SECTIONS[section]), (section, figure)


def tempered(probs: np.ndarray, temperature: float) -> np.ndarray:
    raised = probs ** (1 / temperature)
    return np.asarray(raised / raised.sum())


def test_every_correction_says_what_is_taught_and_what_is_right() -> None:
    assert len(SECTIONS) >= 15
    for title, text in SECTIONS.items():
        assert "**Often taught.**" in text and "**Right.**" in text, title


def test_token_counts() -> None:
    for text in STRINGS:
        counts = [len(ids_of(name, text)) for name in ("cl100k_base", "o200k_base")]
        row = f"| `{text}` | {len(text)} | {counts[0]} | {counts[1]} |"
        assert row in SECTIONS["Token counts quoted from memory"]


def test_a_client_counts_tokens() -> None:
    assert callable(InputTokens.count)


def test_words_and_characters_per_token() -> None:
    states("Three quarters of a word", f"{2000 / 0.75:,.0f}", f"{4000 / 0.75:,.0f}")
    states("Three quarters of a word", f"{30 / len(ids_of('o200k_base', STRINGS[1])):.1f}", f"{6 / 3:.1f}")
    answers = [question.strong_answer for question in load_bank(BANK).questions]
    words = sum(len(answer.split()) for answer in answers)
    tokens = sum(len(ids_of("o200k_base", answer)) for answer in answers)
    assert tokens < words / 0.75


def test_rms_norm_keeps_a_mean() -> None:
    x = np.array([1.0, 2.0, 3.0, 6.0])
    rms = x / math.sqrt((x * x).mean())
    layer = (x - x.mean()) / x.std()
    assert layer.mean() == pytest.approx(0, abs=1e-12)
    states("Layer norm in every block", f"{rms.mean():.3f}")


def block_share(hidden: int, heads_kv: int, ffn: int) -> float:
    attention, feed_forward = 2 * hidden**2 + 2 * hidden * heads_kv, 3 * hidden * ffn
    return 100 * feed_forward / (attention + feed_forward)


def test_share_of_the_feed_forward_layer() -> None:
    llama, smol = block_share(4096, 8 * 128, 14336), block_share(576, 3 * 64, 1536)
    states("Two thirds of a block are feed-forward", f"{llama:.1f}%", f"{smol:.1f}%")


def causal_attention(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """One residual layer of causal attention without positions; x is [n, d], w is [3, d, d]."""
    q, k, v = (x @ part for part in w)
    scores = np.where(np.tril(np.ones((len(x), len(x)))) > 0, q @ k.T / math.sqrt(x.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(x + weights / weights.sum(axis=1, keepdims=True) @ v)


def test_order_leaks_in_with_the_second_causal_layer() -> None:
    rng = np.random.default_rng(0)
    x, first, second = rng.normal(size=(4, 8)), rng.normal(size=(3, 8, 8)), rng.normal(size=(3, 8, 8))
    shuffled = x[[2, 0, 1, 3]]
    one, other = causal_attention(x, first), causal_attention(shuffled, first)
    assert np.allclose(one[-1], other[-1])
    two, another = causal_attention(one, second), causal_attention(other, second)
    assert np.abs(two[-1] - another[-1]).max() > 0.1


def test_active_parameters_of_mixtral() -> None:
    expert, attention, router, ends = (
        3 * 4096 * 14336,
        2 * 4096**2 + 2 * 4096 * 1024,
        8 * 4096,
        2 * 32000 * 4096,
    )
    total = 32 * (8 * expert + attention + router) + ends
    active = 32 * (2 * expert + attention + router) + ends
    states(
        "Mixture of experts uses a quarter of the model",
        f"{active / 1e9:.2f}", f"{total / 1e9:.2f}", f"{100 * active / total:.1f}%",
    )  # fmt: skip


def attention_over_products(tokens: float) -> float:
    """Arithmetic of causal attention relative to that of the matrix products, 2 per parameter and token."""
    attention = 4 * tokens**2 * GPT3["width"] * GPT3["layers"] / 2
    return attention / (2 * GPT3["parameters"] * tokens)


def test_share_of_attention_in_prefill() -> None:
    title = "Long prompts are slow because attention is quadratic"
    level = GPT3["parameters"] / (GPT3["width"] * GPT3["layers"])
    states(
        title, f"{100 * attention_over_products(4096):.1f}%", f"{100 * attention_over_products(131072):.0f}%"
    )
    states(title, f"{level:,.0f}")
    assert attention_over_products(level) == pytest.approx(1)


def test_a_step_without_a_cache() -> None:
    without = 4096 * (1 + attention_over_products(4096))
    assert without > 4096
    states("Without a cache each step costs n² instead of n", "4,096")


def test_cache_of_one_sequence() -> None:
    def size(tokens: int, kv_heads: int) -> int:
        return 2 * 96 * kv_heads * 128 * tokens * 2

    full = size(4096, 96)
    states("19.3 GB for one GPT-3 sequence", f"{full / 1e9:.2f} GB", f"{full / 2**30:.2f} GiB")
    states(
        "19.3 GB for one GPT-3 sequence", f"{size(2048, 96) / 1e9:.2f} GB", f"{size(4096, 8) / 1e9:.2f} GB"
    )


def test_input_can_dominate_the_bill() -> None:
    states("Output tokens dominate the bill", f"{100 * 10000 / (10000 + 5 * 300):.0f}%")
    assert 5 * 2001 > 10000 > 5 * 1999


def test_when_a_cache_write_pays() -> None:
    def calls(write: float, n: int) -> float:
        return write + 0.1 * (n - 1)

    title = "A cache write pays off from the second read"
    states(title, f"{calls(1.25, 2):.2f}", f"{calls(2, 2):.2f}", f"{calls(2, 3):.2f}")
    assert calls(1.25, 2) < 2 < calls(2, 2) and calls(2, 3) < 3


def test_what_a_sparse_step_reads() -> None:
    title = "A sparse model is as fast as its active size"
    states(title, f"{100 * (1 - (1 - 2 / 8) ** 16):.1f}", f"{46.7 * 2:.1f} GB", f"{12.9 * 2:.1f} GB")


def test_when_the_cheap_model_is_dear() -> None:
    def per_success(call: float, success: float, failure: float) -> float:
        return (call + (1 - success) * failure) / success

    cheap, dear = per_success(0.002, 0.8, 0), per_success(0.02, 0.98, 0)
    title = "The cheaper model that fails is the expensive one"
    states(title, f"{cheap:.4f}", f"{dear:.4f}")
    even = (dear - cheap) / (0.2 / 0.8 - 0.02 / 0.98)
    states(title, f"{even:.3f}")
    assert per_success(0.002, 0.8, even) == pytest.approx(per_success(0.02, 0.98, even))


def test_addition_is_not_associative() -> None:
    big, one = np.float32(100_000_000), np.float32(1)
    assert (big + one) - big == 0 and (big - big) + one == 1


def test_temperature_removes_nothing() -> None:
    cold, hot = tempered(DRINKS, 0.5)[-1], tempered(DRINKS, 2)[-1]
    states("Low temperature makes unlikely tokens vanish", f"{cold:.4f}", f"{hot:.3f}")


def test_low_temperature_prefers_the_preferred() -> None:
    states("Low temperature reduces hallucination", f"{tempered(np.array([0.6, 0.4]), 0.5)[0]:.3f}")


def test_the_order_of_temperature_and_top_p() -> None:
    def kept(probs: np.ndarray) -> int:
        return int(np.searchsorted(np.cumsum(probs), 0.9)) + 1

    hot = tempered(DRINKS, 2)
    states("Top-p 0.9 keeps the same tokens in any order", f"{kept(DRINKS)} of the five", f"{kept(hot)} stay")
    states("Top-p 0.9 keeps the same tokens in any order", f"{np.cumsum(hot)[3]:.3f}")


def test_json_mode_is_weaker_than_a_schema() -> None:
    with pytest.raises(ValidationError):
        validate(json.loads("{}"), {"type": "object", "required": ["total"]})
    with pytest.raises(json.JSONDecodeError):
        json.loads('{"total": 4')


class Amount(BaseModel):
    usd: float

    @field_validator("usd")
    @classmethod
    def positive(cls, value: float) -> float:
        if value <= 0:
            raise ValueError("must be positive")
        return value


@pytest.mark.parametrize(("text", "passes"), [("NaN", math.isnan), ("1e999", math.isinf)])
def test_a_check_for_positive_lets_odd_numbers_through(text: str, passes: object) -> None:
    assert callable(passes) and passes(Amount.model_validate_json(f'{{"usd": {text}}}').usd)
    assert 0.1 + 0.2 != 0.3
