"""JSON lines on standard input: one faulty line yields its error, the rest go on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from engine.errors import EngineError, InvalidRequest


def each_line(lines: Iterable[str], answer: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
    """Answers each JSON line with one JSON line; a bad line yields its error, the rest go on, the status is
    1.
    """
    status = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            data = parsed(line)
            if not isinstance(data, dict):
                raise InvalidRequest("malformed_line", "each line is one JSON object")
            found = answer(data)
        except EngineError as error:
            found = {"error": error.to_dict()}
        status |= bool(found.get("error"))
        print(json.dumps(found, ensure_ascii=False), flush=True)
    return status


def text_lines() -> Iterator[str]:
    """Lines of standard input; bytes that are not UTF-8 become surrogates, which `parsed` refuses."""
    return (line.decode("utf-8", "surrogateescape") for line in sys.stdin.buffer)


def parsed(line: str) -> Any:
    """One line of JSON; raises InvalidRequest for what is no JSON or holds text that UTF-8 can't."""
    try:
        data = json.loads(line)
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("malformed_line", "a string holds half of a surrogate pair") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("malformed_line", f"not JSON: {error}") from error
    return data
