"""The table of owned models is complete: a new model with an owner can't be forgotten by export or deletion."""

from __future__ import annotations

from interview.accounts.owned import dependents, relations
from tests.interview.accounts.owned_rows import DEPENDENT, OWNED

HOW_TO = "Add a maker for it to tests/interview/accounts/owned_rows.py."


def test_every_relation_to_a_user_is_in_the_table() -> None:
    found = {f"{relation.model._meta.label_lower}.{relation.field}" for relation in relations()}
    assert found == set(OWNED), HOW_TO


def test_every_model_that_goes_with_an_owned_row_is_in_the_table() -> None:
    assert {model._meta.label_lower for model in dependents()} == set(DEPENDENT), HOW_TO
