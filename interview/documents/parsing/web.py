"""HTML: its visible text with headings and table rows. No tree is built, so depth costs nothing."""

from __future__ import annotations

from html.parser import HTMLParser

from interview.documents.parsing.encodings import decoded
from interview.documents.parsing.outcome import NO_TEXT, Parsed, Refused, Writer
from interview.documents.parsing.plain import pieces

SILENT = {"script", "style", "template", "noscript", "svg", "math"}
BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "div", "dl", "dt", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section",
    "table", "tbody", "tfoot", "thead", "title", "tr", "ul",
}  # fmt: skip
HEADINGS = {f"h{level}": level for level in range(1, 7)}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.writer = Writer()
        self.words: list[str] = []
        self.level = 0
        self.silent = ""
        self.in_pre = False
        self.cells = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if self.silent:
            return
        if tag in SILENT:
            self.silent = tag
        elif tag in ("td", "th"):
            if self.cells:
                self.words.append(" | ")
            self.cells += 1
        elif tag in BLOCKS:
            self.end_line()
            self.level = HEADINGS.get(tag, 0)
            self.cells = 0
            self.in_pre = self.in_pre or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if self.silent:
            self.silent = "" if tag == self.silent else self.silent
        elif tag in BLOCKS:
            self.end_line()
            self.in_pre = self.in_pre and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self.silent:
            return
        if not self.in_pre:
            self.words.append(data)
            return
        first, *rest = data.split("\n")
        self.words.append(first)
        for line in rest:
            self.end_line(keep=True)
            self.words.append(line)

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
    reader = _Reader()
    reader.feed(text)
    reader.close()
    reader.end_line()
    if not any(line.strip() for line in reader.writer.lines):
        raise Refused(NO_TEXT, "The page shows no text by itself (it may be made by scripts).")
    return reader.writer.parsed("html", encoding)
