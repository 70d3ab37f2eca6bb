"""Reads of the calculators."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import QuerySet

from interview.accounts.models import User
from interview.calculators.formulas.parameters import InputErrors
from interview.calculators.formulas.registry import find, run_query
from interview.calculators.models import SavedConfiguration, ShareLink
from interview.questions.models import Question
from interview.questions.selectors import question_list

QUESTIONS_KEY = "calculators:questions"
QUESTIONS_SECONDS = 300


@dataclass(frozen=True, slots=True)
class CalculatorLink:
    """A calculator with inputs, checked: what another room may store and show."""

    slug: str
    query: str
    title: str
    path: str


def link(link_id: str) -> ShareLink | None:
    """The short link with this id, gone or not."""
    return ShareLink.objects.filter(pk=link_id).first() if "\x00" not in link_id else None


def checked_link(slug: str, query: str) -> CalculatorLink:
    """A calculator and its canonical query. Raises UnknownCalculator, or InputErrors naming every bad input."""
    outcome = run_query(find(slug), query)
    if outcome.errors:
        raise InputErrors(*outcome.errors)
    return CalculatorLink(
        slug, outcome.query, outcome.calculator.title, f"/calculators/{slug}/?{outcome.query}"
    )


def kept(owner: User | None, slug: str = "") -> QuerySet[SavedConfiguration]:
    """What an account keeps, of one calculator or of all."""
    own = SavedConfiguration.objects.filter(owner=owner)
    return own.filter(slug=slug) if slug else own


def kept_get(pk: int, owner: User) -> SavedConfiguration | None:
    """One of them, if it is this owner's."""
    return kept(owner).filter(pk=pk).first()


def questions_about(slug: str) -> list[tuple[str, str]]:
    """(id, title) of the bank's questions that use a calculator; looked up once in five minutes for all of them."""
    found: dict[str, list[tuple[str, str]]] | None = cache.get(QUESTIONS_KEY)
    if found is None:
        found = _by_calculator(question_list().only("id", "title", "calculators", "topic__id"))
        cache.set(QUESTIONS_KEY, found, QUESTIONS_SECONDS)
    return found.get(slug, [])


def _by_calculator(questions: QuerySet[Question]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for question in questions:
        for slug in dict.fromkeys(one["slug"] for one in question.calculators):
            found.setdefault(slug, []).append((question.pk, question.title))
    return found
