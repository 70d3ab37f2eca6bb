"""HTML: its visible text with headings and table rows. No tree is built, so depth costs nothing."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

from interview.documents.parsing.encodings import decoded
from interview.documents.parsing.outcome import NO_TEXT, Parsed, Refused, Writer, unseen_note
from interview.documents.parsing.plain import pieces
from interview.documents.parsing.web_sight import SILENT, Sheets, hidden

BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "legend", "li",
    "main", "menu", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "title",
    "tr", "ul",
}  # fmt: skip
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CELLS = {"td", "th"}
PARTS = BLOCKS | CELLS
PART = " part"  # any of them
FORMATTING = {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
# Elements that have no end, and nothing in them.
VOID = {
    "area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"
}  # fmt: skip
# What the beginning of another element ends, as its end tag may be left out.
ROWS = {"tr", "tbody", "tfoot", "thead"}
ENDED_BY = {
    "p": BLOCKS - {"br", "caption", "option", "title", "tr", "legend", "tbody", "tfoot", "thead"},
    "li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "option": {"option", "optgroup"},
    "td": CELLS | ROWS, "th": CELLS | ROWS, "tr": ROWS, "rp": {"rt", "rp"},
}  # fmt: skip


class _Reader(HTMLParser):
    def __init__(self, *, xml: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.xml = xml
        self.writer = Writer()
        self.sheets = Sheets()
        self.words: list[str] = []
        self.level = 0
        self.in_pre = False
        self.cells = 0
        self.unseen = 0
        self.sheet = False
        self.hidden: list[str] = []  # the hidden element and those open in it
        self.inside: dict[str, list[int]] = {}  # by name, where in that list
        self.open: Counter[str] = Counter()  # elements open round them

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.hidden:
            self._end_implied(tag)
        if not self.hidden and tag in ENDED_BY["p"]:
            self.open["p"] = 0
        if self.hidden:
            self._enter(tag)
        elif hidden(tag, dict(reversed(attrs)), self.sheets):
            self.sheet = tag == "style"
            if tag in BLOCKS:
                self.end_line()
            self._enter(tag)
        else:
            self._start(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """`<div/>` begins a div in HTML; only in XML, and within drawings and formulas, it ends it as well."""
        self.handle_starttag(tag, attrs)
        if self.xml or self.inside.get("svg") or self.open["math"] > 0:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.hidden:
            self._end(tag)
        elif self.inside.get(tag):
            if tag in PARTS or tag in FORMATTING or self.inside[tag][-1] > self._last_part():
                self._leave(tag)
        elif self.open[tag] and (tag in PARTS or self._last_part() < 0):
            # What is round the hidden element ends, and so does that.
            self._clear()
            self._end(tag)

    def handle_data(self, data: str) -> None:
        if self.hidden:
            self._unseen(data)
            return
        if not self.in_pre:
            self.words.append(data)
            return
        first, *rest = data.split("\n")
        self.words.append(first)
        for line in rest:
            self.end_line(keep=True)
            self.words.append(line)

    def _start(self, tag: str) -> None:
        if tag not in VOID:
            self.open[tag] += 1
        if tag in CELLS:
            if self.cells:
                self.words.append(" | ")
            self.cells += 1
        elif tag in BLOCKS:
            self.end_line()
            self.level = HEADINGS.get(tag, 0)
            self.cells = 0
            self.in_pre = self.in_pre or tag == "pre"

    def _end(self, tag: str) -> None:
        self.open[tag] = max(0, self.open[tag] - 1)
        if tag in BLOCKS:
            self.end_line()
            self.in_pre = self.in_pre and tag != "pre"

    def _enter(self, tag: str) -> None:
        if tag not in VOID:
            for name in (tag, PART) if tag in PARTS else (tag,):
                self.inside.setdefault(name, []).append(len(self.hidden))
            self.hidden.append(tag)

    def _last_part(self) -> int:
        """Where the innermost block or cell among the hidden ones stands; -1 without one."""
        return self.inside[PART][-1] if self.inside.get(PART) else -1

    def _leave(self, tag: str) -> None:
        """End the innermost of these, with what is still open in it."""
        ended = ""
        while self.hidden and ended != tag:
            ended = self.hidden.pop()
            self.inside[ended].pop()
            if ended in PARTS:
                self.inside[PART].pop()
        if not self.hidden:
            self._clear()

    def _clear(self) -> None:
        self.hidden, self.sheet = [], False
        self.inside.clear()

    def _end_implied(self, tag: str) -> None:
        """End a hidden paragraph, item or cell that has no end tag where another begins."""
        while self.hidden:
            last = next(
                (name for name in reversed(self.hidden[-8:]) if name in ENDED_BY or name in BLOCKS), ""
            )
            if tag not in ENDED_BY.get(last, ()):
                return
            self._leave(last)

    def _unseen(self, data: str) -> None:
        if self.sheet:
            self.sheets.add(data)
        elif self.hidden[0] not in SILENT and self.hidden[-1] not in ("script", "style"):
            self.unseen += len("".join(data.split()))

    def end_line(self, keep: bool = False) -> None:
        text = "".join(self.words)
        text = text if self.in_pre else " ".join(text.split()).removeprefix("| ").removesuffix(" |")
        if text.strip() or keep:
            for piece in pieces(text):
                self.writer.line(piece, self.level)
        self.words, self.level = [], 0


def parse(raw: bytes) -> Parsed:
    """A page. Raises Refused."""
    text, encoding = decoded(raw)
    reader = _Reader(xml=text.lstrip().startswith("<?xml"))
    reader.feed(text)
    reader.close()
    reader.end_line()
    if not any(line.strip() for line in reader.writer.lines):
        left_out = f" {unseen_note(reader.unseen)}" if reader.unseen else ""
        raise Refused(NO_TEXT, f"The page shows no text by itself (it may be made by scripts).{left_out}")
    parsed = reader.writer.parsed("html", encoding)
    parsed.note = unseen_note(reader.unseen) if reader.unseen else ""
    return parsed
