"""Topic pages: an order that builds up, a drawing and formulas each, and only links that lead somewhere."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse

from interview.questions.drawings import DRAWINGS
from interview.questions.drawings.product import wilson
from interview.questions.loader import Bank
from interview.questions.topic_links import playground_url

SIZE = re.compile(r'(?:[xy][12]?|width|height|cx|cy|r)="(-?[\d.]+)"')


def test_every_topic_has_a_drawing_and_a_formula(parsed_bank: Bank) -> None:
    assert {topic.id for topic in parsed_bank.topics} == set(DRAWINGS)
    assert [topic.id for topic in parsed_bank.topics if "$" not in topic.primer] == []


# What the primers say in figures, computed here a second time.
FIGURES = {
    "architectures": [f"from {1000 - 1}", f"about {0.15 * 1000:.0f}"],
    "attention": [f"leaves {1000 * 1001 // 2:,}"],
    "blocks": [f"{32 * 12 * 4096**2 / 1e9:.1f} billion"],
    "choosing-a-layer": [f"{2_500 * 2 / 1e6:.3f} USD a call", f"{3_000 / (2_500 * 2 / 1e6):,.0f} calls"],
    "customers": [f"make {50_000 * 0.01 * 0.5 * 4:,.0f} USD"],
    "embeddings": [f"{49_152 * 576 / 1e6:.1f} of 134.5 million", f"{49_152 * 576 / 134_515_008:.0%}"],
    "hallucination": [f"a rate of {1 - 0.05 ** (1 / 300):.0%}"],
    "kv-cache": [f"{2 * 80 * 8 * 128 * 2 // 1024} KiB"],
    "mixture-of-experts": [f"touch {1 - (1 - 2 / 8) ** 16:.0%}"],
    "next-token": [f"has {0.95**100:.1%}"],
    "positions": [f"{2 * math.pi * 10_000 ** (126 / 128) // 1000:.0f},000 tokens"],
    "production": [f"take {16 * 0.9 * 0.1 / 0.02**2:,.0f} requests"],
    "prompt-injection": [f"succeed with {1 - 0.99**100:.0%}"],
    "reproducibility": [f"{100 * math.sqrt(0.9 * 0.1 / 20):.1f} points"],
    "serving": [f"{70 * 2} GB", f"{140 / (4 * 3.35):.1f} ms", f"{4 * 3350 / 140:.0f} tokens a second"],
    "structured-output": [f"{0.04**3:.4%}"],
    "training": ["nearly 1,900"],  # 15 trillion tokens, 8.03 billion parameters
}


def test_a_primer_says_what_is_listened_for_and_its_figures_are_right(parsed_bank: Bank) -> None:
    primers = {topic.id: topic.primer for topic in parsed_bank.topics}
    for topic, primer in primers.items():
        last = primer.split("\n\n")[-1]
        assert last.startswith("**What an interviewer listens for.** ") and len(last.split()) > 40, topic
    for topic, figures in FIGURES.items():
        for figure in figures:
            assert figure in primers[topic], (topic, figure)
    assert 1_850 < 15e12 / 8.03e9 < 1_900


@pytest.mark.parametrize("topic", DRAWINGS)
def test_a_drawing_is_sound_and_speaks(topic: str) -> None:
    drawing = DRAWINGS[topic]()
    svg = str(drawing.svg())
    assert ElementTree.fromstring(svg).get("aria-label") == drawing.caption
    assert len(drawing.caption) > 40
    assert "style=" not in svg
    across = [float(x) for x in re.findall(r' (?:x|cx|x2)="(-?[\d.]+)"', svg)]
    assert all(-1 <= x <= 561 for x in across)
    assert all(float(y) <= drawing.height for y in re.findall(r' (?:y|cy|y2)="(-?[\d.]+)"', svg))
    assert all(len(row) == len(drawing.head) for row in drawing.rows)


def test_the_numbers_in_drawings_are_right() -> None:
    sampled = DRAWINGS["sampling"]().rows
    assert [sum(float(share) for share in row[1:]) for row in sampled] == pytest.approx([1, 1, 1], abs=0.003)
    assert sampled[1][1] == "0.496"  # 7.389 / 14.887: e² / (e² + e^1.5 + e^0.5 + 1 + e^-1)
    assert DRAWINGS["billing"]().rows[-1] == ("6", "3,000", "2,500", "10,500")
    assert DRAWINGS["reproducibility"]().rows[0][1] == "0.6000000000000001"
    assert wilson(164, 200) == pytest.approx((0.7609, 0.8671), abs=5e-4)
    small, large = DRAWINGS["model-choice"]().rows
    assert (small[-1], large[-1]) == ("$0.0445", "$0.0261")


@pytest.mark.django_db
def test_the_pages_build_up(anonymous_client: Client, bank: Bank, django_assert_max_num_queries: Any) -> None:
    way = anonymous_client.get(reverse("questions:trace")).content.decode()
    places = [way.index(f'href="{reverse("questions:topic", args=[topic.id])}"') for topic in bank.topics]
    assert places == sorted(places)
    for topic in bank.topics:
        with django_assert_max_num_queries(3):
            page = anonymous_client.get(reverse("questions:topic", args=[topic.id])).content.decode()
        assert "<math" in page and '<svg class="chart drawing"' in page
        for question in bank.of_topic(topic.id):
            assert reverse("practice:question", args=[question.id]) in page
            assert question.strong_answer[:60] not in page
    first, last = bank.topics[0], bank.topics[-1]
    assert (
        'rel="prev"' not in anonymous_client.get(reverse("questions:topic", args=[first.id])).content.decode()
    )
    assert (
        'rel="next"' not in anonymous_client.get(reverse("questions:topic", args=[last.id])).content.decode()
    )


@pytest.mark.django_db
def test_every_link_of_a_topic_leads_somewhere(anonymous_client: Client, bank: Bank) -> None:
    seen = set()
    for topic in bank.topics:
        page = anonymous_client.get(reverse("questions:topic", args=[topic.id])).content.decode()
        seen |= set(re.findall(r'href="(/(?:calculators|playground|documents)/[^"]*)"', page))
    assert len(seen) > 20
    for link in sorted(seen):
        assert anonymous_client.get(link.replace("&amp;", "&")).status_code == 200, link
    assert playground_url("nowhere") == ""
