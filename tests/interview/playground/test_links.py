"""What questions of the bank point to in the playground opens, and so does what its index lists."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from interview.playground.lessons import LESSONS
from interview.questions.loader import load_bank
from interview.questions.management.commands.load_questions import BANK

pytestmark = pytest.mark.django_db
LINKED = {link.page for question in load_bank(BANK).questions for link in question.playground}
PAGES = sorted(LINKED & {*(lesson.page for lesson in LESSONS), "documents"})


@pytest.mark.parametrize("page", PAGES)
def test_a_linked_page_opens(anonymous_client: Client, page: str) -> None:
    response = anonymous_client.get(f"/playground/{page}/", follow=True)
    assert response.status_code == 200


def test_the_index_lists_every_lesson_and_each_opens(anonymous_client: Client) -> None:
    index = anonymous_client.get(reverse("playground:playground")).content.decode()
    for lesson in LESSONS:
        assert f'href="{lesson.url}"' in index
        assert anonymous_client.get(lesson.url).status_code == 200
