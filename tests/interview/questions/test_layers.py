"""The decision aid: requirements lead to the layer an engineer would choose; the address is the decision."""

from __future__ import annotations

from itertools import product

import pytest
from django.test import Client

from interview.questions.layers import LAYERS, QUESTIONS, REASONS, decide


def verdicts(**answers: str) -> dict[str, str]:
    return {layer.name: layer.verdict for layer in decide(answers)}


@pytest.mark.parametrize(
    ("answers", "changed", "left"),
    [
        ({}, {"prompt"}, {"retrieval", "tools", "fine-tuning"}),
        ({"facts": "fast"}, {"retrieval"}, {"fine-tuning"}),
        ({"facts": "fast", "examples": "yes", "latency": "yes"}, {"retrieval"}, {"fine-tuning"}),
        ({"facts": "live"}, {"tools"}, {"retrieval", "fine-tuning"}),
        ({"action": "yes"}, {"tools"}, {"fine-tuning"}),
        ({"format": "yes"}, {"prompt"}, {"fine-tuning"}),
        ({"style": "told"}, {"prompt"}, {"fine-tuning"}),
        ({"style": "shown", "examples": "yes"}, {"fine-tuning"}, {"tools"}),
        ({"style": "shown"}, {"prompt"}, {"fine-tuning"}),
        (
            {"facts": "slow", "action": "yes", "format": "yes"},
            {"retrieval", "tools", "prompt"},
            {"fine-tuning"},
        ),
    ],
)
def test_what_an_engineer_would_choose(answers: dict[str, str], changed: set[str], left: set[str]) -> None:
    found = verdicts(**answers)
    assert {name for name, verdict in found.items() if verdict == "change"} == changed
    assert left <= {name for name, verdict in found.items() if verdict == "leave"}


def test_every_combination_changes_something_and_gives_a_reason() -> None:
    for values in product(*(question.values for question in QUESTIONS)):
        layers = decide(dict(zip((question.name for question in QUESTIONS), values, strict=True)))
        assert sorted(layer.name for layer in layers) == sorted(LAYERS)
        assert layers[0].verdict == "change" and layers[0].for_it
        assert all(layer.for_it for layer in layers if layer.verdict != "leave")


def test_every_reason_belongs_to_an_answer() -> None:
    known = {(question.name, value) for question in QUESTIONS for value in question.values}
    assert set(REASONS) <= known


@pytest.mark.django_db
def test_the_address_is_the_decision(anonymous_client: Client) -> None:
    page = anonymous_client.get("/which-layer/?facts=fast&undo=yes").content.decode()
    assert "/which-layer/?facts=fast&amp;undo=yes" in page
    assert page.index("Retrieval <span") < page.index("Fine-tuning <span")
    assert 'value="fast" checked' in page


@pytest.mark.django_db
def test_an_answer_that_is_none_is_said(anonymous_client: Client) -> None:
    answer = anonymous_client.get("/which-layer/?facts=sometimes&action=<script>")
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "“sometimes” is none of the answers" in page and "<script>" not in page
