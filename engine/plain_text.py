"""Text that can be written down as UTF-8: half of a surrogate pair can't, and no tokenizer or grammar takes it."""

from __future__ import annotations

from engine.errors import InvalidRequest


def checked_text(value: object, field: str, code: str = "invalid_request") -> str:
    """The value, if it is text without lone surrogates. Raises `InvalidRequest` naming the field."""
    if not isinstance(value, str):
        raise InvalidRequest(code, f"{field} is {type(value).__name__}; give text", field)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(code, f"{field} holds half of a surrogate pair; remove it", field) from None
    return value
