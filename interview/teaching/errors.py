"""What the teaching room refuses. The message says what to do; nothing typed is lost."""

from __future__ import annotations


class TeachingRefused(Exception):
    """A request that can't be done as it stands."""

    code = "refused"


class Archived(TeachingRefused):
    """The class is archived: it can be read, not changed."""

    code = "archived"

    def __init__(self) -> None:
        super().__init__(
            "This class is archived: it can be read but not changed. Its owner can open it again."
        )
