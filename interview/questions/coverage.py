"""The coverage table: which question teaches which idea (`python -m interview.questions.coverage`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from interview.questions.loader import LEVELS, Bank, load_bank

BANK = Path(__file__).parent / "bank"
DOCUMENT = Path(__file__).parents[2] / "docs" / "question-coverage.md"
HEAD = """# Question coverage

Written by `python -m interview.questions.coverage` from the files of `interview/questions/bank/`.
A test checks that it is current.
"""


def load_ideas(bank: Path = BANK) -> dict[str, str]:
    """Idea id → sentence, in the order in which they are taught."""
    return dict(yaml.safe_load((bank / "ideas.yaml").read_text(encoding="utf-8")))


def questions_by_idea(bank: Bank, ideas: Mapping[str, str]) -> dict[str, list[str]]:
    """Idea id → ids of its questions; raises KeyError for an idea that a question names and nobody listed."""
    found: dict[str, list[str]] = {idea: [] for idea in ideas}
    for question in bank.questions:
        for idea in question.ideas:
            if idea not in found:
                raise KeyError(f"{question.file}: idea {idea!r} isn't in ideas.yaml")
            found[idea].append(question.id)
    return found


def coverage_markdown(bank: Bank, ideas: Mapping[str, str]) -> str:
    """The coverage document: questions by topic and level, then ideas with their questions."""
    return "\n".join([HEAD, *_topics(bank), "", *_ideas(bank, ideas), ""])


def _topics(bank: Bank) -> list[str]:
    rows = [f"| topic | {' | '.join(LEVELS)} | all |", f"|---|{'---:|' * (len(LEVELS) + 1)}"]
    for topic in bank.topics:
        levels = [question.level for question in bank.of_topic(topic.id)]
        counts = [str(levels.count(level) or "") for level in LEVELS]
        rows.append(f"| {topic.title} | {' | '.join(counts)} | {len(levels)} |")
    levels = [question.level for question in bank.questions]
    totals = " | ".join(str(levels.count(level)) for level in LEVELS)
    rows.append(f"| **all** | {totals} | {len(levels)} |")
    return [f"{len(bank.questions)} questions in {len(bank.topics)} topics.", "", *rows]


def _ideas(bank: Bank, ideas: Mapping[str, str]) -> list[str]:
    rows = ["| idea | questions |", "|---|---|"]
    for idea, questions in questions_by_idea(bank, ideas).items():
        rows.append(f"| {ideas[idea]} | {', '.join(f'`{question}`' for question in questions)} |")
    return rows


def main() -> int:
    """Write the document."""
    DOCUMENT.write_text(coverage_markdown(load_bank(BANK), load_ideas()), encoding="utf-8")
    print(f"wrote {DOCUMENT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
