"""Cases from people who teach with such systems: which test holds each, and that the page stays whole."""

from __future__ import annotations

import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.urls import reverse

from interview.teaching.models import Answer, AssignedQuestion, Assignment
from interview.teaching.services.grading import dispute_open, dispute_resolve, everybody_set, override_points
from tests.interview.teaching.conftest import World, client_of, handed_in

pytestmark = pytest.mark.django_db
HERE = Path(__file__).parent
CASES = {
    "due 29 Mar 23:59, set before the clocks change": "test_due_at_2359_set_before_the_change_is_2359_after_it",
    "an extension of seven days across the change": "test_an_extension_of_seven_days_across_the_change_keeps_the_hour",
    "due date moved later": "test_moving_the_due_date_makes_earlier_penalties_vanish",
    "late window with 0 % credit": "test_the_late_window_with_no_credit_takes_and_assesses",
    "graded on time, practised again": "test_the_graded_attempt_counts_however_much_is_practised_after",
    "the automatic grader run again": "test_the_automatic_grader_run_again_leaves_rulings_alone",
    "a name that is a formula, a negative number": "test_no_cell_is_a_formula_and_a_number_stays_one",
    "Zoë, and 1.33 that is no date": "test_a_file_opens_intact_in_every_locale",
    "an answer with a script": "test_an_answer_is_inert_in_the_teachers_view",
    "an unclosed div in feedback": "test_an_unclosed_div_in_feedback_leaves_every_page_whole",
    "a double click with two attempts left": "test_a_double_click_on_hand_in_with_two_attempts_left_uses_one",
    "points changed": "test_changed_points_show_everywhere",
}


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_its_test(case: str) -> None:
    """The table can't name a test that is gone."""
    found = [path for path in HERE.glob("test_*.py") if f"def {CASES[case]}(" in path.read_text()]
    assert len(found) == 1


class Tree(HTMLParser):
    """Every element is closed where it was opened."""

    VOID = frozenset(
        ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
    )
    OPTIONAL = frozenset({"li", "p", "option", "tr", "td", "th", "dt", "dd", "tbody", "thead"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """Closed at once, as in SVG."""

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] != tag and self.open[-1] in self.OPTIONAL:
            self.open.pop()
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.faults.append(f"</{tag}> at line {self.getpos()[0]} with {self.open[-3:]} open")


def whole(page: str) -> list[str]:
    tree = Tree()
    tree.feed(page)
    return tree.faults + tree.open


@pytest.mark.parametrize("words", ["<div>", "</div></section></main>", "<textarea>", "<!--", "<b title='"])
def test_an_unclosed_div_in_feedback_leaves_every_page_whole(world: World, words: str) -> None:
    """Everywhere a person's words are shown to somebody else: reason, dispute, reply, why everybody, texts of the question."""
    Assignment.objects.update(feedback="full", instructions=words)
    AssignedQuestion.objects.update(strong=words, prompt=f"Why? {words}", title=f"Why {words}")
    submission = handed_in(world.assignment, world.learner)
    answer = Answer.objects.select_related("item__rubric", "submission").get(
        submission=submission, item__position=1
    )
    override_points(answer=answer, author=world.owner, points=Decimal(1), reason=words)
    dispute_resolve(dispute=dispute_open(answer=answer, comment=words), reply=words)
    everybody_set(item=answer.item, on=True, why=words)
    here = [world.classroom.pk, world.assignment.pk]
    pages = [
        (world.learner, reverse("teaching:result", args=[submission.pk])),
        (world.learner, reverse("teaching:receipt", args=[submission.pk])),
        (world.learner, reverse("teaching:assignment", args=here)),
        (world.owner, reverse("teaching:answer", args=[world.classroom.pk, answer.pk])),
        (world.owner, reverse("teaching:review_queue", args=here) + "?all=1"),
        (world.owner, reverse("teaching:gradebook", args=here)),
        (world.owner, reverse("teaching:question_points", args=here)),
        (world.owner, reverse("teaching:items", args=here)),
        (world.owner, reverse("teaching:preview", args=[*here, 1])),
    ]
    for user, address in pages:
        answer_page = client_of(user).get(address)
        page = answer_page.content.decode()
        assert answer_page.status_code == 200 and whole(page) == [], address
        assert len(re.findall(r"</main>", page)) == 1, address
