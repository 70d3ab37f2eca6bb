"""Calls and answers inside the text of a request with tools, as far as they have been written."""

from __future__ import annotations

import json
import re

CALL = re.compile(r'\s*\{\s*"name"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"arguments"\s*:\s*(.*)', re.S)
ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*"(.*)', re.S)
STRING = re.compile(r'((?:[^"\\]|\\(?:[^u]|u[0-9a-fA-F]{4}))*)(".*)?', re.S)


def call_so_far(text: str, *, whole: bool) -> tuple[str, str] | None:
    """(name, arguments as JSON text) once the name is known; while unfinished, closing braces are held back."""
    found = CALL.match(text)
    if found is None:
        return None
    arguments = found[2].rstrip()
    return str(json.loads(f'"{found[1]}"')), arguments[:-1].rstrip() if whole else arguments.rstrip("} \n")


def answer_so_far(text: str) -> str | None:
    """The answer's text as far as it can be read; None when the text is no answer."""
    found = ANSWER.match(text)
    if found is None:
        return None
    written = STRING.match(found[1])
    inside = written[1] if written else ""
    # Half of a surrogate pair waits for its other half.
    inside = re.sub(r"\\u[dD][89abAB][0-9a-fA-F]{2}$", "", inside)
    try:
        return str(json.loads(f'"{inside}"', strict=False))
    except ValueError:
        return ""
