"""Reads of the calculators."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.db.models import QuerySet

from interview.accounts.models import User
from interview.calculators.formulas.parameters import InputErrors
from interview.calculators.formulas.registry import find, run_query
from interview.calculators.models import SavedConfiguration, ShareLink
from interview.questions.models import Question
from interview.questions.selectors import question_list

QUESTIONS_SECONDS = 300
Questions = tuple[tuple[str, str], ...]
# In the process: asking the broker for every page took longer than drawing the list.
_questions: tuple[float, dict[str, Questions]] = (0.0, {})


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


def questions_about(slug: str) -> Questions:
    """(id, title) of the bank's questions that use a calculator; looked up once in five minutes for all of them."""
    global _questions
    until, found = _questions
    if until < time.monotonic():
        found = _by_calculator(question_list().only("id", "title", "calculators", "topic__id"))
        _questions = (time.monotonic() + QUESTIONS_SECONDS, found)
    return found.get(slug, ())


def forget_questions() -> None:
    """Look the questions up anew the next time."""
    global _questions
    _questions = (0.0, {})


def _by_calculator(questions: QuerySet[Question]) -> dict[str, Questions]:
    found: dict[str, Questions] = {}
    for question in questions:
        for slug in dict.fromkeys(one["slug"] for one in question.calculators):
            found[slug] = (*found.get(slug, ()), (question.pk, question.title))
    return found
