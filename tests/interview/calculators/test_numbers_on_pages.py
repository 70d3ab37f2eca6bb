"""Whatever number the JSON has, a reader of the page can see."""

from __future__ import annotations

import html
import re

import pytest
from django.http import QueryDict
from django.test import Client

from interview.calculators.formulas.registry import CALCULATORS, run
from interview.calculators.formulas.units import counted, decimal_bytes, number_text, prefixed, seconds_text

pytestmark = pytest.mark.django_db
ASKED = {
    "kv-cache": "mode=vllm&memory_gib=20&tensor_parallel=2",
    "latency": "slow_token_ms=50",
    "tokens": "text=hi there&images=2",
    "cost": "cache_read_tokens=100",
}


def forms(name: str, value: float) -> set[str]:
    """How a page may write this number: in full, rounded, as a percentage, or with a prefix."""
    real = float(value)
    said = {number_text(value), number_text(int(value) if value == int(value) else real)}
    said |= {number_text(real, digits) for digits in (4, 5)} | {number_text(round(real, n)) for n in (2, 3)}
    said |= {number_text(100 * real, digits) for digits in (3, 4)} | {number_text(round(100 * real, 2))}
    said |= {decimal_bytes(int(value))[0]} if "bytes" in name else set()
    said |= {seconds_text(real)[0]} if "seconds" in name else set()
    return said | {prefixed(value)[0], counted(int(value)).split()[0]}


@pytest.mark.parametrize("slug", CALCULATORS)
def test_every_number_of_the_json_stands_on_the_page(client: Client, slug: str) -> None:
    query = ASKED.get(slug, "")
    outcome = run(CALCULATORS[slug], QueryDict(query))
    assert outcome.result
    page = client.get(f"/calculators/{slug}/?{query}").content.decode()
    text = html.unescape(re.sub(r"<[^>]+>", " ", page))
    numbers = {n: v for n, v in outcome.result.results.items() if not isinstance(v, str) and "[" not in n}
    assert [n for n, v in numbers.items() if not any(form in text for form in forms(n, v))] == []


def test_a_page_says_what_a_pool_holds(client: Client) -> None:
    query = "model=meta-llama/Meta-Llama-3.1-8B&tokens=20000&mode=vllm&blocks=1952"
    page = client.get(f"/calculators/kv-cache/?{query}").content.decode()
    assert "GPU KV cache size" in page and "31\u202f232" in page and "1.562" in page
