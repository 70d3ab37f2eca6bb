"""Every calculator link of the bank opens with the numbers it promises, and every computed number is the site's own."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from interview.calculators.formulas.registry import CALCULATORS, run
from interview.questions.loader import Bank, load_bank
from interview.questions.management.commands.load_questions import BANK

BANK_READ: Bank = load_bank(BANK)
LINKS = [
    (question.id, link.slug, link.query) for question in BANK_READ.questions for link in question.calculators
]


@pytest.mark.parametrize(
    ("question", "slug", "query"), LINKS, ids=[f"{q}-{s}-{n}" for n, (q, s, _) in enumerate(LINKS)]
)
def test_a_calculator_link_is_accepted(question: str, slug: str, query: str) -> None:
    outcome = run(CALCULATORS[slug], QueryDict(query))
    assert not outcome.errors, [f"{error.name}: {error.message}" for error in outcome.errors]
