"""Question sets for the evaluation: JSON (a list, or SQuAD's own layout) or CSV, checked line by line.

An item: `question`; `answers` (none: the right thing is to abstain); `context` where the set brings its own passage.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from interview.plain_text import is_blank, storable

MOST_QUESTIONS = 200
MOST_BYTES = 2_000_000
LONGEST = {"question": 2_000, "context": 20_000, "answer": 1_000}
SAMPLE = Path(__file__).parent / "samples" / "squad2_sample.json"
Item = dict[str, Any]


class SetRefused(ValueError):
    """The set can't be used; the message says where and what is allowed."""


def sample() -> list[Item]:
    """The 100 questions of SQuAD 2.0 that come with the site (CC BY-SA 4.0, half of them without an answer)."""
    return read(SAMPLE.read_bytes(), SAMPLE.name)


def read(raw: bytes, name: str) -> list[Item]:
    """The questions of a file. Raises SetRefused."""
    if len(raw) > MOST_BYTES:
        raise SetRefused(f"The file has {len(raw):,} bytes; {MOST_BYTES:,} is the limit.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SetRefused("The file is not UTF-8. Save it as UTF-8 and send it again.") from error
    rows = _json(text) if text.lstrip()[:1] in ("[", "{") else _csv(text)
    if not rows:
        raise SetRefused("The file holds no question.")
    if len(rows) > MOST_QUESTIONS:
        raise SetRefused(f"The file holds {len(rows):,} questions; {MOST_QUESTIONS} is the limit.")
    items = [_checked(row, number) for number, row in enumerate(rows, 1)]
    if 0 < sum(bool(item["context"]) for item in items) < len(items):
        raise SetRefused("Some questions bring a context and some don't. Give it to all, or to none.")
    return items


def _json(text: str) -> list[Any]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise SetRefused(f"The file is not JSON: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise SetRefused(
            "The file is not JSON that can be read: it nests too deeply or holds a huge number."
        ) from error
    if isinstance(data, dict) and isinstance(data.get("questions"), list):
        return list(data["questions"])
    if isinstance(data, dict) and isinstance(data.get("data"), list):
        return _squad(data["data"])
    if isinstance(data, list):
        return data
    raise SetRefused("JSON must be a list of questions, or SQuAD's layout with `data`.")


def _squad(articles: list[Any]) -> list[Any]:
    try:
        return [
            {
                "question": qa["question"],
                "context": paragraph["context"],
                "answers": [] if qa.get("is_impossible") else qa["answers"],
            }
            for article in articles
            for paragraph in article["paragraphs"]
            for qa in paragraph["qas"]
        ]
    except KeyError as error:
        raise SetRefused(f"This is not SQuAD's layout: {error} is missing.") from error
    except (TypeError, AttributeError) as error:
        raise SetRefused("This is not SQuAD's layout: a list or an object is of another type.") from error


def _csv(text: str) -> list[Any]:
    """Columns `question`, `answer` (several are parted by |; empty: there is none), `context` where wanted."""
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        if "question" not in (rows.fieldnames or []):
            raise SetRefused("CSV needs the columns question and answer (and context where wanted).")
        return [
            {
                "question": row.get("question"),
                "context": row.get("context"),
                "answers": [part for part in (row.get("answer") or "").split("|") if part.strip()],
            }
            for row in rows
        ]
    except csv.Error as error:
        hint = "Is each quotation mark closed, and doubled within a cell?"
        raise SetRefused(
            f"The row that begins on line {rows.line_num + 1:,} can't be read: {error}. {hint}"
        ) from error


def _checked(row: Any, number: int) -> Item:
    if not isinstance(row, dict):
        raise SetRefused(f"Question {number} is not an object.")
    found = row.get("answers") or []
    if not isinstance(found, list):
        raise SetRefused(f"Question {number}: answers must be a list.")
    texts = [answer.get("text") if isinstance(answer, dict) else answer for answer in found]
    if row.get("answerable") is False:
        texts = []
    question = _text(row.get("question"), "question", number)
    item: Item = {
        "question": question,
        "context": _text(row["context"], "context", number) if row.get("context") else "",
        "answers": list(dict.fromkeys(_text(text, "answer", number) for text in texts)),
    }
    if is_blank(question):
        raise SetRefused(f"Question {number} is empty: it holds nothing that can be seen.")
    return item


def _text(value: Any, what: str, number: int) -> str:
    if not isinstance(value, str):
        raise SetRefused(f"Question {number}: {what} must be text.")
    text: str = storable(value).strip()
    if len(text) > LONGEST[what]:
        raise SetRefused(f"Question {number}: {what} has more than {LONGEST[what]:,} characters.")
    return text
