"""A strong answer pasted word for word: full, and marked, so that practice gives it no streak."""

from __future__ import annotations

import pytest

from engine.grading import Grader
from interview.questions.loader import load_bank
from interview.questions.management.commands.load_questions import BANK

QUESTIONS = [
    "why-is-long-context-expensive",
    "temperature-vs-top-p",
]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_strong_answer_word_for_word_is_full_and_marked(grader: Grader, name: str) -> None:
    question = load_bank(BANK).question(name)
    strong = question.strong_answer
    found = grader.grade(question=question.prompt, answer=strong, rubric=question.rubric, reference=strong)
    assert "identical_to_reference" in found.flags
    assert found.verdict == "correct"
    other = grader.grade(
        question=question.prompt, answer=f"{strong} So.", rubric=question.rubric, reference=strong
    )
    assert "identical_to_reference" not in other.flags
