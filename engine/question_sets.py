"""Question sets to evaluate on: SQuAD 2.0 files, lists of questions with their passages, or a sample file of those."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import InvalidRequest
from engine.types import Passage


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, the passages it is put to, the accepted answers (none when unanswerable) and its article."""

    question: str
    passages: tuple[Passage, ...]
    answers: tuple[str, ...]
    article: str

    @property
    def answerable(self) -> bool:
        """Whether the passages state the answer."""
        return bool(self.answers)


def read_questions(path: Path) -> list[Labelled]:
    """The questions of a file. Raises `InvalidRequest` naming what is wrong with it."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InvalidRequest("invalid_data", f"{path} can't be read: {error}", "data") from error
    if isinstance(data, Mapping) and isinstance(data.get("data"), list):
        rows = [row for article in data["data"] for row in _squad(article)]
    else:
        listed = data.get("questions") if isinstance(data, Mapping) else data
        if not isinstance(listed, list):
            raise InvalidRequest(
                "invalid_data", f"{path}: a SQuAD file or a list of questions is wanted", "data"
            )
        rows = [_row(item, n) for n, item in enumerate(listed, 1)]
    if not rows:
        raise InvalidRequest("invalid_data", f"{path} holds no question", "data")
    return rows


def _squad(article: Any) -> list[Labelled]:
    try:
        return [
            Labelled(
                item["question"],
                (Passage(f"{article['title']}#{n}", part["context"]),),
                () if item.get("is_impossible") else tuple(a["text"] for a in item["answers"]),
                article["title"],
            )
            for n, part in enumerate(article["paragraphs"])
            for item in part["qas"]
        ]
    except (KeyError, TypeError) as error:
        raise InvalidRequest(
            "invalid_data", f"an article is not in SQuAD layout: {error!r}", "data"
        ) from error


def _row(item: Any, n: int) -> Labelled:
    if not isinstance(item, Mapping) or not isinstance(item.get("question"), str):
        raise InvalidRequest("invalid_data", f"question {n} is no object with a question", "data")
    passages = _passages(item, n)
    given = item.get("answers") or item.get("answer") or []
    texts = [given] if isinstance(given, str) else given
    answers = [a if isinstance(a, str) else a.get("text", "") for a in texts if isinstance(a, (str, Mapping))]
    answerable = item.get("answerable", not item.get("is_impossible", not answers))
    return Labelled(
        item["question"],
        passages,
        tuple(a for a in answers if a) if answerable else (),
        str(item.get("title") or item.get("article") or ""),
    )


def _passages(item: Mapping[str, Any], n: int) -> tuple[Passage, ...]:
    given = item.get("passages", item.get("context"))
    listed = [given] if isinstance(given, (str, Mapping)) else given
    if not isinstance(listed, list) or not listed:
        raise InvalidRequest("invalid_data", f"question {n} has neither passages nor context", "data")
    found = []
    for index, part in enumerate(listed, 1):
        text = part.get("text") if isinstance(part, Mapping) else part
        if not isinstance(text, str):
            raise InvalidRequest("invalid_data", f"question {n}, passage {index}: text is wanted", "data")
        name = part.get("id") if isinstance(part, Mapping) else None
        found.append(Passage(str(name or item.get("passage_id") or f"p{index}"), text))
    return tuple(found)
