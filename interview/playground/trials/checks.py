"""What makes an answer valid in a trial: a rule that code can decide."""

from __future__ import annotations

import json
import re
import unicodedata

RULES = [
    ("none", "nothing: count answers only"),
    ("equals", "it is exactly this text"),
    ("contains", "it contains this text"),
    ("json", "it is JSON"),
    ("number", "its first number is this"),
]
NUMBER = re.compile(r"(?<![0-9])[-−]?[0-9]{1,300}(\.[0-9]{1,300})?")
NEEDS_TEXT = ("equals", "contains", "number")


def same(text: str) -> str:
    """An answer as it is compared: white space at the ends and its amount don't matter."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def valid(rule: str, wanted: str, answer: str, finish: str) -> bool | None:
    """Whether an answer passes; None where nothing is asked. A truncated answer is never valid JSON."""
    if rule == "none":
        return None
    if rule == "json":
        return finish != "length" and _is_json(answer)
    if rule == "equals":
        return same(answer) == same(wanted)
    if rule == "number":
        return first_number(answer) == first_number(wanted)
    return same(wanted).casefold() in same(answer).casefold()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def first_number(text: str) -> float | None:
    """The first run of digits, with its sign and decimals."""
    found = NUMBER.search(text)
    return float(found.group().replace("−", "-")) if found else None
