"""Text as people send it, made storable without losing anything they could see."""

from __future__ import annotations

import math
import re
from typing import Any

UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
INVISIBLE = re.compile(r"[\s\u200b-\u200f\u2028-\u202e\u2060-\u2064\u00ad\ufeff\u115f\u1160\u3164]+")


def storable(text: str) -> str:
    """Replace what no database holds (NUL, lone surrogates) by U+FFFD and unify line ends."""
    return UNSTORABLE.sub("\ufffd", text.replace("\r\n", "\n"))


def storable_json(value: Any) -> Any:
    """The same for every string inside a JSON value, keys too; numbers as every database gives them back."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return _storable_number(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(part) for part in value]
    return value


def _storable_number(value: float) -> float | int | None:
    """JSON has no NaN or infinity; PostgreSQL knows no -0.0 and gives large whole numbers back as integers."""
    if not math.isfinite(value):
        return None
    if value == 0:
        return 0.0
    return int(value) if abs(value) >= 1e16 else value


def is_blank(text: str) -> bool:
    """Nothing but white space and characters nobody can see."""
    return not INVISIBLE.sub("", text)


def word_count(text: str) -> int:
    """Words as the site counts them everywhere: runs of visible characters."""
    return len([word for word in INVISIBLE.split(text) if word])
