"""The input of a search or a question as programs send it to `POST /api/v1/runs`.

Whose documents they are is checked when the run is done: what its owner may not read is as if it were not there.
"""

from __future__ import annotations

import uuid
from typing import Any

from interview.documents.forms import QUESTION_LIMIT, STYLES
from interview.plain_text import is_blank, storable
from interview.runs.kinds import JSON, InputRefused

MOST = 20
MOST_DOCUMENTS = 200
STYLE_NAMES = [name for name, _ in STYLES]


def checked_search(body: JSON) -> JSON:
    """`question`, and `most`, `collection`, `documents` where wanted. Raises InputRefused."""
    _known(body, {"question", "most", "collection", "documents"})
    made: JSON = {"question": _question(body.get("question")), "most": _most(body.get("most", 6))}
    if body.get("collection") is not None:
        made["collection"] = _id(body["collection"], "collection")
    if body.get("documents") is not None:
        named = body["documents"]
        if not isinstance(named, list) or not 0 < len(named) <= MOST_DOCUMENTS:
            raise InputRefused(
                "invalid_documents", f"documents is a list of 1 to {MOST_DOCUMENTS} ids.", ("documents",)
            )
        made["documents"] = [_id(name, "documents") for name in named]
    return made


def checked_ask(body: JSON) -> JSON:
    """The same with `style`: quote, cited or free. Raises InputRefused."""
    style = body.get("style", "quote")
    if style not in STYLE_NAMES:
        raise InputRefused("invalid_style", f"style is one of {', '.join(STYLE_NAMES)}.", ("style",))
    rest = {name: value for name, value in body.items() if name != "style"}
    return {**checked_search(rest), "style": style}


def _known(body: JSON, names: set[str]) -> None:
    for name in sorted(set(body) - names):
        raise InputRefused("invalid_request", f"Unknown field. Allowed: {', '.join(sorted(names))}.", (name,))


def _question(value: Any) -> str:
    if not isinstance(value, str) or is_blank(value) or len(value) > QUESTION_LIMIT:
        message = f"question is text of 1 to {QUESTION_LIMIT} characters."
        raise InputRefused("invalid_question", message, ("question",))
    return storable(value).strip()


def _most(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST:
        raise InputRefused("invalid_most", f"most is a whole number from 1 to {MOST}.", ("most",))
    return value


def _id(value: Any, name: str) -> str:
    try:
        return str(uuid.UUID(value))
    except (ValueError, TypeError, AttributeError) as error:
        raise InputRefused(
            "invalid_id", f"{name} takes ids as /api/v1/documents tells them.", (name,)
        ) from error
