"""What reading a file gives: text with pages and headings, or one of a few named refusals."""

from __future__ import annotations

from dataclasses import dataclass, field

PAGE_BREAK = "\n"  # between the texts of two pages; page offsets count it
PART_LENGTH = 6_000  # characters of a part, where the file itself has no pages
TEXT_LIMIT = 2_000_000  # characters of one document

NO_TEXT, ENCRYPTED, EMPTY, UNSUPPORTED = "no_text", "encrypted", "empty", "unsupported_type"
TOO_LARGE, TOO_COMPLEX, DAMAGED, TIMEOUT = "too_large", "too_complex", "damaged", "timeout"


def unseen_note(n: int) -> str:
    """What is said of text that was left out because no reader sees it."""
    return f"{n:,} character{'' if n == 1 else 's'} that a reader can't see {'was' if n == 1 else 'were'} left out."


class Refused(Exception):
    """The file can't be used: one of the names above, and what is wrong with this file in a sentence."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass
class Parsed:
    """The text of a file: its pages in order, headings as (offset in the whole text, level, words)."""

    kind: str
    encoding: str = ""
    note: str = ""
    pages: list[tuple[str, str]] = field(default_factory=list)  # (label, text)
    headings: list[tuple[int, int, str]] = field(default_factory=list)
    length: int = 0

    def add_page(self, label: str, text: str) -> int:
        """Add a page; where its text starts in the whole. Raises Refused past the limit of characters."""
        start = self.length + (len(PAGE_BREAK) if self.pages else 0)
        self.length = start + len(text)
        if self.length > TEXT_LIMIT:
            raise Refused(
                TOO_LARGE, f"It holds more than {TEXT_LIMIT:,} characters of text. Split it into parts."
            )
        self.pages.append((label, text))
        return start


class Writer:
    """Text that grows line by line, with its headings; split into parts when it is done."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.headings: list[tuple[int, int, str]] = []
        self.length = 0

    def line(self, text: str, level: int = 0, heading: str = "") -> None:
        """Add a line; `level` 1 to 6 makes it a heading, with other words where the line has marks of its own."""
        words = (heading or text).strip()
        if level and words:
            self.headings.append((self.length, level, words[:200]))
        self.lines.append(text)
        self.length += len(text) + 1
        if self.length > TEXT_LIMIT + 1:
            raise Refused(
                TOO_LARGE, f"It holds more than {TEXT_LIMIT:,} characters of text. Split it into parts."
            )

    def parsed(self, kind: str, encoding: str = "", name: str = "part") -> Parsed:
        """The parts at the ends of lines, so that offsets stay what they were (the break is a line's end)."""
        done = Parsed(kind, encoding, headings=self.headings)
        part: list[str] = []
        size = 0
        for line in self.lines:
            if part and size + len(line) > PART_LENGTH:
                done.add_page(f"{name} {len(done.pages) + 1}", "\n".join(part))
                part, size = [], 0
            part.append(line)
            size += len(line) + 1
        if part:
            done.add_page(f"{name} {len(done.pages) + 1}", "\n".join(part))
        return done
