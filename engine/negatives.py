"""Questions that a passage doesn't answer, made from ones that some passage does."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.train_data import Asked, Paragraph

NAMES = re.compile(r"(?<=[a-z,] )[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*")
NUMBERS = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
Asks = Sequence["Asked"]


def strangers(
    paragraph: Paragraph, paragraphs: Sequence[Paragraph], rng: random.Random, share: float
) -> list[Asked]:
    """As a share of its own, questions that another passage of the article answers and this one doesn't."""
    others = [p for p in paragraphs if p.article == paragraph.article and p.text != paragraph.text]
    count = sum(rng.random() < share for _ in paragraph.asked)
    chosen = [rng.choice(rng.choice(others).asked) for _ in range(count if others else 0)]
    text = paragraph.text.lower()
    # What is stated here as well would be answerable after all.
    absent = [q for q in chosen if q.answers and not any(a.lower() in text for a, _ in q.answers)]
    return [replace(q, answers=()) for q in absent]


def swapped(
    paragraph: Paragraph, paragraphs: Sequence[Paragraph], rng: random.Random, share: float
) -> list[Asked]:
    """A share of the answerable questions once more, each with one of its names or numbers put for another.

    The other one comes from the passage itself or from its article, so that only reading tells the two apart.
    """
    near = [p.text for p in paragraphs if p.article == paragraph.article]
    made: list[Asked] = []
    for asked in paragraph.asked:
        if asked.answers and rng.random() < share:
            made += _swap(asked, (paragraph.text, rng.choice(near)), rng)
    return made


def _swap(asked: Asked, texts: Sequence[str], rng: random.Random) -> Iterator[Asked]:
    kinds = [(kind, m) for kind in (NAMES, NUMBERS) for m in kind.finditer(asked.question)]
    if not kinds:
        return
    kind, old = rng.choice(kinds)
    known = {m.group() for text in texts for m in kind.finditer(text)}
    apart = sorted(new for new in known if not _alike(new, old.group()))
    if apart:
        question = asked.question[: old.start()] + rng.choice(apart) + asked.question[old.end() :]
        yield replace(asked, question=question, answers=())


def _alike(new: str, old: str) -> bool:
    """Whether two names share a word, as "Davies" and "Donald Davies" do."""
    return bool(set(new.lower().split()) & set(old.lower().split()))
