"""What a topic page leads to: each calculator and each playground page of its questions once, only those that exist."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

from interview.calculators.formulas.registry import CALCULATORS
from interview.questions.models import Question


@dataclass(frozen=True)
class Link:
    """An address with its words."""

    url: str
    words: str


def calculator_links(questions: Iterable[Question]) -> list[Link]:
    """Links to calculators with the inputs of the questions, each address once."""
    found: dict[str, Link] = {}
    for question in questions:
        for link in question.calculators:
            if link["slug"] in CALCULATORS:
                url = reverse("calculators:show", args=[link["slug"]])
                url = f"{url}?{link['query']}" if link["query"] else url
                found.setdefault(url, Link(url, link["label"]))
    return list(found.values())


def playground_links(questions: Iterable[Question]) -> list[Link]:
    """Links to playground pages; one that isn't built yet is left out."""
    found: dict[str, Link] = {}
    for question in questions:
        for link in question.playground:
            url = playground_url(link["page"])
            if url:
                found.setdefault(url, Link(url, link["label"]))
    return list(found.values())


def playground_url(page: str) -> str:
    """The address of a playground page, or nothing while it doesn't exist."""
    name = "documents:document_list" if page == "documents" else f"playground:{page}"
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
