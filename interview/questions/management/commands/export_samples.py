"""Write the bank's labelled sample answers as JSON lines, for `python -m engine evaluate grading`."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand

from interview.questions.loader import load_bank
from interview.questions.management.commands.load_questions import BANK


class Command(BaseCommand):
    help = "Writes the bank's labelled sample answers to standard output, one JSON object a line."

    def handle(self, *args: Any, **options: Any) -> None:
        for question in load_bank(BANK).questions:
            for sample in question.samples:
                line = {
                    "id": question.id,
                    "question": question.prompt,
                    "rubric": question.rubric.to_dict(),
                    "label": sample.label,
                    "answer": sample.text,
                }
                self.stdout.write(json.dumps(line, ensure_ascii=False))
