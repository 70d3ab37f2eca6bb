"""Questions to train an answerability adapter on: SQuAD-shaped files, split by article, packed by passage."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import InvalidRequest
from engine.negatives import strangers, swapped


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a passage: the accepted answers with where each begins; none when unanswerable."""

    id: str
    question: str
    answers: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A passage of an article and what is asked about it."""

    article: str
    text: str
    asked: tuple[Asked, ...]


def read_squad(path: Path) -> list[Paragraph]:
    """The paragraphs of a SQuAD 2.0 file; raises InvalidRequest when it is not one."""
    try:
        articles = json.loads(path.read_text())["data"]
        return [_paragraph(article["title"], part) for article in articles for part in article["paragraphs"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRequest("invalid_data", f"{path} is not a SQuAD 2.0 file: {error!r}", "data") from error


def _paragraph(title: str, part: Mapping[str, Any]) -> Paragraph:
    asked = tuple(
        Asked(
            str(item["id"]),
            item["question"],
            tuple((a["text"], a["answer_start"]) for a in item["answers"] if not item.get("is_impossible")),
        )
        for item in part["qas"]
    )
    return Paragraph(title, part["context"], asked)


def split(
    paragraphs: Sequence[Paragraph], held: Sequence[str], every: int = 10
) -> tuple[list[Paragraph], list[Paragraph]]:
    """What to train on and what to choose by: every tenth passage of the articles that are not held out."""
    titles = {p.article for p in paragraphs}
    if missing := sorted(set(held) - titles):
        raise InvalidRequest(
            "unknown_article", f"no article {missing[0]!r}; there are {sorted(titles)}", "hold"
        )
    used = [p for p in paragraphs if p.article not in held]
    return [p for i, p in enumerate(used) if i % every], used[::every]


def packs(
    paragraphs: Sequence[Paragraph],
    rng: random.Random,
    most: int = 6,
    strange: float = 0.12,
    swap: float = 0.0,
) -> Iterator[Paragraph]:
    """Passages in random order with at most `most` questions each.

    A share `strange` of further questions comes from other passages of the article, a share `swap` is answerable ones
    with another name or number: both are unanswerable here.
    """
    found = []
    for paragraph in paragraphs:
        made = [*strangers(paragraph, paragraphs, rng, strange), *swapped(paragraph, paragraphs, rng, swap)]
        asked = [*paragraph.asked, *made]
        rng.shuffle(asked)
        parts = max(1, -(-len(asked) // most))
        found += [replace(paragraph, asked=tuple(asked[i::parts])) for i in range(parts)]
    rng.shuffle(found)
    yield from found
