"""How often a pattern makes a part of it stand: what it forces is spelled out whole before the first token is chosen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

# Text that is forced takes about 20 microseconds a character, and the loop waits for it.
MOST = 100_000
BOUND = re.compile(r"\{(\d+)(?:,\d*)?\}")


def repeated(pattern: str) -> int:
    """The greatest number of times that lower bounds repeat a part of the pattern; those of nested groups multiply."""
    outer: list[int] = []
    within = last = 1
    i, listed = 0, False
    while i < len(pattern):
        char, bound = pattern[i], None
        if char == "\\":
            i, last = i + 1, 1
        elif listed:
            listed = char != "]"
        elif char == "[":
            listed, last = True, 1
        elif char == "(":
            outer.append(within)
            within = 1
        elif char == ")":
            last = within
            within = max(outer.pop() if outer else 1, last)
        elif char == "{" and (bound := BOUND.match(pattern, i)):
            last *= max(1, int(bound[1][:9]))
            within = max(within, last)
            i = bound.end() - 1
        elif char not in "?*+":
            last = 1
        i += 1
    return max([within, *outer])


def patterns_of(schema: Any) -> Iterator[str]:
    """Every pattern in a schema, those of `patternProperties` too."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("pattern"), str):
                yield part["pattern"]
            named = part.get("patternProperties")
            yield from (str(name) for name in (named if isinstance(named, Mapping) else ()))
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
