"""Topic pages: an order that builds up, a drawing and formulas each, and only links that lead somewhere."""

from __future__ import annotations

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
