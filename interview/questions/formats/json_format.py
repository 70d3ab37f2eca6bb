"""JSON: the lossless master format, with a version in its head."""

from __future__ import annotations

import json
from collections.abc import Sequence

from interview.questions.content import Content
from interview.questions.formats.raw import FileRefused, Raw, text_of

FORMAT = "prefill-questions-1"


def read(data: bytes) -> list[Raw]:
    """Questions of a JSON document: an object with `questions`, or a bare list of them."""
    try:
        document = json.loads(text_of(data))
    except RecursionError as error:
        raise FileRefused("This is not JSON (nested too deep).") from error
    except ValueError as error:  # also a number of thousands of digits
        place = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "a number is too long"
        raise FileRefused(f"This is not JSON ({place}).") from error
    if isinstance(document, dict):
        if document.get("format", FORMAT) != FORMAT:
            raise FileRefused(f"The format {document['format']!r} is not known; {FORMAT!r} is.")
        document = document.get("questions")
    if not isinstance(document, list):
        raise FileRefused('An object with "questions": […] is wanted, or a list of questions.')
    return [_raw(number, item) for number, item in enumerate(document, start=1)]


def _raw(number: int, item: object) -> Raw:
    if not isinstance(item, dict):
        return Raw(f"question {number}", problem="an object is wanted")
    return Raw(f"question {number}", item)


def write(contents: Sequence[Content]) -> bytes:
    """The document; reading it gives equal contents."""
    document = {"format": FORMAT, "questions": [content.to_dict() for content in contents]}
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
