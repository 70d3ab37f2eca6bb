"""The bank's own labelled answers are tests of the grader: every sixth question, so that it stays quick."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.grading import Grader
from interview.questions.loader import load_bank
from interview.questions.management.commands.load_questions import BANK

EVERY = 6
WRONG = ("contradictory", "stuffed", "off_topic")


@pytest.fixture(scope="module")
def verdicts(grader: Grader) -> Counter[tuple[str, str]]:
    """(label, verdict) → how many samples."""
    found: Counter[tuple[str, str]] = Counter()
    for question in load_bank(BANK).questions[::EVERY]:
        for sample in question.samples:
            verdict = grader.grade(
                question=question.prompt, answer=sample.text, rubric=question.rubric
            ).verdict
            found[sample.label, verdict] += 1
    return found


def share(verdicts: Counter[tuple[str, str]], labels: tuple[str, ...], verdict: str) -> float:
    """The share of the samples with these labels that got this verdict."""
    of_label = sum(n for (label, _), n in verdicts.items() if label in labels)
    return sum(verdicts[label, verdict] for label in labels) / of_label


def test_strong_answers_are_accepted_however_they_are_worded(verdicts: Counter[tuple[str, str]]) -> None:
    assert share(verdicts, ("strong", "paraphrase"), "correct") >= 0.9


def test_wrong_empty_and_stuffed_answers_are_not(verdicts: Counter[tuple[str, str]]) -> None:
    assert share(verdicts, WRONG, "correct") <= 0.03
    assert share(verdicts, ("weak",), "correct") == 0


def test_partial_answers_are_partial(verdicts: Counter[tuple[str, str]]) -> None:
    assert share(verdicts, ("partial",), "partial") >= 0.8
